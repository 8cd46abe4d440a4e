// Package cache is a response cache that many short-lived processes share.
//
// A [Store] keeps answers in one bbolt file. bbolt lets one writer in and
// nobody beside it, so the file is never held open: it is opened for one batch
// of reads, or for one merge of writes, and closed again, each inside one file
// lock (cache.lock). What a process writes goes first to a journal of its own:
// one append, after which a kill -9 can't lose it. Journals are merged into the
// file every second or every 256 records, and the journals of processes that
// died are merged by whoever comes next. Everybody reads everybody's journals,
// so an answer is shared the moment it is written.
//
// A [Transport] is an [net/http.RoundTripper] on top of it: fresh answers come
// from the store, expired ones are revalidated with their ETag, and when the
// upstream can't be asked an expired answer is given, marked as stale. One
// question is asked once, by all processes together: a process that is about
// to ask writes a claim into its journal, the others wait for its answer, and
// take over when it fails or dies.
//
// How long what is kept is one table, in policy.go.
//
// The package never fails because the disk does: without locks, without space,
// without permission or with a damaged file it says so once
// ([Options].OnWarning) and goes on with what is left.
package cache
