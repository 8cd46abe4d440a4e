package filestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// decodeFrame reads one whole copy from b.
func decodeFrame(b []byte) (header, []byte, error) {
	c := copies{file: &disk{b: b, limit: -1}}
	payload, err := c.load()
	return c.newestHeader, payload, err
}

// disk is a file in memory whose writes stop after limit bytes, as those of a killed
// process do, when limit is not negative.
type disk struct {
	b     []byte
	limit int
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(d.b)) {
		return 0, io.EOF
	}
	n := copy(p, d.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if d.limit >= 0 && len(p) > d.limit {
		copy(d.b[off:], p[:d.limit])
		return d.limit, errors.New("killed")
	}
	return copy(d.b[off:], p), nil
}

func newDisk(t interface{ Fatal(...any) }, payload []byte) *disk {
	b, err := firstFile(1, payload)
	if err != nil {
		t.Fatal(err)
	}
	return &disk{b: b, limit: -1}
}

func mustLoad(t *testing.T, d *disk) []byte {
	t.Helper()
	c := copies{file: d}
	got, err := c.load()
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return got
}

func TestStoredPayloadIsLoadedByOthers(t *testing.T) {
	d := newDisk(t, []byte("zero"))
	a, b := &copies{file: d, writer: 1}, &copies{file: d, writer: 2}
	for i, text := range []string{"one", "two", "", "a longer one", "three"} {
		writer, reader := a, b
		if i%2 == 1 {
			writer, reader = b, a
		}
		if _, err := writer.load(); err != nil {
			t.Fatal(err)
		}
		if err := writer.store([]byte(text)); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]*copies{"the other": reader, "the writer": writer} {
			if got, err := c.load(); err != nil || string(got) != text {
				t.Fatalf("%s loads %q, %v; want %q", name, got, err, text)
			}
		}
	}
}

func TestKilledAtAnyByteTheOtherCopySurvives(t *testing.T) {
	old, next := bytes.Repeat([]byte("old"), 300), bytes.Repeat([]byte("next"), 250)
	for limit := range headerSize + len(next) {
		d := newDisk(t, []byte("first"))
		c := &copies{file: d, writer: 1}
		for _, p := range [][]byte{[]byte("older, and of another length"), old} {
			if _, err := c.load(); err != nil {
				t.Fatal(err)
			}
			if err := c.store(p); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.load(); err != nil {
			t.Fatal(err)
		}
		d.limit = limit
		if err := c.store(next); err == nil {
			t.Fatal("an incomplete write gave no error")
		}
		d.limit = -1
		reader := copies{file: d} // the first bytes of any two headers are the same
		if got, err := reader.load(); err != nil || !bytes.Equal(got, old) || reader.damaged != (limit > 16) {
			t.Fatalf("cut at byte %d: loaded %.20q, %v, damaged %t", limit, got, err, reader.damaged)
		}
		// And the one that failed continues from there.
		if _, err := c.load(); err != nil {
			t.Fatal(err)
		}
		if err := c.store(next); err != nil {
			t.Fatal(err)
		}
		if got := mustLoad(t, d); !bytes.Equal(got, next) {
			t.Fatalf("after the repair: loaded %.20q", got)
		}
	}
}

func TestOneFlippedBitIsNoticed(t *testing.T) {
	frame := appendFrame(nil, 7, 1, []byte("payload"))
	for bit := range len(frame) * 8 {
		bad := bytes.Clone(frame)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, got, err := decodeFrame(bad); err == nil {
			t.Fatalf("bit %d flipped: decoded %q", bit, got)
		}
	}
}

func TestNewerVersionIsDistinguishedFromGarbage(t *testing.T) {
	d := newDisk(t, []byte("ours"))
	newer := d.b[slotSize:]
	copy(newer, magic)
	binary.LittleEndian.PutUint32(newer[8:], formatVersion+1)
	binary.LittleEndian.PutUint32(newer[12:], crc32.Checksum(newer[:12], castagnoli))
	copy(newer[16:], "whatever that version puts here")
	c := copies{file: d}
	if _, err := c.load(); !errors.Is(err, shared.ErrNewer) {
		t.Fatalf("load = %v, want ErrNewer", err)
	}
	newer[9]++ // now the check does not hold: garbage, and the other copy is good
	if got, err := c.load(); err != nil || string(got) != "ours" || !c.damaged {
		t.Fatalf("load = %q, %v, damaged %t; want ours, and the other copy damaged", got, err, c.damaged)
	}
}

func TestUnusableFilesAreGarbled(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":       nil,
		"zeros":       make([]byte, stateFileSize),
		"short":       newDisk(t, []byte("payload")).b[:headerSize+3],
		"header only": newDisk(t, []byte("payload")).b[:headerSize],
		"text":        []byte("this is not a state file at all, but it is longer than one header is"),
	} {
		c := copies{file: &disk{b: b, limit: -1}}
		if _, err := c.load(); !errors.Is(err, errNoValidCopy) {
			t.Errorf("%s: load = %v, want errFrameGarbled", name, err)
		}
	}
}

