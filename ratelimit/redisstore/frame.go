package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/shared"
)

const (
	frameMagic   = "AVcoord\n"
	frameVersion = 1
	// writersKept is the number of newest writes whose writers a frame lists. A process that got no reply looks for its
	// write in this list; if the write is missing, it did not happen. At 300 updates a second the list covers 0.4 s,
	// longer than the wait for a reply.
	writersKept = 128
	frameHeader = 62
	bytesPerRun = 5
	// maxFrame is the largest value that is read or written.
	maxFrame = 128 << 10

	// versionFrom to versionTo is the part of a frame that differs from every other frame: generation, sequence, checksum.
	versionFrom, versionTo = 16, 36
)

var errGarbled = errors.New("no valid limiter state")

// generation identifies a state from its creation on. If the state is lost and created again, its generation changes.
type generation [8]byte

// frame is the value of the state's key. Its layout, all integers little endian:
//
//	 0  magic            8 bytes
//	 8  version          uint32
//	12  check of 0..11   uint32   this much is the same in every version
//	16  generation       8 bytes
//	24  sequence         uint64   counts the writes of a generation
//	32  check            uint32   of everything else
//	36  time             int64    shared time when it was written, nanoseconds since 1970
//	44  bias             int64    by how much shared time is ahead of the server's clock, nanoseconds
//	52  writer           uint64   which backend wrote it
//	60  runs             uint16   at most writersKept
//	62  writers          5 bytes each: the low half of a newest writer, this one first, and how often in a row it wrote
//	    snapshot
//
// The checks are CRC-32C. The first one lets an older program tell a newer state, which it must leave alone, from
// garbage, which it may replace.
type frame struct {
	generation generation
	sequence   uint64
	check      uint32
	time, bias time.Duration
	writer     uint64
	writers    []byte // encoded
	snapshot   []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:32], castagnoli), castagnoli, b[36:])
}

func (f *frame) encode() []byte {
	b := append(make([]byte, 0, f.size()), frameMagic...)
	b = binary.LittleEndian.AppendUint32(b, frameVersion)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	b = append(b, f.generation[:]...)
	b = binary.LittleEndian.AppendUint64(b, f.sequence)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.time))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.bias))
	b = binary.LittleEndian.AppendUint64(b, f.writer)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(f.writers)/bytesPerRun))
	b = append(b, f.writers...)
	b = append(b, f.snapshot...)
	f.check = checksum(b)
	binary.LittleEndian.PutUint32(b[32:], f.check)
	return b
}

func (f *frame) size() int { return frameHeader + len(f.writers) + len(f.snapshot) }

// sliceFrom makes writers and snapshot slices of b, the encoded frame.
func (f *frame) sliceFrom(b []byte) {
	from := frameHeader + len(f.writers)
	f.writers, f.snapshot = b[frameHeader:from], b[from:]
}

// decodeFrame reads a frame. Its writers and snapshot are slices of b. The error is [shared.ErrNewer] or errGarbled.
func decodeFrame(b []byte) (frame, error) {
	switch {
	case len(b) > maxFrame:
		return frame{}, fmt.Errorf("%w: longer than %d bytes", errGarbled, maxFrame)
	case len(b) < 16 || string(b[:8]) != frameMagic ||
		binary.LittleEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], castagnoli):
		return frame{}, fmt.Errorf("%w: %d bytes of something else", errGarbled, len(b))
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v > frameVersion {
		return frame{}, fmt.Errorf("%w: format %d", shared.ErrNewer, v)
	} else if v != frameVersion || len(b) < frameHeader {
		return frame{}, fmt.Errorf("%w: %d bytes of format %d", errGarbled, len(b), v)
	}
	f := frame{
		sequence: binary.LittleEndian.Uint64(b[24:]),
		check:    binary.LittleEndian.Uint32(b[32:]),
		time:     time.Duration(binary.LittleEndian.Uint64(b[36:])),
		bias:     time.Duration(binary.LittleEndian.Uint64(b[44:])),
		writer:   binary.LittleEndian.Uint64(b[52:]),
	}
	if f.check != checksum(b) {
		return frame{}, fmt.Errorf("%w: wrong checksum", errGarbled)
	}
	runs := int(binary.LittleEndian.Uint16(b[60:]))
	if runs > writersKept || frameHeader+runs*bytesPerRun > len(b) {
		return frame{}, fmt.Errorf("%w: %d bytes with %d writers", errGarbled, len(b), runs)
	}
	copy(f.generation[:], b[16:])
	f.writers = b[frameHeader : frameHeader+runs*bytesPerRun]
	f.sliceFrom(b)
	return f, nil
}

type version struct {
	generation generation
	sequence   uint64
	check      uint32
}

func (f *frame) version() version { return version{f.generation, f.sequence, f.check} }

func (v version) String() string {
	var b [versionTo - versionFrom]byte
	copy(b[:], v.generation[:])
	binary.LittleEndian.PutUint64(b[8:], v.sequence)
	binary.LittleEndian.PutUint32(b[16:], v.check)
	return string(b[:])
}

// wrote reports whether writer wrote the frame of generation g with this sequence, which may have been replaced since.
func (f *frame) wrote(writer uint64, g generation, sequence uint64) bool {
	if f.generation != g || f.sequence < sequence || f.sequence-sequence >= writersKept {
		return false
	}
	back := f.sequence - sequence
	for run := f.writers; len(run) >= bytesPerRun; run = run[bytesPerRun:] {
		if often := uint64(run[4]); back >= often {
			back -= often
			continue
		}
		return binary.LittleEndian.Uint32(run) == uint32(writer)
	}
	return false
}

// setWriters sets f's list of writers: writer first, then the writers of the previous frame, before.
func (f *frame) setWriters(before *frame, writer uint64) {
	f.writer = writer
	var older []byte
	if before.generation == f.generation && before.sequence+1 == f.sequence {
		older = before.writers
	}
	often := 1
	if len(older) >= bytesPerRun && binary.LittleEndian.Uint32(older) == uint32(writer) {
		often = min(int(older[4])+1, writersKept)
		older = older[bytesPerRun:]
	}
	f.writers = append(binary.LittleEndian.AppendUint32(nil, uint32(writer)), byte(often))
	for named := often; named < writersKept && len(older) >= bytesPerRun; older = older[bytesPerRun:] {
		f.writers = append(f.writers, older[:bytesPerRun]...)
		named += max(int(older[4]), 1)
	}
}
