package filestore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// The state file has two slots of a fixed size. Each write replaces the older copy, so a process that is killed at any
// byte leaves the newer copy intact. Both slots are allocated when the file is created, so a disk that fills up later
// can't interrupt a write.
const (
	magic         = "AVlimit\n"
	formatVersion = 1
	headerSize    = 64
	// slotSize is the size of one copy. A usual snapshot takes 2 to 8 KiB.
	slotSize      = 128 << 10
	stateFileSize = 2 * slotSize
	maxPayload    = slotSize - headerSize
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
// The checks are CRC-32C. The first check lets an older program distinguish a newer file, which it must not touch, from
// garbage, which it may replace.
type header struct {
	sequence        uint64
	writer          uint64
	payloadLength   uint32
	payloadChecksum uint32
}

func appendFrame(dst []byte, sequence, writer uint64, payload []byte) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, formatVersion)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	dst = binary.LittleEndian.AppendUint64(dst, sequence)
	dst = binary.LittleEndian.AppendUint64(dst, writer)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(payload, castagnoli))
	dst = append(dst, make([]byte, 20)...)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	return append(dst, payload...)
}

// decodeHeader reads the first headerSize bytes of a copy. The error is [shared.ErrNewer] or errNoValidCopy.
func decodeHeader(b []byte) (header, error) {
	if len(b) < headerSize || string(b[:8]) != magic ||
		binary.LittleEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], castagnoli) {
		return header{}, errNoValidCopy
	}
	switch version := binary.LittleEndian.Uint32(b[8:]); {
	case version > formatVersion:
		return header{}, shared.ErrNewer
	case version < formatVersion, binary.LittleEndian.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli):
		return header{}, errNoValidCopy
	}
	h := header{
		sequence:        binary.LittleEndian.Uint64(b[16:]),
		writer:          binary.LittleEndian.Uint64(b[24:]),
		payloadLength:   binary.LittleEndian.Uint32(b[32:]),
		payloadChecksum: binary.LittleEndian.Uint32(b[36:]),
	}
	if h.payloadLength > maxPayload {
		return header{}, errNoValidCopy
	}
	return h, nil
}

// copies reads and writes the two copies in an open file. It remembers the newest payload, and reads it again only if
// another process has replaced it. The caller holds the lock; without the lock it may read a half-written copy. It
// isn't safe for concurrent use.
type copies struct {
	file interface {
		io.ReaderAt
		io.WriterAt
	}
	writer uint64

	newestSlot   int
	newestHeader header
	payloadValid bool // payload belongs to newestSlot and newestHeader
	damaged      bool // load found a copy, perhaps a newer one, that is neither valid nor unused
	payload      []byte
	buf          []byte
	headerBuf    [headerSize]byte
}

// load returns the newest valid payload. Its bytes are valid until the next call; the caller must not change them. The
// error is errNoValidCopy, [shared.ErrNewer] or a failed read.
func (c *copies) load() ([]byte, error) {
	var headers [2]header
	var valid [2]bool
	c.damaged = false
	for i := range headers {
		n, err := c.file.ReadAt(c.headerBuf[:], int64(i)*slotSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read limiter state: %w", err)
		}
		headers[i], err = decodeHeader(c.headerBuf[:n])
		if errors.Is(err, shared.ErrNewer) {
			return nil, err
		}
		valid[i] = err == nil
		if !valid[i] && n > 0 && c.headerBuf != [headerSize]byte{} {
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
	if c.payloadValid && i == c.newestSlot && h == c.newestHeader {
		return true, nil
	}
	c.payloadValid = false
	if cap(c.payload) < int(h.payloadLength) {
		c.payload = make([]byte, h.payloadLength, int(h.payloadLength)+int(h.payloadLength)/2)
	}
	c.payload = c.payload[:h.payloadLength]
	n, err := c.file.ReadAt(c.payload, int64(i)*slotSize+headerSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read limiter state: %w", err)
	}
	if n < len(c.payload) || crc32.Checksum(c.payload, castagnoli) != h.payloadChecksum {
		return false, nil
	}
	c.newestSlot, c.newestHeader, c.payloadValid = i, h, true
	return true, nil
}

// store writes payload over the older copy. It must follow a successful load under the same lock. After an error the
// newer copy is still what load returned.
func (c *copies) store(payload []byte) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("write limiter state: %d bytes, room for %d", len(payload), maxPayload)
	}
	slot, sequence := 1-c.newestSlot, c.newestHeader.sequence+1
	c.buf = appendFrame(c.buf[:0], sequence, c.writer, payload)
	if _, err := c.file.WriteAt(c.buf, int64(slot)*slotSize); err != nil {
		c.payloadValid = false
		return fmt.Errorf("write limiter state: %w", err)
	}
	c.newestSlot, c.payloadValid = slot, true
	c.newestHeader = header{sequence, c.writer, uint32(len(payload)), binary.LittleEndian.Uint32(c.buf[36:])}
	c.payload = append(c.payload[:0], payload...)
	return nil
}

