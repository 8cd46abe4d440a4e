package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anivault/anivault/internal/lockfile"
)

// orphan is a dead process and the journals that it left.
type orphan struct {
	left []*journal
	lock *lockfile.Alive // nil when its lock file is gone
}

type orphans []orphan

func (os orphans) journals() []*journal {
	var all []*journal
	for _, o := range os {
		all = append(all, o.left...)
	}
	return all
}

// release gives back the locks of those that are not buried.
func (os orphans) release() {
	for _, o := range os {
		for _, j := range o.left {
			j.close()
		}
		if o.lock != nil {
			o.lock.Close()
		}
	}
}

// takeOrphans finds the processes whose lock is free, takes their locks and reads their journals.
func (s *Store) takeOrphans() orphans {
	own := ""
	s.mu.Lock()
	if s.proc != nil {
		own = s.proc.owner
	}
	s.mu.Unlock()
	byOwner := map[string][]journalName{}
	for _, e := range listFolder(s.journalDir()) {
		if n, ok := parseJournalName(e); ok {
			byOwner[n.owner] = append(byOwner[n.owner], n)
		} else if owner, ok := parseLockName(e); ok {
			byOwner[owner] = append(byOwner[owner], nil...)
			s.removeUnborn(e)
		}
	}
	delete(byOwner, own)
	var found orphans
	for owner, names := range byOwner {
		lock, err := lockfile.TakeOver(lockPath(s.journalDir(), owner))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // alive, or not known
		}
		o := orphan{lock: lock}
		for _, n := range names {
			if j := s.readOrphan(n); j != nil {
				o.left = append(o.left, j)
			}
		}
		found = append(found, o)
	}
	return found
}

// removeUnborn removes the lock file of a process that was killed before it could lock it.
func (s *Store) removeUnborn(name string) {
	if path := filepath.Join(s.journalDir(), name); filepath.Ext(name) == ".new" && !lockfile.Lives(path) {
		os.Remove(path)
	}
}

// readOrphan reads the journal of a dead process, with what lies behind a damaged place. It returns nil for what is no
// file: that is not ours to read or to remove.
func (s *Store) readOrphan(name journalName) *journal {
	j := newJournal(s.journalDir(), name)
	err := j.refresh()
	switch {
	case errors.As(err, new(*lockfile.NotRegularError)):
		s.warned.say(Warning{Kind: WarnShared, Path: s.dir, Err: err})
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		j.bad = err
	}
	j.salvage()
	return j
}

// bury removes what dead processes left, once it is merged; a damaged journal is set aside. Their locks are held until
// the files are gone, so that nobody else merges them meanwhile.
func (s *Store) bury(dead orphans) {
	for _, o := range dead {
		for _, j := range o.left {
			if j.bad == nil {
				_ = j.remove() // what stays is merged again, to no effect
				continue
			}
			j.close()
			if aside, err := s.renameAside(j.path); err == nil {
				s.warned.say(Warning{Kind: WarnCorrupt, Path: aside, Err: fmt.Errorf("journal %s is damaged: %w", j.name, j.bad)})
			}
		}
	}
}
