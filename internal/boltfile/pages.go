package boltfile

// If a branch page refers to itself, bbolt overflows the stack, which can't be recovered from. So this file checks the
// references before bbolt uses them: each page may be reached only once, and no reference may lead outside the file.
//
// The file begins with two meta pages of the same format. The valid one with the higher transaction number is current.
// All numbers have the byte order of the machine.
//
//	page:   id (8) · flags (2) · count (2) · overflow (4), then the elements, then their keys and values
//	meta:   magic (4) · version (4) · page size (4) · flags (4) · root page (8) · sequence (8) ·
//	        page of the free list (8) · pages (8) · transaction (8) · FNV-1a of the other fields (8)
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
	pageHeaderSize = 16
	elementSize    = 16
	metaSize       = 64
	boltMagic      = 0xED0CDAED
	boltVersion    = 2

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	flagBucket   = 0x01 // flag of an element in a leaf whose value is a bucket
	noFreelist   = 1<<64 - 1

	maxTreeDepth = 64 // enough for 2^64 pages with two references each
)

var byteOrder = binary.NativeEndian

type boltMeta struct {
	pageSize              int64
	root, freelist, pages uint64
	transaction           uint64
}

// currentMeta returns the valid meta page with the higher transaction number. The second meta page starts one page into
// the file. If the first one is damaged, the page size is unknown, and currentMeta tries every possible one.
func currentMeta(f io.ReaderAt, size int64) (boltMeta, error) {
	at := func(off int64) (boltMeta, bool) {
		var b [pageHeaderSize + metaSize]byte
		if _, err := f.ReadAt(b[:], off); err != nil {
			return boltMeta{}, false
		}
		return parseMeta(b[pageHeaderSize:])
	}
	m, ok := at(0)
	if ok {
		if second, sound := at(m.pageSize); sound && second.transaction > m.transaction {
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
		pageSize: int64(byteOrder.Uint32(b[8:])), root: byteOrder.Uint64(b[16:]), freelist: byteOrder.Uint64(b[32:]),
		pages: byteOrder.Uint64(b[40:]), transaction: byteOrder.Uint64(b[48:]),
	}
	return m, byteOrder.Uint32(b) == boltMagic && byteOrder.Uint32(b[4:]) == boltVersion &&
		byteOrder.Uint64(b[metaSize-8:]) == sum.Sum64() &&
		m.pageSize >= 1<<10 && m.pageSize <= 16<<20 && m.pageSize&(m.pageSize-1) == 0
}

type pageChecker struct {
	boltMeta
	file      io.ReaderAt
	allLeaves bool     // check the leaves of all trees, not only those of the root tree, which lists the buckets
	visited   []uint64 // one bit per page
}

// checkPages returns an error if the file has no valid meta page, or if the check finds an invalid page reference.
func checkPages(f io.ReaderAt, size int64, level CheckLevel) error {
	m, err := currentMeta(f, size)
	if err != nil || level == CheckMeta {
		return err
	}
	w := &pageChecker{boltMeta: m, file: f, allLeaves: level == CheckLeaves, visited: make([]uint64, m.pages/64+1)}
	if level > CheckFreelist {
		err = w.checkTree(m.root, true, 0)
	}
	return errors.Join(err, w.checkFreelist())
}

func (w *pageChecker) markVisited(id uint64) error {
	if id < 2 || id >= w.pages {
		return fmt.Errorf("reference to page %d of %d", id, w.pages)
	}
	if w.visited[id/64]&(1<<(id%64)) != 0 {
		return fmt.Errorf("page %d is referred to twice", id)
	}
	w.visited[id/64] |= 1 << (id % 64)
	return nil
}

type page struct {
	flags, count uint16
	length       int64 // including overflow pages
}

// readHeader reads the header of a page that has not been visited yet.
func (w *pageChecker) readHeader(id uint64) (page, error) {
	if err := w.markVisited(id); err != nil {
		return page{}, err
	}
	var b [pageHeaderSize]byte
	if _, err := w.file.ReadAt(b[:], int64(id)*w.pageSize); err != nil {
		return page{}, fmt.Errorf("read page %d: %w", id, err)
	}
	overflow := uint64(byteOrder.Uint32(b[12:]))
	switch {
	case byteOrder.Uint64(b[:]) != id:
		return page{}, fmt.Errorf("page %d says that it is page %d", id, byteOrder.Uint64(b[:]))
	case overflow >= w.pages-id:
		return page{}, fmt.Errorf("page %d is longer than the file", id)
	}
	return page{byteOrder.Uint16(b[8:]), byteOrder.Uint16(b[10:]), int64(overflow+1) * w.pageSize}, nil
}

func (w *pageChecker) readPage(id uint64, p page) ([]byte, error) {
	b := make([]byte, p.length)
	if _, err := w.file.ReadAt(b, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	return b, nil
}

// checkTree checks the tree with the given root page. isRoot is true for the root tree, whose leaves list the buckets.
func (w *pageChecker) checkTree(id uint64, isRoot bool, depth int) error {
	if depth > maxTreeDepth {
		return fmt.Errorf("the tree with page %d is deeper than %d pages", id, maxTreeDepth)
	}
	p, err := w.readHeader(id)
	if err != nil {
		return err
	}
	if p.flags == flagLeaf && !isRoot && !w.allLeaves {
		return nil
	}
	if p.flags != flagLeaf && p.flags != flagBranch {
		return fmt.Errorf("page %d has flags %#x instead of those of a branch or a leaf", id, p.flags)
	}
	b, err := w.readPage(id, p)
	if err != nil {
		return err
	}
	if p.flags == flagLeaf {
		return w.checkLeaf(id, b, int(p.count), isRoot, depth)
	}
	if p.count == 0 || pageHeaderSize+elementSize*int(p.count) > len(b) {
		return fmt.Errorf("branch page %d has %d elements", id, p.count)
	}
	for i := range int(p.count) {
		if err := w.checkTree(byteOrder.Uint64(b[pageHeaderSize+elementSize*i+8:]), isRoot, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *pageChecker) checkLeaf(id uint64, b []byte, count int, isRoot bool, depth int) error {
	if pageHeaderSize+elementSize*count > len(b) {
		return fmt.Errorf("leaf page %d has %d elements", id, count)
	}
	for i := range count {
		at := pageHeaderSize + elementSize*i
		from := uint64(at) + uint64(byteOrder.Uint32(b[at+4:])) + uint64(byteOrder.Uint32(b[at+8:]))
		to := from + uint64(byteOrder.Uint32(b[at+12:]))
		if to > uint64(len(b)) {
			return fmt.Errorf("leaf page %d ends inside its element %d", id, i)
		}
		isBucket := byteOrder.Uint32(b[at:])&flagBucket != 0
		switch {
		case isBucket != isRoot:
			return fmt.Errorf("leaf page %d has a bucket in a bucket, or a value beside the buckets", id)
		case !isBucket:
			continue
		case to-from < 16:
			return fmt.Errorf("leaf page %d ends inside a bucket", id)
		}
		value := b[from:to]
		if root := byteOrder.Uint64(value); root != 0 {
			if err := w.checkTree(root, false, depth+1); err != nil {
				return err
			}
			continue
		}
		inline := value[16:] // a small bucket is stored in the leaf itself
		if len(inline) < pageHeaderSize || byteOrder.Uint16(inline[8:]) != flagLeaf {
			return fmt.Errorf("leaf page %d has a damaged bucket", id)
		}
		if err := w.checkLeaf(id, inline, int(byteOrder.Uint16(inline[10:])), false, depth); err != nil {
			return err
		}
	}
	return nil
}

// checkFreelist checks that no listed page is outside the file or has been visited, so is in use. bbolt writes to the
// listed pages.
func (w *pageChecker) checkFreelist() error {
	id := w.freelist
	if id == noFreelist {
		return nil
	}
	p, err := w.readHeader(id)
	if err != nil {
		return err
	}
	if p.flags != flagFreelist {
		return fmt.Errorf("page %d has flags %#x instead of those of the free list", id, p.flags)
	}
	b, err := w.readPage(id, p)
	if err != nil {
		return err
	}
	ids, count := b[pageHeaderSize:], uint64(p.count)
	if p.count == 0xFFFF && len(ids) >= 8 { // a longer list begins with its length
		count, ids = byteOrder.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return fmt.Errorf("free list of %d pages on page %d", count, id)
	}
	for i := range count {
		if err := w.markVisited(byteOrder.Uint64(ids[8*i:])); err != nil {
			return fmt.Errorf("free list: %w", err)
		}
	}
	return nil
}
