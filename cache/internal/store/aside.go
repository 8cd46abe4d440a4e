package store

// The files of a cache: which are ours, which are somebody else's, and what becomes of a damaged database: it is
// renamed, not deleted, and a new one is begun.

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
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/boltfile"
)

// keptAside is how many damaged files are kept; the oldest go.
const keptAside = 2

// setAside takes the lock and sets the database aside, unless another process has done so already.
func (d *database) setAside(ctx context.Context, damage *boltfile.DamageError) {
	release, err := d.exclusive(ctx, d.opts.LockWait)
	if err != nil {
		if d.mode() == modeShared {
			d.warned.say(Warning{Kind: WarnLocked, Path: d.dir, Err: errors.Join(err, damage)})
		}
		return
	}
	defer release()
	if err := d.setAsideLocked(damage); err != nil {
		d.warned.say(Warning{Kind: WarnWrite, Path: d.dir, Err: err})
	}
}

// setAsideLocked does so under the exclusive lock.
func (d *database) setAsideLocked(damage *boltfile.DamageError) error {
	now, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !damage.IsAbout(now) {
		return nil // another process was quicker
	}
	aside, err := d.renameAside(d.path)
	if err != nil {
		return err
	}
	d.warned.say(Warning{Kind: WarnCorrupt, Path: aside, Err: damage})
	return nil
}

// removeOlder removes what versions of the format before this one have left: all of it can be asked for again, and
// nobody would prune it.
func removeOlder(dir string, version int) {
	for _, name := range listFolder(dir) {
		for v := range version {
			if strings.HasPrefix(name, fmt.Sprintf("cache-v%d.", v)) {
				os.Remove(filepath.Join(dir, name))
			}
		}
	}
	journals := filepath.Join(dir, "journals") // of version 1
	for _, name := range listFolder(journals) {
		if strings.HasPrefix(name, "v1-") {
			os.Remove(filepath.Join(journals, name))
		}
	}
	os.Remove(journals) // where it is empty now
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

// renameAside gives a damaged file the name <path>.corrupt-<time>, with a number if that is taken.
func (d *database) renameAside(path string) (aside string, err error) {
	base := path + corruptMark + d.now().UTC().Format("20060102T150405Z")
	aside = base
	for i := 2; ; i++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	if err := os.Rename(path, aside); err != nil {
		if isReadOnly(err) {
			d.goReadOnly(err)
		}
		return "", fmt.Errorf("set a damaged file aside: %w", err)
	}
	d.dropOldAside()
	return aside, nil
}

// corruptMark is in the names of what was set aside.
const corruptMark = ".corrupt-"

// setAsideFiles lists the databases that were set aside.
func (d *database) setAsideFiles() []string {
	var found []string
	for _, name := range listFolder(d.dir) {
		if strings.Contains(name, corruptMark) {
			found = append(found, filepath.Join(d.dir, name))
		}
	}
	return found
}

// dropOldAside keeps the newest ones, and none beyond the 180 days. A folder with something in it is somebody's.
func (d *database) dropOldAside() {
	found := d.setAsideFiles()
	age := map[string]time.Duration{}
	for _, p := range found {
		if info, err := os.Stat(p); err == nil {
			age[p] = d.now().Sub(info.ModTime())
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(age[a], age[b]) })
	for i, p := range found {
		if i >= keptAside || age[p] >= KeepLimit {
			os.Remove(p)
		}
	}
}
