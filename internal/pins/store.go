package pins

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
)

// Name is the file's name in the data folder.
const Name = "pins.txt"

const (
	maxSize  = 16 << 20
	patience = 10 * time.Second
)

// Store is the file of pins of one data folder. It is safe for concurrent use, also by several processes: readers take
// what is there, which is only ever replaced whole; writers hold a lock beside it and read again under it.
type Store struct{ path string }

// Open names the store of a data folder, which need not exist yet.
func Open(dir string) *Store {
	return &Store{filepath.Join(dir, Name)}
}

// Path is where the file is or will be.
func (s *Store) Path() string { return s.path }

// Load reads the file; one that does not exist is empty. The error wraps *VersionError for a later version's.
func (s *Store) Load() (*Set, error) {
	f, err := lockfile.Open(s.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Parse(nil)
	}
	if err != nil {
		return nil, lang.Error("read pins: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, lang.Error("read pins: %w", err)
	}
	if len(content) > maxSize {
		return nil, lang.Error("read pins: %s is larger than %d bytes", s.path, maxSize)
	}
	set, err := Parse(content)
	if err != nil {
		return nil, lang.Error("read pins: %s: %w", s.path, err)
	}
	return set, nil
}

// Update changes the file: change gets its present content, and what it leaves is written, unless it returns an error
// or changed nothing. No other process changes the file meanwhile. The returned set is what the file holds now.
func (s *Store) Update(ctx context.Context, change func(*Set) error) (*Set, error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, lang.Error("make the data folder: %w", err)
	}
	unlock, err := lockfile.Acquire(ctx, s.path+".lock", lockfile.Exclusive, patience)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, lang.Error("lock the pins: %w", err)
	}
	defer unlock()
	set, err := s.Load()
	if err != nil {
		return nil, err
	}
	before := string(set.Bytes())
	if err := change(set); err != nil {
		return nil, err
	}
	after := set.Bytes()
	if string(after) == before {
		return set, nil
	}
	err = atomicfile.Write(s.path, 0o600, func(w io.Writer) error {
		_, err := w.Write(after)
		return err
	})
	if err != nil {
		return nil, lang.Error("write pins: %w", err)
	}
	return Parse(after)
}
