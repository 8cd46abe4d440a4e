// Package cache is a response cache for TMDB's API v3 that many short-lived processes share.
//
// Most callers want a [Transport], an [net/http.RoundTripper] on top of a [Store]: fresh answers come from the store,
// expired ones are revalidated with their ETag, and when TMDB can't be asked an expired answer is returned, marked as
// stale (see [InfoFrom]). One question is asked once, by all processes together. How long each kind of answer is kept is
// one table, [DefaultPolicy].
//
// A [Store] keeps answers in one bbolt file. bbolt lets one writer in and nobody beside it, so the file is never held
// open: it is opened for one batch of reads, or for one merge of writes, and closed again, each under one file lock.
// What a process writes goes first to a journal of its own: one append, after which a kill -9 can't lose it. Journals are
// merged into the file every second or every 256 records, and those of dead processes by whichever process comes next.
// All processes read all journals, so an answer is shared the moment it is written. [Store.Bucket] keeps other values in
// the same way, and [Store.Newest] returns how new the answers about an entry are.
//
// One answer has four forms on its way:
//
//	answer         answer.go             between the network and the callers that wait for it
//	Entry          entry.go              as the cache keeps it: status, ETag, body, dates; packed it is a record's payload
//	record         record.go             its envelope: checksum, stamp, dates; what the database holds under its key
//	journalRecord  journal.go            an append to a journal: bucket, key and record
//
// The package never fails because the disk does: without locks, without space, without permission or with a damaged file
// it says so once ([Options].OnWarning) and goes on with what is left. Whatever lies in the place of its files, it opens
// regular files only, and looks through all page references of a database before bbolt trusts them ([OpenDB]).
package cache
