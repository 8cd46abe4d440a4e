package ratelimit

// What the state file may turn out to be when it is read: there, missing, damaged, from a
// newer version; and what then becomes of it. Everything here runs with the lock held.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// keepCorrupt is how many damaged states are kept for people to look at.
const keepCorrupt = 4

// load brings s.snap up to date with the file. It makes a missing file, and replaces a
// damaged one. An error means that the state cannot be used; it is errFrameNewer (wrapped)
// when that is because a newer version wrote it.
func (s *FileStore) load(now Instant) error {
	for range maxReopen {
		if s.state == nil {
			if again, err := s.openState(now); err != nil {
				return err
			} else if again {
				continue
			}
		}
		err := s.decode()
		if err == nil {
			s.seen = true
			s.alive.tell()
			if s.copies.damaged {
				// One update may be lost with the other copy. If a kill cut it off, nobody
				// has acted on it; if it was garbled later, somebody has.
				s.snap.uncertain(now)
			}
			return nil
		}
		if !errors.Is(err, errFrameGarbled) {
			return err
		}
		if !sameFile(s.state, s.statePath()) {
			s.closeState() // somebody has set it aside already
			continue
		}
		if err := s.replaceDamaged(now, err); err != nil {
			return err
		}
	}
	return errors.New("the limiter's state is replaced all the time")
}

// decode reads the newest copy into s.snap, unless that is what is there already.
func (s *FileStore) decode() error {
	payload, same, err := s.copies.load()
	if err != nil {
		return err
	}
	if same && s.decoded {
		return nil
	}
	s.decoded, s.seen = false, false
	err = s.snap.Decode(payload)
	var version *SnapshotVersionError
	if errors.As(err, &version) && version.Version > SnapshotVersion {
		return fmt.Errorf("%w: %w", errFrameNewer, err)
	} else if err != nil {
		// Its checksum holds, so this is no accident of the disk; the other copy is
		// no better.
		return fmt.Errorf("%w: %w", errFrameGarbled, err)
	}
	s.decoded = true
	return nil
}

// openState opens the state file, or makes it; again means to look once more.
func (s *FileStore) openState(now Instant) (again bool, err error) {
	f, err := openRegular(s.statePath(), 0, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, s.create(s.first(now))
	case errors.Is(err, errNotRegular):
		return true, s.replaceDamaged(now, err)
	case err != nil:
		return false, fmt.Errorf("open limiter state: %w", err)
	}
	s.state, s.copies = f, copies{file: f, writer: s.writer, payload: s.copies.payload, buf: s.copies.buf}
	s.decoded = false
	return false, nil
}

// first is what a missing file is made of. A process that has seen it before it was
// deleted knows more than nothing: what it saw is written back, with care.
func (s *FileStore) first(now Instant) *Snapshot {
	if s.damaged {
		careful := NewCautiousSnapshot(now)
		return &careful
	}
	if s.seen {
		last := s.snap.Clone()
		last.uncertain(now)
		last.bucket.empty(last.clock.now)
		return &last
	}
	fresh := NewSnapshot(now)
	if _, seen, err := livingIn(s.dir); err == nil && seen > 0 {
		fresh.uncertain(now) // they have sent something; it was deleted behind their backs
	}
	return &fresh
}

func (s *FileStore) create(snap *Snapshot) error {
	mode, err := fileModeIn(s.dir)
	if err != nil {
		return fmt.Errorf("create limiter state: %w", err)
	}
	payload, _ := snap.AppendBinary(nil)
	content, err := firstFile(s.writer, payload)
	if err != nil {
		return err
	}
	if err := createState(s.dir, mode, content); err != nil {
		return err
	}
	s.damaged = false
	return nil
}

// replaceDamaged sets aside what lies in place of the state and puts a careful one there.
func (s *FileStore) replaceDamaged(now Instant, cause error) error {
	s.closeState() // Windows renames no open file
	s.seen = false
	aside := s.statePath() + ".corrupt-" + now.Wall.UTC().Format("20060102T150405Z")
	for i := 2; ; i++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return fmt.Errorf("set limiter state aside: %w", err)
		}
		aside = s.statePath() + ".corrupt-" + now.Wall.UTC().Format("20060102T150405Z") + "-" + strconv.Itoa(i)
	}
	if err := setAside(s.statePath(), aside); err != nil {
		return fmt.Errorf("set limiter state aside: %w", err)
	}
	s.damaged = true // and stays so until a careful state is there
	s.forgetCorrupt()
	s.warn(now, &StoreWarning{Event: "state_corrupt", Path: aside, Err: cause})
	return s.create(s.first(now))
}

// setAside renames a damaged file or, where a process that has it open stands in the way
// (Windows), moves its content.
func setAside(path, aside string) error {
	err := os.Rename(path, aside)
	if err == nil {
		return nil
	}
	if fi, serr := os.Lstat(path); serr != nil || !fi.Mode().IsRegular() || fi.Size() > 16*frameFile {
		return err
	}
	content, rerr := os.ReadFile(path)
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	if werr := os.WriteFile(aside, content, fileMode); werr != nil {
		return errors.Join(err, werr)
	}
	return os.Truncate(path, 0)
}

// forgetCorrupt removes all but the newest of the damaged states.
func (s *FileStore) forgetCorrupt() {
	entries, err := os.ReadDir(s.dir) // sorted, and so by time, as it is in the names
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !strings.HasPrefix(e.Name(), stateName+".corrupt-")
	})
	for len(entries) > keepCorrupt {
		os.Remove(filepath.Join(s.dir, entries[0].Name())) // a folder that is not empty stays
		entries = entries[1:]
	}
}

func (s *FileStore) statePath() string { return filepath.Join(s.dir, stateName) }
