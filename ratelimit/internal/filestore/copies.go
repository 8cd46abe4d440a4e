package filestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// The state file has two slots of a fixed size. Each write replaces the older copy, so a process that is killed at any
// byte leaves the newer copy intact. Both slots are allocated when the file is created, so a disk that fills up later
// can't interrupt a write.
const (
	frameMagic   = "AVlimit\n"
	frameVersion = 1
	frameHeader  = 64
	// frameSlot is the size of one copy. The usual snapshot takes 2 to 8 KiB.
	frameSlot    = 128 << 10
	frameFile    = 2 * frameSlot
	framePayload = frameSlot - frameHeader
)

var errNoValidCopy = errors.New("no valid copy of the limiter state")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header describes one copy. Its layout, all integers little endian:
//
//	 0  magic            8 bytes
//	 8  version          uint32
//	12  check of 0..11   uint32   up to here the same in every version
//	16  sequence         uint64
//	24  writer           uint64   the store that wrote it
//	32  payload length   uint32
//	36  payload check    uint32
//	40  reserved         20 bytes of zero
//	60  check of 0..59   uint32
//
// The checks are CRC-32C. By the first one an older program distinguishes a newer file, which it must not touch, from
// garbage, which it may replace.
type header struct {
	sequence uint64
	writer   uint64
	length   uint32
	check    uint32
}

func appendFrame(dst []byte, sequence, writer uint64, payload []byte) []byte {
	start := len(dst)
	dst = append(dst, frameMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, frameVersion)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	dst = binary.LittleEndian.AppendUint64(dst, sequence)
	dst = binary.LittleEndian.AppendUint64(dst, writer)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(payload, castagnoli))
	dst = append(dst, make([]byte, 20)...)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	return append(dst, payload...)
}

// decodeHeader reads the first frameHeader bytes of a copy. The error is ErrNewer or errFrameGarbled.
func decodeHeader(b []byte) (header, error) {
	if len(b) < frameHeader || string(b[:8]) != frameMagic {
		return header{}, errNoValidCopy
	}
	if binary.LittleEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], castagnoli) {
		return header{}, errNoValidCopy
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v > frameVersion {
		return header{}, shared.ErrNewer
	} else if v != frameVersion {
		return header{}, errNoValidCopy
	}
	if binary.LittleEndian.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli) {
		return header{}, errNoValidCopy
	}
	h := header{
		sequence: binary.LittleEndian.Uint64(b[16:]),
		writer:   binary.LittleEndian.Uint64(b[24:]),
		length:   binary.LittleEndian.Uint32(b[32:]),
		check:    binary.LittleEndian.Uint32(b[36:]),
	}
	if h.length > framePayload {
		return header{}, errNoValidCopy
	}
	return h, nil
}

// copies reads and writes the two copies in an open file. It remembers the newest payload, and reads it again only if
// another process has replaced it. The caller holds the lock; without it a copy may be damaged. It isn't safe for
// concurrent use.
type copies struct {
	file interface {
		io.ReaderAt
		io.WriterAt
	}
	writer uint64

	slot    int    // of the newest copy
	last    header // its header
	known   bool   // payload belongs to slot and last
	damaged bool   // load found a copy, perhaps a newer one, that is neither valid nor unused
	payload []byte
	buf     []byte
	head    [frameHeader]byte
}

// load returns the newest valid payload. Its bytes are valid until the next call; the caller must not change them. The
// error is errFrameGarbled, ErrNewer or a failed read.
func (c *copies) load() ([]byte, error) {
	var headers [2]header
	var valid [2]bool
	c.damaged = false
	for i := range headers {
		n, err := c.file.ReadAt(c.head[:], int64(i)*frameSlot)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read limiter state: %w", err)
		}
		headers[i], err = decodeHeader(c.head[:n])
		if errors.Is(err, shared.ErrNewer) {
			return nil, err
		}
		valid[i] = err == nil
		if !valid[i] && n > 0 && c.head != [frameHeader]byte{} {
			c.damaged = true
		}
	}
	newest := 0
	if !valid[0] || (valid[1] && headers[1].sequence > headers[0].sequence) {
		newest = 1
	}
	for _, i := range [2]int{newest, 1 - newest} {
		if !valid[i] {
			continue
		}
		ok, err := c.read(i, headers[i])
		if ok || err != nil {
			return c.payload, err
		}
		c.damaged = true
	}
	return nil, errNoValidCopy
}

func (c *copies) read(i int, h header) (bool, error) {
	if c.known && i == c.slot && h == c.last {
		return true, nil
	}
	c.known = false
	if cap(c.payload) < int(h.length) {
		c.payload = make([]byte, h.length, int(h.length)+int(h.length)/2)
	}
	c.payload = c.payload[:h.length]
	n, err := c.file.ReadAt(c.payload, int64(i)*frameSlot+frameHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read limiter state: %w", err)
	}
	if n < len(c.payload) || crc32.Checksum(c.payload, castagnoli) != h.check {
		return false, nil
	}
	c.slot, c.last, c.known = i, h, true
	return true, nil
}

// store writes payload over the older copy. It must follow a successful load under the same lock. After an error the
// newer copy is still what load returned.
func (c *copies) store(payload []byte) error {
	if len(payload) > framePayload {
		return fmt.Errorf("write limiter state: %d bytes, room for %d", len(payload), framePayload)
	}
	slot, sequence := 1-c.slot, c.last.sequence+1
	c.buf = appendFrame(c.buf[:0], sequence, c.writer, payload)
	if _, err := c.file.WriteAt(c.buf, int64(slot)*frameSlot); err != nil {
		c.known = false
		return fmt.Errorf("write limiter state: %w", err)
	}
	c.slot, c.known = slot, true
	c.last = header{sequence, c.writer, uint32(len(payload)), binary.LittleEndian.Uint32(c.buf[36:])}
	c.payload = append(c.payload[:0], payload...)
	return nil
}

// firstFile returns the bytes of a new state file: one copy with the payload, and a second slot of zeros.
func firstFile(writer uint64, payload []byte) ([]byte, error) {
	if len(payload) > framePayload {
		return nil, fmt.Errorf("write limiter state: %d bytes, room for %d", len(payload), framePayload)
	}
	b := appendFrame(make([]byte, 0, frameFile), 1, writer, payload)
	return b[:frameFile], nil
}
