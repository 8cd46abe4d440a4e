package boltfile

// If a branch page refers to itself, bbolt overflows the stack, which no recover catches. So this file checks the
// references first: each page is visited at most once, and none lies outside the file.
//
// The file begins with two meta pages of one form; the sound one with the higher transaction holds. All numbers are in
// the machine's byte order.
//
//	page:   id (8) · flags (2) · count (2) · overflow (4), then count elements, then what they refer to
//	meta:   magic (4) · version (4) · page size (4) · flags (4) · root page (8) · sequence (8) ·
//	        free list's page (8) ·
//	        pages (8) · transaction (8) · FNV-1a of all that (8)
//	branch: position (4) · key length (4) · page (8)
//	leaf:   flags (4) · position (4) · key length (4) · value length (4)

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

const (
	pageHead    = 16
	elementSize = 16
	metaSize    = 64
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	flagBucket   = 0x01 // flag of a leaf's element: its value is a bucket
	noFreelist   = 1<<64 - 1

	maxTreeDepth = 64 // enough for 2^64 pages with two references each
)

var order = binary.NativeEndian

type boltMeta struct {
	pageSize              int64
	root, freelist, pages uint64
	tx                    uint64
}

// currentMeta returns the valid meta page with the higher transaction. The second meta page is one page into the file;
// if the first one is damaged, currentMeta tries every page size.
func currentMeta(f io.ReaderAt, size int64) (boltMeta, error) {
	at := func(off int64) (boltMeta, bool) {
		var b [pageHead + metaSize]byte
		if _, err := f.ReadAt(b[:], off); err != nil {
			return boltMeta{}, false
		}
		return parseMeta(b[pageHead:])
	}
	m, ok := at(0)
	if ok {
		if second, sound := at(m.pageSize); sound && second.tx > m.tx {
			m = second
		}
	}
	for s := int64(1 << 10); s <= 16<<20 && !ok; s <<= 1 {
		m, ok = at(s)
		ok = ok && m.pageSize == s
	}
	if !ok {
		return m, errors.New("not a bbolt database")
	}
	if need := int64(m.pages) * m.pageSize; m.pages > uint64(size) || need > size {
		return m, fmt.Errorf("truncated: %d bytes of %d", size, need)
	}
	return m, nil
}

func parseMeta(b []byte) (boltMeta, bool) {
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSize-8])
	m := boltMeta{
		pageSize: int64(order.Uint32(b[8:])), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]),
		pages: order.Uint64(b[40:]), tx: order.Uint64(b[48:]),
	}
	return m, order.Uint32(b) == boltMagic && order.Uint32(b[4:]) == boltVersion &&
		order.Uint64(b[metaSize-8:]) == sum.Sum64() &&
		m.pageSize >= 1<<10 && m.pageSize <= 16<<20 && m.pageSize&(m.pageSize-1) == 0
}

type pageChecker struct {
	boltMeta
	f      io.ReaderAt
	leaves bool     // read the leaves of all trees, not only of the root tree, which lists the buckets
	seen   []uint64 // one bit per page
}

// checkPages returns an error if f has no valid meta page, or if check finds a bad page reference.
func checkPages(f io.ReaderAt, size int64, check Check) error {
	m, err := currentMeta(f, size)
	if err != nil || check == CheckMeta {
		return err
	}
	w := &pageChecker{boltMeta: m, f: f, leaves: check == CheckLeaves, seen: make([]uint64, m.pages/64+1)}
	if err := w.tree(m.root, true, 0); err != nil {
		return err
	}
	return w.checkFreelist()
}

func (w *pageChecker) visit(id uint64) error {
	if id < 2 || id >= w.pages {
		return fmt.Errorf("reference to page %d of %d", id, w.pages)
	}
	if w.seen[id/64]&(1<<(id%64)) != 0 {
		return fmt.Errorf("page %d is referred to twice", id)
	}
	w.seen[id/64] |= 1 << (id % 64)
	return nil
}

type page struct {
	flags, count uint16
	length       int64 // including overflow pages
}

