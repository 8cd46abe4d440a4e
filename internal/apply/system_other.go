//go:build !linux

package apply

import (
	"errors"

	"github.com/anivault/anivault/internal/organize"
)

// Supported reports whether this system can carry out plans. The kill tests pass only on Linux.
const Supported = false

// System is the file system of this machine. On this system, it does nothing and returns errors.
type System struct{}

// Root implements FS.
func (System) Root(string) (organize.Root, error) { return organize.Root{}, errors.ErrUnsupported }

// Open implements FS.
func (System) Open(string) (Dir, error) { return nil, errors.ErrUnsupported }

// MayLink implements FS.
func (System) MayLink(Info) bool { return false }
