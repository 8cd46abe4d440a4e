package library

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/anivault/anivault/internal/lang"
)

// MaxLine is the maximum length of a list's entry, in bytes. Paths are far shorter.
const MaxLine = 1 << 20

// ErrUTF16 means that a list is UTF-16, as PowerShell's ">" writes it.
var ErrUTF16 = lang.Error("the list is UTF-16: write it as UTF-8 (PowerShell: | Out-File -Encoding utf8)")

// ReadList calls fn with each entry of a list, empty ones included. Entries are lines, or end with a NUL byte if
// nulSeparated. Their bytes are kept as they are. It stops at fn's first error.
func ReadList(r io.Reader, nulSeparated bool, fn func(entry string) error) error {
	buffered := bufio.NewReaderSize(r, 64<<10)
	end := byte('\n')
	if nulSeparated {
		end = 0
	} else if err := skipBOM(buffered); err != nil {
		return err
	}
	for n := 1; ; n++ {
		entry, err := readEntry(buffered, end)
		last := errors.Is(err, io.EOF)
		switch {
		case errors.Is(err, errTooLong):
			return lang.Error("entry %d of the list is longer than %d bytes (is it a list of names?)", n, MaxLine)
		case err != nil && !last:
			return lang.Error("read list: %w", err)
		case last && len(entry) == 0:
			return nil
		}
		if !nulSeparated {
			entry = bytes.TrimSuffix(entry, []byte{'\r'})
		}
		if err := fn(string(entry)); err != nil || last {
			return err
		}
	}
}

var errTooLong = errors.New("too long")

func readEntry(r *bufio.Reader, end byte) ([]byte, error) {
	var entry []byte
	for {
		part, err := r.ReadSlice(end)
		entry = append(entry, part...)
		if err == nil {
			entry = entry[:len(entry)-1]
		}
		switch {
		case len(entry) > MaxLine:
			return nil, errTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return entry, err
	}
}

func skipBOM(r *bufio.Reader) error {
	start, _ := r.Peek(3)
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, err := r.Discard(3)
		return err
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return ErrUTF16
	}
	return nil
}
