// Package boltdamage spoils the pages of bbolt files, for tests of those who must survive that.
package boltdamage

import (
	"encoding/binary"
	"testing"
)

// PageSize is that of the files here: the same on all machines, so that a seed stands for the same damage.
const PageSize = 4096

// The kinds of pages, by their flags.
const (
	Branch   = 0x01
	Leaf     = 0x02
	freelist = 0x10
)

const (
	pageHead    = 16
	elementSize = 16
)

var order = binary.NativeEndian

// EachPage calls fn for the pages of a file that are in use and have these flags.
func EachPage(t testing.TB, file []byte, flags uint16, fn func(id uint64, page []byte)) {
	t.Helper()
	n := 0
	for off := 2 * PageSize; off < len(file); off += PageSize {
		page := file[off : off+PageSize]
		inUse := order.Uint64(page) == uint64(off/PageSize) && order.Uint16(page[10:]) > 0
		if inUse && order.Uint16(page[8:]) == flags {
			fn(uint64(off/PageSize), page)
			n++
		}
	}
	if n == 0 {
		t.Fatalf("no page has flags %#x", flags)
	}
}

// References are ways of damaging the page references of a file with branch pages and two buckets; each is one field.
var References = map[string]func(t testing.TB, file []byte){
	"branch pages refer to themselves": func(t testing.TB, file []byte) {
		EachPage(t, file, Branch, func(id uint64, page []byte) {
			for i := range int(order.Uint16(page[10:])) {
				order.PutUint64(page[pageHead+elementSize*i+8:], id)
			}
		})
	},
	"one reference leads to its own page": func(t testing.TB, file []byte) {
		EachPage(t, file, Branch, func(id uint64, page []byte) {
			order.PutUint64(page[pageHead+elementSize+8:], id)
		})
	},
	"two references lead to one page": func(t testing.TB, file []byte) {
		EachPage(t, file, Branch, func(_ uint64, page []byte) {
			copy(page[pageHead+elementSize+8:pageHead+2*elementSize], page[pageHead+8:pageHead+elementSize])
		})
	},
	"a reference leads out of the file": func(t testing.TB, file []byte) {
		EachPage(t, file, Branch, func(_ uint64, page []byte) { order.PutUint64(page[pageHead+8:], 1<<40) })
	},
	"a leaf says that it is a branch": func(t testing.TB, file []byte) {
		EachPage(t, file, Leaf, func(_ uint64, page []byte) { order.PutUint16(page[8:], Branch) })
	},
	"a page in use counts as free": func(t testing.TB, file []byte) {
		var used uint64
		EachPage(t, file, Branch, func(_ uint64, page []byte) { used = order.Uint64(page[pageHead+8:]) })
		EachPage(t, file, freelist, func(_ uint64, page []byte) { order.PutUint64(page[pageHead:], used) })
	},
	"the list of buckets leads to itself": func(_ testing.TB, file []byte) {
		meta := file[pageHead:]
		if second := file[PageSize+pageHead:]; order.Uint64(second[48:]) > order.Uint64(meta[48:]) {
			meta = second
		}
		root := order.Uint64(meta[16:])
		page := file[root*PageSize:]
		at := pageHead + elementSize // the second bucket; the first one is inline
		from := at + int(order.Uint32(page[at+4:])+order.Uint32(page[at+8:]))
		order.PutUint64(page[from:], root)
	},
}

// Disorder puts every third key of the pages with these flags in the wrong place, where it is longer than prefix.
func Disorder(t testing.TB, file []byte, flags uint16, prefix string) {
	t.Helper()
	EachPage(t, file, flags, func(_ uint64, page []byte) {
		for i := 0; i < int(order.Uint16(page[10:])); i += 3 {
			at := pageHead + elementSize*i
			head := page[at:] // branch: position, key's length; leaf: flags, position, key's length
			if flags == Leaf {
				head = page[at+4:]
			}
			key := page[at+int(order.Uint32(head)):][:order.Uint32(head[4:])]
			if len(key) > len(prefix) { // not a bucket's name
				key[len(prefix)] = '~'
			}
		}
	})
}