func (w *pageChecker) header(id uint64) (page, error) {
	var b [pageHead]byte
	if _, err := w.f.ReadAt(b[:], int64(id)*w.pageSize); err != nil {
		return page{}, fmt.Errorf("read page %d: %w", id, err)
	}
	overflow := uint64(order.Uint32(b[12:]))
	switch {
	case order.Uint64(b[:]) != id:
		return page{}, fmt.Errorf("page %d says that it is page %d", id, order.Uint64(b[:]))
	case overflow >= w.pages-id:
		return page{}, fmt.Errorf("page %d is longer than the file", id)
	}
	return page{order.Uint16(b[8:]), order.Uint16(b[10:]), int64(overflow+1) * w.pageSize}, nil
}

func (w *pageChecker) body(id uint64, p page) ([]byte, error) {
	b := make([]byte, p.length)
	if _, err := w.f.ReadAt(b, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	return b, nil
}

// tree checks the tree with root page id. list is set for the root tree, whose leaves list the buckets.
func (w *pageChecker) tree(id uint64, list bool, depth int) error {
	if depth > maxTreeDepth {
		return fmt.Errorf("the tree with page %d is deeper than %d pages", id, maxTreeDepth)
	}
	if err := w.visit(id); err != nil {
		return err
	}
	p, err := w.header(id)
	if err != nil {
		return err
	}
	if p.flags == flagLeaf && !list && !w.leaves {
		return nil
	}
	if p.flags != flagLeaf && p.flags != flagBranch {
		return fmt.Errorf("page %d has flags %#x instead of those of a branch or a leaf", id, p.flags)
	}
	b, err := w.body(id, p)
	if err != nil {
		return err
	}
	if p.flags == flagLeaf {
		return w.leaf(id, b, int(p.count), list, depth)
	}
	if p.count == 0 || pageHead+elementSize*int(p.count) > len(b) {
		return fmt.Errorf("branch page %d has %d elements", id, p.count)
	}
	for i := range int(p.count) {
		if err := w.tree(order.Uint64(b[pageHead+elementSize*i+8:]), list, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *pageChecker) leaf(id uint64, b []byte, count int, list bool, depth int) error {
	if pageHead+elementSize*count > len(b) {
		return fmt.Errorf("leaf page %d has %d elements", id, count)
	}
	for i := range count {
		at := pageHead + elementSize*i
		from := uint64(at) + uint64(order.Uint32(b[at+4:])) + uint64(order.Uint32(b[at+8:]))
		to := from + uint64(order.Uint32(b[at+12:]))
		if to > uint64(len(b)) {
			return fmt.Errorf("leaf page %d ends inside its element %d", id, i)
		}
		isBucket := order.Uint32(b[at:])&flagBucket != 0
		switch {
		case isBucket != list:
			return fmt.Errorf("leaf page %d has a bucket in a bucket, or a value beside the buckets", id)
		case !isBucket:
			continue
		case to-from < 16:
			return fmt.Errorf("leaf page %d ends inside a bucket", id)
		}
		value := b[from:to]
		if root := order.Uint64(value); root != 0 {
			if err := w.tree(root, false, depth+1); err != nil {
				return err
			}
			continue
		}
		inline := value[16:] // a small bucket is stored inside the leaf
		if len(inline) < pageHead || order.Uint16(inline[8:]) != flagLeaf {
			return fmt.Errorf("leaf page %d has a damaged bucket", id)
		}
		if err := w.leaf(id, inline, int(order.Uint16(inline[10:])), false, depth); err != nil {
			return err
		}
	}
	return nil
}

// checkFreelist checks that no page in use is listed as free: the next write would overwrite it.
func (w *pageChecker) checkFreelist() error {
	id := w.freelist
	if id == noFreelist {
		return nil
	}
	if err := w.visit(id); err != nil {
		return err
	}
	p, err := w.header(id)
	if err != nil {
		return err
	}
	if p.flags != flagFreelist {
		return fmt.Errorf("page %d has flags %#x instead of those of the free list", id, p.flags)
	}
	b, err := w.body(id, p)
	if err != nil {
		return err
	}
	ids, count := b[pageHead:], uint64(p.count)
	if p.count == 0xFFFF && len(ids) >= 8 { // the first number is then the count
		count, ids = order.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return fmt.Errorf("free list of %d pages on page %d", count, id)
	}
	for i := range count {
		if err := w.visit(order.Uint64(ids[8*i:])); err != nil {
			return fmt.Errorf("free list: %w", err)
		}
	}
	return nil
}
