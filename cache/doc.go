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
// # How a request is answered
//
// A fresh answer comes from the store. Otherwise one process asks the upstream while it holds a claim, which is a lock
// on a file named after the hash of the key. The other processes wait for its answer, and take over if it fails or
// dies. An expired answer is revalidated with its ETag. If the upstream can't be asked, the expired answer is served,
// marked as [Stale].
//
// # How answers are stored
//
// The answers are in one bbolt file (internal/store). While a process has the file open for writing, bbolt allows no
// reader. So no process keeps it open: a process opens it for one batch of reads, or for one write transaction, while
// it holds a file lock. Concurrent writes share a transaction. Each write returns when that transaction is committed.
// From then on all processes see it, and neither a kill -9 nor a power failure can lose it. If a write is impossible,
// because the disk is full or a stopped process holds the lock, it returns [ErrPending]: the value stays in memory, and
// a later transaction writes it.
//
// Problems with the disk never make a request fail. Without locks, space or permission, or with a damaged file, the
// cache warns once ([Options].OnWarning) and does what is still possible. It opens only regular files. If a process
// dies while it is using the database, the next process checks all page references before bbolt follows them.
package cache
