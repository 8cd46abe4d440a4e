// Package cache keeps TMDB's answers for many short-lived processes that share a folder.
//
// # What most callers need
//
//   - [Open] and [Options] open a [Store] in a folder; [Store.Close] writes pending changes.
//   - [Transport] is a [net/http.RoundTripper] that uses the store. Only its field Store is required; Valid should be
//     the client's check of answers (tmdb.Valid), so that the store keeps only answers that the client accepts.
//   - [InfoFrom] returns an [Info]: the [Source] of an answer and its age.
//   - [Policy] sets how long answers are kept, with one [Lifetime] per [Class] of request; [DefaultPolicy] suits TMDB.
//   - [Store.Bucket] stores your own values next to the answers; [Store.Newest] returns when the newest answer about a
//     resource was fetched.
//   - [ErrWait] reports that another process took too long to send the same request.
//
// The rest is for programs that manage a cache: statistics, listing, pruning, compaction, verification and export.
//
// # What you can rely on
//
// A fresh answer comes from the store. Otherwise one process sends the request, and the other processes wait for its
// answer. An expired answer is revalidated with its ETag. If the upstream can't be asked, the expired answer is served,
// marked as [Stale].
//
// When a write returns, all processes see it, and neither a kill -9 nor a power failure can lose it. A write that is
// impossible, because the disk is full or a stopped process holds the lock, returns [ErrPending]; a later write stores
// its value. Problems with the disk never make a request fail: the cache warns once ([Options].OnWarning).
package cache
