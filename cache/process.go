package cache

// Who writes: each open Store is a process of its own on disk, with a random
// name, a lock file that it holds while it lives, and journals. The lock comes
// first and is kept to the end, so a journal that can be seen belongs either
// to somebody alive or to somebody whose lock is free.
//
// The lock lies beside the journals, not on them: on Windows a locked or open
// file can't be read, renamed or removed by others.

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
)

// keepOpen: whether others' journals may be kept open without being in their
// owner's way when it deletes them.
const keepOpen = runtime.GOOS != "windows"

// journalName is v<version>-<owner>-<sequence>.log.
type journalName struct {
	version int
	owner   string
	seq     uint64
}

func (n journalName) String() string {
	return fmt.Sprintf("v%d-%s-%08d.log", n.version, n.owner, n.seq)
}

func (n journalName) in(dir string) string { return filepath.Join(dir, n.String()) }

// lockPath is the owner's lock file.
func lockPath(dir string, version int, owner string) string {
	return filepath.Join(dir, fmt.Sprintf("v%d-%s.lock", version, owner))
}

func parseJournalName(name string) (journalName, bool) {
	base, isLog := strings.CutSuffix(name, ".log")
	parts := strings.Split(base, "-")
	if !isLog || len(parts) != 3 || !strings.HasPrefix(parts[0], "v") {
		return journalName{}, false
	}
	version, err1 := strconv.Atoi(parts[0][1:])
	seq, err2 := strconv.ParseUint(parts[2], 10, 64)
	n := journalName{version: version, owner: parts[1], seq: seq}
	return n, err1 == nil && err2 == nil && n.String() == name
}

// parseLockName reads the name of a lock file.
func parseLockName(name string) (version int, owner string, ok bool) {
	base, isLock := strings.CutSuffix(name, ".lock")
	v, owner, found := strings.Cut(base, "-")
	if !isLock || !found || !strings.HasPrefix(v, "v") {
		return 0, "", false
	}
	version, err := strconv.Atoi(v[1:])
	return version, owner, err == nil
}

// process is this store's own part on disk.
type process struct {
	owner    string
	alive    func() // gives the lock back
	journals []*journal
	seq      uint64
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

// newProcess takes a new name and its lock.
func newProcess(dir string, version int, try tryLock) (*process, error) {
	for range 10 {
		var id [8]byte
		if _, err := rand.Read(id[:]); err != nil {
			return nil, err
		}
		owner := hex.EncodeToString(id[:])
		path := lockPath(dir, version, owner)
		release, ok, err := try(path, true, true)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		// Between its creation and its locking the file looked abandoned and
		// may have been swept away.
		if _, err := os.Stat(path); err == nil {
			return &process{owner: owner, alive: release}, nil
		}
		release()
	}
	return nil, errors.New("create a journal: no free name")
}

// rotate starts a new journal; it carries the claims that are held, so that
// the newest journal of a process says all about them. The older ones wait to
// be merged.
func (p *process) rotate(dir string, version int) error {
	p.seq++
	j := newJournal(dir, journalName{version: version, owner: p.owner, seq: p.seq})
	if err := j.create(); err != nil {
		return err
	}
	if len(p.journals) > 0 {
		old := p.current()
		var claims []journalRecord
		for k := range old.claims {
			bucket, key := cutSlot(k)
			claims = append(claims, journalRecord{kind: kindClaim, bucket: bucket, key: key})
		}
		if len(claims) > 0 {
			if err := j.append(claims...); err != nil {
				return errors.Join(err, j.remove())
			}
		}
	}
	p.journals = append(p.journals, j)
	return nil
}
