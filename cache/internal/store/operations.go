package store

// This file has the operations on the whole cache that users start. They wait longer for the lock than requests do.

import (
	"bytes"
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

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/boltfile"
)

const (
	// operationWait is how long an operation waits for the lock, if its context does not end earlier.
	operationWait  = 30 * time.Second
	compactTxBytes = 16 << 20
)

// ErrUnavailable reports that the operation can't use the directory. An earlier warning has given the reason.
var ErrUnavailable = errors.New("cache directory can't be used")

func (d *database) withExclusiveLock(ctx context.Context, fn func() error) error {
	if d.mode() != modeReadWrite {
		return fmt.Errorf("%s: %w", d.dir, ErrUnavailable)
	}
	release, err := d.beginWriting(ctx, operationWait)
	if err != nil {
		return err
	}
	defer release()
	return fn()
}

// Clear removes everything, in all buckets.
func (s *Store) Clear(ctx context.Context) error {
	err := s.db.withExclusiveLock(ctx, func() error {
		// This renames a damaged database, and fails for one of a newer format.
		if err := s.db.update(func(*boltfile.DB, dbMeta) error { return nil }); err != nil {
			return err
		}
		s.mu.Lock()
		s.pending.clear()
		s.mu.Unlock()
		return os.Remove(s.db.path)
	})
	if err != nil {
		return fmt.Errorf("clear the cache: %w", err)
	}
	return nil
}

// CompactResult is the size of the database file before and after.
type CompactResult struct {
	Before, After int64 // bytes
}

// Compact rewrites the database without gaps, because a bbolt file reuses its free pages but never shrinks. It needs
// free disk space for the new file. Meanwhile other processes wait, or continue without the cache.
func (s *Store) Compact(ctx context.Context) (CompactResult, error) {
	var res CompactResult
	err := s.db.withExclusiveLock(ctx, func() error {
		src, _, err := s.db.openExclusive(boltfile.CheckLeaves) // because the copy reads all buckets
		if err != nil {
			return err
		}
		defer func() { _ = src.Close() }()
		res.Before = fileSize(s.db.path)
		err = s.db.replace(func(dst *bolt.DB) error {
			err := src.Guard(func() error { return bolt.Compact(dst, src.DB, compactTxBytes) })
			return errors.Join(err, src.Close()) // Windows replaces no open file
		})
		res.After = fileSize(s.db.path)
		return err
	})
	if err != nil {
		return res, fmt.Errorf("compact the cache: %w", err)
	}
	return res, nil
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Problem is one finding of Verify.
type Problem struct {
	Where   string // the file, or the bucket and key
	Message string
}

func (p Problem) String() string { return p.Where + ": " + p.Message }

// VerifyReport is the result of Verify.
type VerifyReport struct {
	Records  int
	Problems []Problem
}

// Verify checks all pages, the order of the keys, and the checksum of each record. It calls check for each answer,
// which returns an error for an invalid one. Verify changes nothing, and other processes can read meanwhile.
func (s *Store) Verify(ctx context.Context, check func(Item) error) (VerifyReport, error) {
	var rep VerifyReport
	add := func(where string, err error) { rep.Problems = append(rep.Problems, Problem{where, err.Error()}) }
	// We don't use bbolt's Check, because it runs in another goroutine, where we can't recover from a fault.
	err := s.db.viewOnce(ctx, bolt.Options{ReadOnly: true}, boltfile.CheckLeaves, func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			bucket := string(name)
			if bucket == metaBucket {
				return nil
			}
			var last []byte
			return b.ForEach(func(k, v []byte) error {
				where := bucket + "/" + string(k)
				if bytes.Compare(k, last) <= 0 {
					add(where, errKeyOrder)
				}
				last = bytes.Clone(k)
				if rep.Records++; rep.Records%1024 == 0 && ctx.Err() != nil {
					return context.Cause(ctx)
				}
				it, err := decodeItem(bucket, string(k), v)
				if err == nil && bucket == answersBucket {
					err = check(it)
				}
				if err != nil {
					add(where, err)
				}
				return nil
			})
		})
	})
	if damage, ok := errors.AsType[*boltfile.DamageError](err); ok {
		add(s.db.path, damage.Cause)
	} else if !errors.Is(err, errNoDB) {
		return rep, err
	}
	return rep, nil
}

