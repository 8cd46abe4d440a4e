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
	"sync"
	"time"

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
	dir          string // "" without a folder
	machine      string
	process      string
	livenessFile *lockfile.LivenessFile // nil without a folder
}

func (h *localProcesses) open(dir string, id []byte) {
	h.process = hex.EncodeToString(id)
	seed := id
	if dir != "" && lockfile.MkdirAll(dir) == nil {
		if s, err := machineSeed(filepath.Join(dir, seedFile)); err == nil {
			h.dir, seed = dir, s
			h.livenessFile = lockfile.NewLivenessFile(h.path(h.process), 0o600)
			if h.livenessFile.Ensure() != nil {
				h.dir, h.livenessFile, seed = "", nil, id
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
		lockfile.Adopt(temp)
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
	return lockfile.RemoveDead(h.path(process))
}

func (h *localProcesses) close() {
	if h.livenessFile != nil {
		h.livenessFile.Close()
	}
}

const (
	sampleLifetime = 30 * time.Second
	// maxJitter is the largest difference between two readings of the server's clock that counts as jitter. If the
	// difference is larger, the clock was set or this is another server.
	maxJitter = 2 * time.Second
)

// clock computes shared time: the server's clock plus a bias, which is 0 until that clock leaps. A process takes the
// reading of the server's clock with the shortest round trip and adds the time since boot that has passed. The result
// is off by half a round trip at most and needs no wall clock. If the server's clock leaps, shared time continues with
// the time since boot, and the other processes learn the new bias from the state.
type clock struct {
	boot func() time.Duration // time since boot

	mu           sync.Mutex
	samples      []sample // not older than sampleLifetime, each with a shorter round trip than all later ones
	bias         time.Duration
	biasCompared bool          // the bias was compared with a state's
	newestShared time.Duration // the newest shared time that this process has returned or read
}

type sample struct {
	at        time.Duration // time since boot
	offset    time.Duration // the server's clock minus the time since boot
	roundTrip time.Duration
}

// observe records the server's time in a reply. sent and received are times since boot.
func (c *clock) observe(sent, received, server time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := sample{at: received, roundTrip: received - sent, offset: server - sent - (received-sent)/2}
	if len(c.samples) > 0 {
		best := c.samples[0]
		if jump := s.offset - best.offset; jump.Abs() > maxJitter+s.roundTrip/2 {
			c.bias -= jump
			c.samples = c.samples[:0]
		}
	}
	for n := len(c.samples); n > 0 && c.samples[n-1].roundTrip >= s.roundTrip; n-- {
		c.samples = c.samples[:n-1]
	}
	c.samples = append(c.samples, s)
	for c.samples[0].at < received-sampleLifetime {
		c.samples = c.samples[1:]
	}
}

// adopt takes over a state's bias if both clocks agree about the time. Shared time never falls behind the state's.
func (c *clock) adopt(f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := f.bias - c.bias; !c.biasCompared || d.Abs() <= maxJitter {
		c.bias = f.bias
	}
	c.biasCompared = true
	if behind := f.time - c.shared(c.boot()); behind > maxJitter {
		c.bias += behind
	}
	c.newestShared = max(c.newestShared, f.time)
}

func (c *clock) shared(boot time.Duration) time.Duration {
	if len(c.samples) == 0 {
		return 0
	}
	return boot + c.samples[0].offset + c.bias
}

// now returns the shared time at a time since boot, and its bias. Shared time never goes back.
func (c *clock) now(boot time.Duration) (shared, bias time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newestShared = max(c.newestShared, c.shared(boot))
	return c.newestShared, c.bias
}

func (c *clock) skew(wall time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.samples) == 0 {
		return 0
	}
	return time.Duration(wall.UnixNano()) - c.boot() - c.samples[0].offset
}

func sinceBoot() time.Duration { return core.SystemInstant().Boot }
