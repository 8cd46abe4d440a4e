package cache

// A damaged database is renamed, not deleted, and a new one is begun; the
// journals that are not yet merged go into the new one.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keptAside is how many damaged databases are kept; the oldest go.
const keptAside = 2

// setAside takes the lock and sets the file aside, unless somebody else has
// done so already.
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
	path := s.dbPath()
	now, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if damage.file != nil && !os.SameFile(now, damage.file) {
		return nil // another process was quicker
	}
	aside := s.asideName()
	if err := os.Rename(path, aside); err != nil {
		if isReadOnly(err) {
			s.goReadOnly(err)
		}
		return fmt.Errorf("set the damaged database aside: %w", err)
	}
	s.dropOldAside()
	s.lru.clear()
	s.warned.say(Warning{Kind: WarnCorrupt, Path: aside, Err: damage})
	return nil
}

// removeOlder removes what versions of the format before this one have left: all of it can be asked for again, and
// nobody would prune it.
func removeOlder(dir string, version int) {
	for _, place := range []struct{ folder, pattern string }{{dir, "cache-v%d.db"}, {filepath.Join(dir, "journals"), "v%d-"}} {
		entries, err := os.ReadDir(place.folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			for v := range version {
				if strings.HasPrefix(e.Name(), fmt.Sprintf(place.pattern, v)) {
					os.Remove(filepath.Join(place.folder, e.Name()))
				}
			}
		}
	}
}

// asideName is <database>.corrupt-<time>, with a number if that is taken.
func (s *Store) asideName() string {
	base := s.dbPath() + ".corrupt-" + s.now().UTC().Format("20060102T150405Z")
	name := base
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// dropOldAside keeps the newest ones, and none beyond the 180 days.
func (s *Store) dropOldAside() {
	found, err := filepath.Glob(globQuote(s.dbPath()) + ".corrupt-*")
	if err != nil {
		return
	}
	age := map[string]time.Duration{}
	for _, p := range found {
		if info, err := os.Stat(p); err == nil {
			age[p] = s.now().Sub(info.ModTime())
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(age[a], age[b]) })
	for i, p := range found {
		if i >= keptAside || age[p] >= KeepLimit {
			os.RemoveAll(p)
		}
	}
}

// globQuote makes a path match only itself.
func globQuote(path string) string {
	var out []rune
	for _, r := range path {
		if slices.Contains([]rune("*?["), r) {
			out = append(out, '[', r, ']')
			continue
		}
		out = append(out, r)
	}
	return string(out)
}
