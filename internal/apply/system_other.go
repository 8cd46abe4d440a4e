//go:build !linux

package apply

import (
	"errors"

	"github.com/anivault/anivault/internal/organize"
)

// Supported reports whether plans can be carried out on this system: nowhere before its kill tests hold there.
const Supported = false

// System is the file system of this machine, of which nothing is changed here.
type System struct{}

// Root implements FS.
func (System) Root(string) (organize.Root, error) { return organize.Root{}, errors.ErrUnsupported }

// Open implements FS.
func (System) Open(string) (Dir, error) { return nil, errors.ErrUnsupported }

// MayLink implements FS.
func (System) MayLink(Info) bool { return false }
