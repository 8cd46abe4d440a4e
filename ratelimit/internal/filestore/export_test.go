package filestore

import (
	"errors"
	"os"
)

const (
	StateName    = stateName
	LockName     = lockName
	AlivePrefix  = alivePrefix
	FrameSlot    = slotSize
	FrameVersion = formatVersion
	FrameHeader  = headerSize
	KeepCorrupt  = maxDamagedCopies
	ProveEvery   = aliveCheckInterval
	SweepEvery   = sweepInterval
)

var (
	FirstFile  = firstFile
	Castagnoli = castagnoli
)

// Load reads a state file.
func Load(f *os.File) ([]byte, error) {
	c := copies{file: f}
	return c.load()
}

// full is a file on a disk that takes no more.
type full struct{ *os.File }

func (full) WriteAt([]byte, int64) (int, error) { return 0, errors.New("no space left on device") }

// FillDisk fills the disk, and returns how to make room again. The file must be open.
func (b *Backend) FillDisk() (mend func()) {
	b.copies.file = full{b.state.File}
	return func() { b.copies.file = b.state }
}
