package redisstore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/ratelimit/internal/core"
)

const (
	seedFile        = "coordinator-machine" // holds a random number
	aliveFilePrefix = "coordinator-"        // a process locks the file with its id while it runs
	machineBytes    = 6
)

// localProcesses finds the processes of this machine through a folder, in which each of them locks a file of its own.
// The machine's name is a hash of a random number in the folder and of the boot id, so a cloned image is another
// machine, and containers that share the folder are one. Without a folder, each process counts as a machine.
type localProcesses struct {
	dir     string // "" without a folder
	machine string
	process string
	alive   *lockfile.LivenessFile // nil without a folder
}

func (h *localProcesses) open(dir string, id []byte) {
	h.process = hex.EncodeToString(id)
	seed := id
	if dir != "" && os.MkdirAll(dir, 0o700) == nil {
		if s, err := machineSeed(filepath.Join(dir, seedFile)); err == nil {
			h.dir, seed = dir, s
			h.alive = lockfile.NewLivenessFile(h.path(h.process), 0o600)
			if h.alive.Ensure() != nil {
				h.dir, h.alive, seed = "", nil, id
			}
		}
	}
	name := append([]byte("machine of the limiter's coordinator "), seed...)
	sum := sha256.Sum256(append(name, core.SystemInstant().BootID...))
	h.machine = hex.EncodeToString(sum[:machineBytes])
}

// machineSeed returns the random number in a file, and creates the file if it is missing. It writes a temporary file
// and links it to the path, so the file is always complete.
func machineSeed(path string) ([]byte, error) {
	for range 2 {
		text, err := os.ReadFile(path)
		if err == nil {
			if seed, err := hex.DecodeString(strings.TrimSpace(string(text))); err == nil && len(seed) == 16 {
				return seed, nil
			}
			os.Remove(path) // the file is damaged, and nothing else depends on it
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		var seed [16]byte
		_, _ = rand.Read(seed[:]) // never fails
		temp := path + "-" + hex.EncodeToString(seed[:4])
		if err := os.WriteFile(temp, []byte(hex.EncodeToString(seed[:])+"\n"), 0o600); err != nil {
			return nil, err
		}
		_ = os.Link(temp, path) // fails if another process was faster
		os.Remove(temp)
	}
	return nil, fs.ErrInvalid
}

func (h *localProcesses) path(process string) string {
	return filepath.Join(h.dir, aliveFilePrefix+process)
}

func (h *localProcesses) dead(owner string) bool {
	_, process, _ := strings.Cut(owner, "-")
	if id, err := hex.DecodeString(process); h.dir == "" || err != nil || len(id) != 8 {
		return false
	}
	file, err := lockfile.TakeOver(h.path(process))
	if err == nil {
		file.Close()
	}
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

func (h *localProcesses) close() {
	if h.alive != nil {
		h.alive.Close()
	}
}
