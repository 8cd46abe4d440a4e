// Package cache keeps TMDB's answers for many short-lived processes that share a folder.
//
// # What most callers need
//
//   - [Open] and [Options] open a [Store] in a folder; [Store.Close] writes what could not be written before.
//   - [Transport] is a [net/http.RoundTripper] on top of it. Store and Next are required; Valid should be the client's
//     own check (tmdb.Valid).
//   - [InfoFrom] returns where an answer came from and how old it is: an [Info] with its [Source].
//   - [Policy] is the table of lifetimes, one [Lifetime] a [Class] of question; [DefaultPolicy] is made for TMDB.
//   - [Store.Bucket] keeps values of your own beside the answers; [Store.Newest] says how new the answers about an
//     entry are.
//   - [ErrWait] says that another process has been asking the same question for too long.
//
// Everything else is for programs that show and tend a cache: statistics, lists, prune, compact, verify, export.
//
// # What a request meets
//
// A fresh answer comes from the store. For any other question one process asks: it holds a claim, a lock on a file
// named after the key's hash, and the others wait for its answer, or take over when it fails or dies. An expired answer
// is revalidated with its ETag. When the upstream can't be asked, an expired answer serves, marked as [Stale].
//
// # How it is kept
//
// The answers lie in one bbolt file (internal/store). bbolt lets one writer in and no reader beside it, so the file is
// never held open: it is opened for one batch of reads, or for one transaction that writes, inside one file lock.
// Those who write at the same time share a transaction, and each write returns when its own is through: after that
// neither a kill -9 nor a loss of power can lose it, and all processes see it. What can't be written, because a
// process was stopped with the lock or the disk is full, stays in memory, goes with a later transaction, and its write
// returns [ErrPending].
//
// One answer has three forms on its way:
//
//	answer   answer.go                between the network and the callers that wait for it
//	Entry    entry.go                 as the cache keeps it: status, ETag, body, dates
//	Item     internal/store/item.go   its envelope: checksum and dates; the packed entry is its value
//
// The package never fails because the disk does: without locks, space or permission, or with a damaged file, it warns
// once ([Options].OnWarning) and goes on with what is left. It opens regular files only, and after a process that died
// while it read or wrote the database it looks through all page references before bbolt trusts them.
package cache
