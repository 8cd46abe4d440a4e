package cache

// Who writes: each open Store is a process of its own on disk, with a random name, a lock file that it holds while it
// lives, and journals. The lock comes first and is kept to the end, so a journal that can be seen belongs either to a
// live process or to one whose lock is free.
//
// The lock lies beside the journals, not on them: on Windows a locked or open file can't be read, renamed or removed by
// others.

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// keepOpen: whether others' journals may be kept open without being in their owner's way when it deletes them.
const keepOpen = runtime.GOOS != "windows"

// journalName is v<version>-<owner>-<sequence>.log.
type journalName struct {
	owner string
	seq   uint64
}

func (n journalName) String() string {
	return fmt.Sprintf("v%d-%s-%08d.log", formatVersion, n.owner, n.seq)
}

func (n journalName) in(dir string) string { return filepath.Join(dir, n.String()) }

// lockPath is the owner's lock file.
func lockPath(dir string, owner string) string {
	return filepath.Join(dir, fmt.Sprintf("v%d-%s.lock", formatVersion, owner))
}

// parseJournalName reads the name of a journal of this version.
func parseJournalName(name string) (journalName, bool) {
	base, isLog := strings.CutSuffix(name, ".log")
	parts := strings.Split(base, "-")
	if !isLog || len(parts) != 3 {
		return journalName{}, false
	}
	seq, err := strconv.ParseUint(parts[2], 10, 64)
	n := journalName{owner: parts[1], seq: seq}
	return n, err == nil && n.String() == name
}

// parseLockName reads the owner in the name of a lock file of this version. A process that was killed at its start may
// have left one under the name that it has before it is locked.
func parseLockName(name string) (owner string, ok bool) {
	base, isLock := strings.CutSuffix(strings.TrimSuffix(name, ".new"), ".lock")
	owner, ours := strings.CutPrefix(base, fmt.Sprintf("v%d-", formatVersion))
	return owner, isLock && ours
}

// process is this store's own part on disk.
type process struct {
	dir      string
	owner    string
	alive    *lockfile.Alive
	journals []*journal
	seq      uint64
	torn     bool // an append has failed: readers may have seen a part of it
}

// newProcess takes a new name and its lock, and begins its first journal.
func newProcess(dir string) (*process, error) {
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	owner := hex.EncodeToString(id[:])
	p := &process{dir: dir, owner: owner, alive: lockfile.NewAlive(lockPath(dir, owner), 0o600)}
	if err := p.alive.Ensure(); err != nil {
		return nil, err
	}
	if err := p.rotate(); err != nil {
		p.alive.Close()
		return nil, err
	}
	return p, nil
}

// current is the journal that is appended to.
func (p *process) current() *journal { return p.journals[len(p.journals)-1] }

// unmerged is how many values wait in the journals.
func (p *process) unmerged() int {
	n := 0
	for _, j := range p.journals {
		n += j.count
	}
	return n
}

// rotate starts a new journal; the older ones wait to be merged.
func (p *process) rotate() error {
	p.seq++
	j := newJournal(p.dir, journalName{owner: p.owner, seq: p.seq})
	if err := j.create(); err != nil {
		return err
	}
	p.journals = append(p.journals, j)
	p.torn = false
	return nil
}

// append writes records to the current journal.
func (p *process) append(recs ...journalRecord) error {
	if p.torn {
		if err := p.rotate(); err != nil {
			return err
		}
	}
	err := p.current().append(recs...)
	p.torn = err != nil && !errors.Is(err, errTooLong)
	return err
}

// close removes this process's files as far as they are empty, and gives the lock back: what remains is a dead
// process's journal.
func (p *process) close() {
	for _, j := range p.journals {
		if j.count == 0 {
			_ = j.remove()
		} else {
			j.close()
		}
	}
	p.alive.Close()
}

// alive reports whether a process lives.
func (s *Store) alive(owner string) bool { return lockfile.Lives(lockPath(s.journalDir(), owner)) }

// journalNames lists the journals of this version.
func (s *Store) journalNames() []journalName {
	var names []journalName
	for _, e := range listFolder(s.journalDir()) {
		if n, ok := parseJournalName(e); ok {
			names = append(names, n)
		}
	}
	return names
}

// folderSeen is when the journals were listed last. A folder's time of change tells of every file that comes and goes.
type folderSeen struct {
	changed, listed time.Time
}

// trustFolder bounds how long a folder's time of change is believed: some file systems are late with it, or keep none.
const trustFolder = time.Second

// unchanged reports whether the folder is as it was when it was last listed. If not it will be listed now.
func (f *folderSeen) unchanged(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		f.listed = time.Time{}
		return false
	}
	now, changed := time.Now(), info.ModTime()
	if changed.Equal(f.changed) && now.Sub(f.listed) < trustFolder {
		return true
	}
	f.changed, f.listed = changed, now
	if now.Sub(changed) < stateTick { // it may change again without another time
		f.changed = time.Time{}
	}
	return false
}

// listFolder lists the names in a folder. A pipe in its place is opened without waiting for its other end.
func listFolder(path string) []string {
	d, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	return names
}