var errKeyOrder = errors.New("it is out of order")

// Usage is the disk space that a store uses.
type Usage struct {
	FileSize     int64    // size of the database file
	Used         int64    // bytes in use; Compact frees the others
	DamagedFiles []string // paths of damaged databases that were renamed
}

// Usage reads the sizes of the files.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	u := Usage{FileSize: fileSize(s.db.path), DamagedFiles: s.db.damagedFiles()}
	opts := bolt.Options{ReadOnly: true, PreLoadFreelist: true}
	err := s.db.viewOptions(ctx, opts, func(tx *bolt.Tx) error {
		u.Used = tx.Size() - int64(tx.DB().Stats().FreePageN)*int64(tx.DB().Info().PageSize)
		return nil
	})
	return u, err
}

// maxDamagedKept is how many damaged databases are kept. They are renamed when a new database replaces them.
const maxDamagedKept = 2

// renameDamaged takes the lock and renames the damaged database, unless another process has already done so.
func (d *database) renameDamaged(ctx context.Context, damage *boltfile.DamageError) {
	release, err := d.beginWriting(ctx, d.opts.LockWait)
	if err != nil {
		if d.mode() == modeReadWrite {
			d.warnings.warn(Warning{Kind: WarnLocked, Path: d.dir, Err: errors.Join(err, damage)})
		}
		return
	}
	defer release()
	if err := d.renameDamagedLocked(damage); err != nil {
		d.warnings.warn(Warning{Kind: WarnWrite, Path: d.dir, Err: err})
	}
}

func (d *database) renameDamagedLocked(damage *boltfile.DamageError) error {
	now, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !damage.MayConcern(now) {
		return nil // another process has already replaced the database
	}
	aside, err := d.renameCorrupt(d.path)
	if err != nil {
		return err
	}
	d.warnings.warn(Warning{Kind: WarnCorrupt, Path: aside, Err: damage})
	return nil
}

// removeOldFormats removes files of earlier format versions, which can be fetched again and are never pruned.
func removeOldFormats(dir string, version int) {
	for _, name := range listFolder(dir) {
		for v := range version {
			if strings.HasPrefix(name, fmt.Sprintf("cache-v%d.", v)) {
				os.Remove(filepath.Join(dir, name))
			}
		}
	}
	journals := filepath.Join(dir, "journals") // used by version 1
	for _, name := range listFolder(journals) {
		if strings.HasPrefix(name, "v1-") {
			os.Remove(filepath.Join(journals, name))
		}
	}
	os.Remove(journals) // fails if the folder is not empty
}

// listFolder returns the names in a folder. It does not block if path is a pipe.
func listFolder(path string) []string {
	d, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	return names
}

// renameCorrupt renames a damaged file to <path>.corrupt-<time>. If that name is taken, it appends a number.
func (d *database) renameCorrupt(path string) (aside string, err error) {
	base := path + corruptInfix + d.now().UTC().Format("20060102T150405Z")
	aside = base
	for i := 2; ; i++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-%d", base, i)
	}
	if err := os.Rename(path, aside); err != nil {
		if isReadOnly(err) {
			d.stopWriting(err)
		}
		return "", fmt.Errorf("set a damaged file aside: %w", err)
	}
	d.removeOldDamaged()
	return aside, nil
}

const corruptInfix = ".corrupt-"

func (d *database) damagedFiles() []string {
	var found []string
	for _, name := range listFolder(d.dir) {
		if strings.Contains(name, corruptInfix) {
			found = append(found, filepath.Join(d.dir, name))
		}
	}
	return found
}

// removeOldDamaged removes renamed databases, except the newest ones that are less than 180 days old. It never removes
// folders with content, because the store did not create them.
func (d *database) removeOldDamaged() {
	found := d.damagedFiles()
	age := map[string]time.Duration{}
	for _, p := range found {
		if info, err := os.Stat(p); err == nil {
			age[p] = d.now().Sub(info.ModTime())
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(age[a], age[b]) })
	for i, p := range found {
		if i >= maxDamagedKept || age[p] >= KeepLimit {
			os.Remove(p)
		}
	}
}