// firstFile returns the bytes of a new state file: one copy with the payload, and a second slot of zeros.
func firstFile(writer uint64, payload []byte) ([]byte, error) {
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("write limiter state: %d bytes, room for %d", len(payload), maxPayload)
	}
	b := appendFrame(make([]byte, 0, stateFileSize), 1, writer, payload)
	return b[:stateFileSize], nil
}

const maxDamagedCopies = 4

// isSetgid reports whether dir is setgid or, if it does not exist, the closest existing folder above it.
func isSetgid(dir string) bool {
	for {
		if info, err := os.Stat(dir); err == nil {
			return info.Mode()&fs.ModeSetgid != 0
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o700)
	if isSetgid(filepath.Dir(dir)) {
		mode = 0o770 | fs.ModeSetgid
	}
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster; if path is not a folder, opening a file in it fails
	}
	defer lockfile.Adopt(dir)
	if err == nil && mode&fs.ModeSetgid != 0 {
		err = os.Chmod(dir, mode) // the umask may have removed permissions
	}
	return err
}

// create creates the state file completely or not at all. It renames a damaged one as late as possible.
func (b *Backend) create(payload []byte, at core.Instant, damage error) error {
	content, err := firstFile(b.copies.writer, payload)
	if err != nil {
		return err
	}
	b.closeState() // Windows can't rename an open file
	temp := b.statePath() + ".new"
	os.Remove(temp)       // left by a killed process
	defer os.Remove(temp) // in case of an error
	if err = writeNew(temp, content, b.mode); err == nil && damage != nil {
		err = b.moveDamaged(at, damage)
	}
	if err == nil {
		err = os.Rename(temp, b.statePath())
		if err != nil && overwrite(b.statePath(), content) == nil {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("create limiter state: %w", err)
	}
	return nil
}

func writeNew(path string, content []byte, mode fs.FileMode) error {
	f, err := lockfile.OpenNoFollow(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync() // only when the file is created, never on the hot path
	}
	return cmp.Or(err, f.Close())
}

// overwrite writes into the existing file, because Windows can't replace a file that another process has open.
func overwrite(path string, content []byte) error {
	f, err := lockfile.OpenNoFollow(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	return cmp.Or(err, f.Close())
}

func (b *Backend) moveDamaged(at core.Instant, cause error) error {
	aside := b.statePath() + ".corrupt-" + at.Wall.UTC().Format("20060102T150405.000Z")
	if err := renameOrCopy(b.statePath(), aside); err != nil {
		return fmt.Errorf("set the damaged one aside: %w", err)
	}
	b.damagedCopy, b.damageCause = aside, cause
	entries, _ := os.ReadDir(b.dir) // sorted by name, so by time
	var old []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stateName+".corrupt-") {
			old = append(old, e.Name())
		}
	}
	for _, name := range old[:max(len(old)-maxDamagedCopies, 0)] {
		os.Remove(filepath.Join(b.dir, name)) // fails for a folder that isn't empty
	}
	return nil
}

// renameOrCopy renames a file. If another process has it open on Windows, it moves only the content.
func renameOrCopy(path, newPath string) error {
	err := os.Rename(path, newPath)
	if err == nil {
		return nil
	}
	f, ferr := lockfile.OpenNoFollow(path, os.O_RDWR, 0)
	if ferr != nil {
		return err
	}
	defer f.Close()
	content := make([]byte, 16*stateFileSize)
	n, _ := f.ReadAt(content, 0)
	if werr := os.WriteFile(newPath, content[:n], 0o600); werr != nil {
		return errors.Join(err, werr)
	}
	return f.Truncate(0)
}
