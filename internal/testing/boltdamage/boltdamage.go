// Package boltdamage damages the pages of bbolt files, for tests of code that must survive damage.
package boltdamage

import (
	"encoding/binary"
	"testing"
)

// PageSize is the page size for the files: the same on all machines, so that a seed always gives the same damage.
const PageSize = 4096

// Page types; the value is the page's flags.
const (
	Branch   = 0x01
	Leaf     = 0x02
	freelist = 0x10
)

const (
	pageHeaderSize    = 16
	elementHeaderSize = 16
)

var byteOrder = binary.NativeEndian

// EachPage calls fn with each page that is in use and has these flags.
func EachPage(t testing.TB, file []byte, flags uint16, fn func(id uint64, page []byte)) {
	t.Helper()
	n := 0
	for off := 2 * PageSize; off < len(file); off += PageSize {
		page := file[off : off+PageSize]
		inUse := byteOrder.Uint64(page) == uint64(off/PageSize) && byteOrder.Uint16(page[10:]) > 0
		if inUse && byteOrder.Uint16(page[8:]) == flags {
			fn(uint64(off/PageSize), page)
			n++
		}
	}
	if n == 0 {
		t.Fatalf("no page has flags %#x", flags)
	}
}

// ReferenceDamages damage one kind of page reference each, in a file with branch pages and two buckets.
var ReferenceDamages = map[string]func(t testing.TB, file []byte){
	"branch pages refer to themselves": func(t testing.TB, file []byte) {
		EachPage(t, file, Branch, func(id uint64, page []byte) {
			for i := range int(byteOrder.Uint16(page[10:])) {
				byteOrder.PutUint64(page[pageHeaderSize+elementHeaderSize*i+8:], id)
			}
		})
	},
	"one reference leads to its own page": func(t testing.TB, file []byte) {
		EachPage(t, file, Branch, func(id uint64, page []byte) {
			byteOrder.PutUint64(page[pageHeaderSize+elementHeaderSize+8:], id)
		})
	},
	"two references lead to one page": func(t testing.TB, file []byte) {
		EachPage(t, file, Branch, func(_ uint64, page []byte) {
			copy(
				page[pageHeaderSize+elementHeaderSize+8:pageHeaderSize+2*elementHeaderSize],
				page[pageHeaderSize+8:pageHeaderSize+elementHeaderSize],
			)
		})
	},
	"a reference leads out of the file": func(t testing.TB, file []byte) {
		EachPage(t, file, Branch, func(_ uint64, page []byte) { byteOrder.PutUint64(page[pageHeaderSize+8:], 1<<40) })
	},
	"a leaf says that it is a branch": func(t testing.TB, file []byte) {
		EachPage(t, file, Leaf, func(_ uint64, page []byte) { byteOrder.PutUint16(page[8:], Branch) })
	},
	"a page in use counts as free": func(t testing.TB, file []byte) {
		var used uint64
		EachPage(t, file, Branch, func(_ uint64, page []byte) { used = byteOrder.Uint64(page[pageHeaderSize+8:]) })
		EachPage(t, file, freelist, func(_ uint64, page []byte) { byteOrder.PutUint64(page[pageHeaderSize:], used) })
	},
	"a free page lies outside the file": FreePageOutside,
	"the list of buckets leads to itself": func(_ testing.TB, file []byte) {
		meta := file[pageHeaderSize:]
		if second := file[PageSize+pageHeaderSize:]; byteOrder.Uint64(second[48:]) > byteOrder.Uint64(meta[48:]) {
			meta = second
		}
		root := byteOrder.Uint64(meta[16:])
		page := file[root*PageSize:]
		at := pageHeaderSize + elementHeaderSize // the second bucket; the first one is inline
		from := at + int(byteOrder.Uint32(page[at+4:])+byteOrder.Uint32(page[at+8:]))
		byteOrder.PutUint64(page[from:], root)
	},
}

// FreePageOutside lists a page as free that lies beyond what a file system can hold.
func FreePageOutside(t testing.TB, file []byte) {
	t.Helper()
	EachPage(t, file, freelist, func(_ uint64, page []byte) { page[pageHeaderSize+4] = 1 })
}

// MisplaceKeys breaks the order of the keys in pages with these flags: it changes every third key that is longer than
// prefix, in the byte after the prefix.
func MisplaceKeys(t testing.TB, file []byte, flags uint16, prefix string) {
	t.Helper()
	EachPage(t, file, flags, func(_ uint64, page []byte) {
		for i := 0; i < int(byteOrder.Uint16(page[10:])); i += 3 {
			at := pageHeaderSize + elementHeaderSize*i
			head := page[at:] // branch: position, key's length; leaf: flags, position, key's length
			if flags == Leaf {
				head = page[at+4:]
			}
			key := page[at+int(byteOrder.Uint32(head)):][:byteOrder.Uint32(head[4:])]
			if len(key) > len(prefix) { // leaves the names of buckets unchanged
				key[len(prefix)] = '~'
			}
		}
	})
}