func TestOversizedPayloadIsRefused(t *testing.T) {
	d := newDisk(t, []byte("small"))
	c := &copies{file: d}
	if _, err := c.load(); err != nil {
		t.Fatal(err)
	}
	if err := c.store(make([]byte, maxPayload+1)); err == nil {
		t.Fatal("stored more than there is room for")
	}
	if err := c.store(make([]byte, maxPayload)); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, d); len(got) != maxPayload {
		t.Fatalf("loaded %d bytes", len(got))
	}
	if _, err := firstFile(1, make([]byte, maxPayload+1)); err == nil {
		t.Fatal("made a file with more than there is room for")
	}
}

// Whatever is written, truncated and overwritten: what is loaded is the newest payload whose write was completed, or,
// if that copy was hit, the one before, or nothing.
func TestLoadedIsOneOfTheLastTwoStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDisk(t, []byte{0})
		c := &copies{file: d}
		last := [][]byte{nil, {0}}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if _, err := c.load(); err != nil {
				t.Fatalf("load: %v", err)
			}
			payload := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "payload")
			d.limit = rapid.SampledFrom([]int{-1, -1, 0, 8, 63, 64, 70}).Draw(t, "cut")
			err := c.store(payload)
			d.limit = -1
			// The truncated part may equal what was there before.
			if slot := 1 - c.newestSlot; err == nil || bytes.Equal(d.b[slot*slotSize:][:len(c.buf)], c.buf) {
				last = [][]byte{last[1], payload}
			}
			reader := copies{file: d}
			got, err := reader.load()
			if err != nil || !bytes.Equal(got, last[1]) {
				t.Fatalf("loaded %x, %v; want %x", got, err, last[1])
			}
		}
		at := rapid.IntRange(0, headerSize+32).Draw(t, "at")
		d.b[reading(d)*slotSize+at] ^= 0x55
		reader := copies{file: d}
		got, err := reader.load()
		if err == nil && !bytes.Equal(got, last[1]) && (last[0] == nil || !bytes.Equal(got, last[0])) {
			t.Fatalf("loaded %x, neither %x nor %x", got, last[1], last[0])
		}
	})
}

// reading returns the slot that a load would use.
func reading(d *disk) int {
	c := copies{file: d}
	_, _ = c.load()
	return c.newestSlot
}

func FuzzDecodeFrame(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(appendFrame(nil, 1, 2, []byte("payload")))
	f.Add(appendFrame(nil, 1<<63, 0, nil))
	f.Add(make([]byte, headerSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, payload, err := decodeFrame(b)
		if err != nil {
			if !errors.Is(err, errNoValidCopy) && !errors.Is(err, shared.ErrNewer) {
				t.Fatalf("unknown error %v", err)
			}
			return
		}
		again := appendFrame(nil, h.sequence, h.writer, payload)
		if h2, p2, err := decodeFrame(again); err != nil || h2 != h || !bytes.Equal(p2, payload) {
			t.Fatalf("round trip: %v %v %v", h2, p2, err)
		}
	})
}
