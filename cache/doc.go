// Package cache keeps TMDB's answers for many short-lived processes that share a folder.
//
// # What most callers need
//
//   - [Open] and [Options] open a [Store] in a folder; [Store.Close] writes what could not be written before.
//   - [Transport] is a [net/http.RoundTripper] on top of it. Store and Next are required; Valid should be the client's
//     own check (tmdb.Valid).
//   - [InfoFrom] returns where an answer came from and how old it is: an [Info] with its [Source].
//   - [Policy] sets how long answers live, one [Lifetime] per [Class] of request; [DefaultPolicy] suits TMDB.
//   - [Store.Bucket] keeps values of your own next to the answers; [Store.Newest] returns when the newest answer about
//     a resource was fetched.
//   - [ErrWait] reports that another process was asking the same request for too long.
//
// The rest is for programs that manage a cache: statistics, lists, prune, compact, verify, export.
//
// # How a request is answered
//
// A fresh answer comes from the store. Otherwise one process asks the upstream: it holds a claim, a lock on a file
// named after the key's hash, while the others wait for its answer, or take over if it fails or dies. An expired answer
// is revalidated with its ETag. If the upstream can't be asked, the expired answer is served, marked as [Stale].
//
// # How answers are stored
//
// The answers are in one bbolt file (internal/store). bbolt allows no reader while a process has the file open for
// writing, so no process keeps it open: a process opens it for one batch of reads, or for one write transaction, while
// it holds a file lock. Concurrent writes share a transaction, and each returns when that transaction is committed:
// then all processes see it, and neither a kill -9 nor a power failure can lose it. If a write is impossible, because a
// process was stopped while it held the lock or the disk is full, it returns [ErrPending]: the value stays in memory
// and a later transaction writes it.
//
// An answer has three forms:
//
//	answer   answer.go                between the network and the waiting callers
//	Entry    entry.go                 as the cache keeps it: status, ETag, body, dates
//	Item     internal/store/item.go   as a bucket stores it: checksum, dates, and the encoded Entry as its value
//
// A disk failure never makes a request fail: without locks, space or permission, or with a damaged file, the cache
// warns once ([Options].OnWarning) and continues with what still works. It opens only regular files. After a process
// died while it used the database, the next one checks all page references before bbolt follows them.
package cache
