package cache

// A damaged database is renamed, not deleted, and a new one is begun; the journals that are not yet merged go into the
// new one. A damaged journal of a dead process is renamed once its sound records are merged.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keptAside is how many damaged files are kept; the oldest go.
const keptAside = 2

// setAside takes the lock and sets the database aside, unless another process has done so already.
func (s *Store) setAside(ctx context.Context, damage *DamageError) {
	release, err := s.exclusive(ctx, s.opts.LockWait)
	if err != nil {
		if s.mode() == modeShared {
			s.warned.say(Warning{Kind: WarnLocked, Path: s.dir, Err: errors.Join(err, damage)})
		}
		return
	}
	defer release()
	if err := s.setAsideLocked(damage); err != nil {
		s.warned.say(Warning{Kind: WarnWrite, Path: s.dir, Err: err})
	}
}

// setAsideLocked does so under the exclusive lock.
func (s *Store) setAsideLocked(damage *DamageError) error {
	s.pages.forget()
	path := s.dbPath()
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if damage.file != nil && !os.SameFile(now, damage.file) {
		return nil // another process was quicker
	}
	aside, err := s.renameAside(path)
	if err != nil {
		return err
	}
	s.warned.say(Warning{Kind: WarnCorrupt, Path: aside, Err: damage})
	return nil
}

// removeOlder removes what versions of the format before this one have left: all of it can be asked for again, and
// nobody would prune it.
func removeOlder(dir string, version int) {
	for _, place := range []struct{ folder, pattern string }{{dir, "cache-v%d."}, {filepath.Join(dir, "journals"), "v%d-"}} {
		for _, name := range listFolder(place.folder) {
			for v := range version {
				if strings.HasPrefix(name, fmt.Sprintf(place.pattern, v)) {
					os.Remove(filepath.Join(place.folder, name))
				}
			}
		}
	}
}

// renameAside gives a damaged file the name <path>.corrupt-<time>, with a number if that is taken.
func (s *Store) renameAside(path string) (aside string, err error) {
	base := path + corruptMark + s.now().UTC().Format("20060102T150405Z")
	aside = base
	for i := 2; ; i++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	if err := os.Rename(path, aside); err != nil {
		if isReadOnly(err) {
			s.goReadOnly(err)
		}
		return "", fmt.Errorf("set a damaged file aside: %w", err)
	}
	s.dropOldAside()
	return aside, nil
}

// corruptMark is in the names of what was set aside.
const corruptMark = ".corrupt-"

// setAsideFiles lists what was set aside: databases and journals.
func (s *Store) setAsideFiles() []string {
	var found []string
	for _, dir := range []string{s.dir, s.journalDir()} {
		for _, name := range listFolder(dir) {
			if strings.Contains(name, corruptMark) {
				found = append(found, filepath.Join(dir, name))
			}
		}
	}
	return found
}

// dropOldAside keeps the newest ones, and none beyond the 180 days. A folder with something in it is somebody's.
func (s *Store) dropOldAside() {
	found := s.setAsideFiles()
	age := map[string]time.Duration{}
	for _, p := range found {
		if info, err := os.Stat(p); err == nil {
			age[p] = s.now().Sub(info.ModTime())
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(age[a], age[b]) })
	for i, p := range found {
		if i >= keptAside || age[p] >= KeepLimit {
			os.Remove(p)
		}
	}
}
