//go:build unix

package config

import (
	"os"
	"syscall"

	"github.com/anivault/anivault/internal/lang"
)

type owner struct{ uid, gid int }

// ownerOf returns the owner of the first path that exists. If root writes a file, that owner gets it.
func ownerOf(paths ...string) owner {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				return owner{int(s.Uid), int(s.Gid)}
			}
		}
	}
	return owner{-1, -1}
}

func (o owner) applyTo(paths ...string) error {
	if os.Geteuid() != 0 || o.uid <= 0 {
		return nil
	}
	for _, path := range paths {
		if err := os.Lchown(path, o.uid, o.gid); err != nil { // a link of the user must not lead to a file of root
			return lang.Error("keep the owner of %s: %w", path, err)
		}
	}
	return nil
}
