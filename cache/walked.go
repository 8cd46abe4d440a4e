package cache

// Which state of the database is known to be sound. A walk over all pages takes longer than all else that a small run
// does, so the state that a process leaves behind, walked or written by bbolt upon what was walked, is named in a file
// beside the database, and the next process that finds that very state does not walk.
//
// The file says when the state was walked, and what tells it from any other: size and times of the file, its place, and
// the transaction and checksum of bbolt's meta page. It is believed when it says letter by letter what this process
// would write; anything else, also a file that is cut off or of another version, is as good as none. Whoever believes
// it removes it first and writes it again in the end, so a process that dies of a page leaves none, and the next one
// walks. Damage that changes none of this (a bit of the disk) is met so by one process, not by each, and at the next
// walk, a day later at the latest. Until then the checksum of each record stands.

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// walkedPages is the smallest database that it pays to remember: the file costs as much as a walk over so many pages.
const walkedPages = 64

// checkedPages is the state of the database whose page references were last looked through.
type checkedPages struct {
	path string // where it is remembered
	now  func() time.Time

	mu    sync.Mutex
	state dbState
	sound soundPages
	day   string // of the last walk
	note  string // of the state; "": it is not to be remembered
}

// check looks through the page references of a state that neither this process nor the last one knows.
func (c *checkedPages) check(f *os.File, info fs.FileInfo) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := stateOf(info)
	if state == c.state {
		return nil
	}
	day := c.now().UTC().Format(time.DateOnly)
	note := noteOf(f, info, day)
	if note == "" || !c.take(note) {
		sound, err := walkPages(f, info.Size(), c.sound, false)
		if err != nil {
			return err
		}
		c.sound = sound
	}
	c.state, c.day, c.note = state, day, note
	return nil
}

// trust takes the state that bbolt has just written for sound.
func (c *checkedPages) trust(f *os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if info, err := f.Stat(); err == nil {
		c.state, c.note = stateOf(info), noteOf(f, info, c.day)
	}
}

// forget is for a database that turned out to be damaged.
func (c *checkedPages) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.sound, c.note = dbState{}, nil, ""
}

// remember leaves the state to the next process.
func (c *checkedPages) remember() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.note == "" {
		return
	}
	if f, err := lockfile.OpenNoFollow(c.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
		_, _ = io.WriteString(f, c.note) // half of it is not believed
		f.Close()
	}
}

// take reports whether the last process has left this note, and removes it.
func (c *checkedPages) take(note string) bool {
	f, err := lockfile.OpenNoFollow(c.path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	left := make([]byte, len(note)+1)
	n, _ := f.Read(left)
	return string(left[:n]) == note && os.Remove(c.path) == nil
}

// noteOf is what is remembered of a state, "" for one that is small or can't be told from the next.
func noteOf(f *os.File, info fs.FileInfo, day string) string {
	m, err := currentMeta(f, info.Size())
	change := lockfile.Change(f)
	if err != nil || m.pages < walkedPages || change == "" {
		return ""
	}
	return fmt.Sprintf("anivault-walked 1: %s, %d bytes, changed %d %s, transaction %d %016x\n",
		day, info.Size(), info.ModTime().UnixNano(), change, m.tx, m.sum)
}

// checkDeep looks through all pages.
func checkDeep(f *os.File, info fs.FileInfo) error {
	_, err := walkPages(f, info.Size(), nil, true)
	return err
}
