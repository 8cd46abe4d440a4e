package cache

// What the database says about itself, and how one of its states is told from the next.

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	metaBucket = "meta"
	metaKey    = "cache"
	formatName = "anivault-cache"
	// formatVersion is in the names of the database and the journals.
	formatVersion = 1
)

// dbMeta is what the database says about itself.
type dbMeta struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Cleared is the stamp at which everything was cleared: older records that still lie in somebody's journal don't
	// count.
	Cleared uint64 `json:"cleared,omitempty"`
	// Pruned is when expired records were last looked for, in Unix seconds.
	Pruned int64 `json:"pruned,omitempty"`

	state dbState // which committed state this was read from
}

// foreignError: a sound bbolt file, but not one of ours.
type foreignError struct{ what string }

func (e *foreignError) Error() string { return "it belongs to something else: " + e.what }

func readMeta(tx *bolt.Tx) (dbMeta, error) {
	var m dbMeta
	b := tx.Bucket([]byte(metaBucket))
	if b == nil {
		return m, &foreignError{"no meta bucket"}
	}
	raw := b.Get([]byte(metaKey))
	if err := json.Unmarshal(raw, &m); err != nil || m.Format != formatName {
		return m, &foreignError{fmt.Sprintf("meta record %.40q", raw)}
	}
	return m, nil
}

func writeMeta(tx *bolt.Tx, m dbMeta) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	b, err := tx.CreateBucketIfNotExists([]byte(metaBucket))
	if err != nil {
		return err
	}
	return b.Put([]byte(metaKey), raw)
}

// dbState identifies one committed state of the database file; the zero value stands for "there is none". Merges within
// one tick of the file system's clock may leave the same state.
type dbState struct{ size, mtime int64 }

func stateOf(info fs.FileInfo) dbState {
	if info == nil || info.Size() == 0 {
		return dbState{}
	}
	return dbState{info.Size(), info.ModTime().UnixNano()}
}

// isRecent reports whether a state is so young that the file's time of change may not tell it from the next one.
func (d dbState) isRecent() bool {
	return d != dbState{} && time.Since(time.Unix(0, d.mtime)) < stateTick
}

// stateTick is longer than the ticks of file systems' clocks.
const stateTick = 20 * time.Millisecond
