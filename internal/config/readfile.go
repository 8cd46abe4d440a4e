package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/lang"
)

const maxNamedFile = 1 << 20

// pipeTimeout is how long ReadFile waits for the content of a pipe.
var pipeTimeout = 10 * time.Second

// ReadFile reads a file that a setting names, such as a key or certificates: at most 1 MB, from a regular file or a
// pipe. It never waits longer than 10 s, so a pipe without a writer does not hang a gateway's reload.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, lang.Error("cannot be read: %s", rootCause(err))
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(pipeTimeout)) // only pipes have deadlines
	raw, err := io.ReadAll(io.LimitReader(f, maxNamedFile+1))
	if info, unknown := f.Stat(); err == nil && len(raw) == 0 && unknown == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		raw, err = awaitWriter(f)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, lang.Error("cannot be read: nothing was written into the pipe for %s", pipeTimeout)
	case err != nil:
		return nil, lang.Error("cannot be read: %s", rootCause(err))
	case len(raw) > maxNamedFile:
		return nil, lang.Error("cannot be read: it has more than %d bytes", maxNamedFile)
	}
	return raw, nil
}

// awaitWriter reads a pipe that nobody has opened for writing yet.
func awaitWriter(f *os.File) (raw []byte, err error) {
	for end := time.Now().Add(pipeTimeout); len(raw) == 0 && err == nil; time.Sleep(pipeTimeout / 1000) {
		if time.Now().After(end) {
			return nil, os.ErrDeadlineExceeded
		}
		raw, err = io.ReadAll(io.LimitReader(f, maxNamedFile+1))
	}
	return raw, err
}

// firstLine returns the first line of a file with a secret.
func firstLine(path string) (string, error) {
	raw, err := ReadFile(path)
	line, _, _ := strings.Cut(string(raw), "\n")
	return line, err
}
