package library

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
)

// IgnoreFile is the name of the files that list what to leave out, in gitignore syntax. They apply to their folder
// and all below it, also when the walk starts below it.
const IgnoreFile = ".anivaultignore"

const maxIgnoreFile = 1 << 20 // bytes; a hand-written list has a few hundred

// scope has the ignore lists that apply in one folder, innermost first.
type scope struct {
	patterns
	base  string // the list's folder, absolute, with a separator at its end
	above *scope
}

// verdict reports whether the entry at an absolute path is ignored, and why. A nearer list wins over a farther one.
func (s *scope) verdict(path string, dir bool) (reason string, ignored bool) {
	for ; s != nil; s = s.above {
		rel, ok := strings.CutPrefix(path, s.base)
		if !ok {
			continue
		}
		if p, ok := s.match(filepath.ToSlash(rel), dir); ok {
			if p.line == 0 {
				return fmt.Sprintf("excluded by %s %s", s.origin, p.text), !p.negated
			}
			return fmt.Sprintf("ignored by %s:%d (%s)", s.origin, p.line, p.text), !p.negated
		}
	}
	return "", false
}

// with returns the scope below s in which p applies from dir on: s itself if p is empty.
func (s *scope) with(p patterns, dir string) *scope {
	if len(p.list) == 0 {
		return s
	}
	return &scope{patterns: p, base: inside(dir), above: s}
}

// readIgnoreFile returns the list in dir, an empty one where there is none.
func readIgnoreFile(dir string, fold bool) (patterns, error) {
	path := filepath.Join(dir, IgnoreFile)
	f, err := lockfile.Open(path, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.As(err, new(*lockfile.NotRegularError)):
		return patterns{}, nil // a folder or device of that name is not a list
	case err != nil:
		return patterns{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile+1))
	if err == nil && len(text) > maxIgnoreFile {
		err = lang.Error("read %s: larger than %d bytes", path, maxIgnoreFile)
	}
	if err != nil {
		return patterns{}, err
	}
	return parsePatterns(path, string(text), fold), nil
}

// scopeAbove reads the ignore files of the folders above dir, an absolute path. Those that cannot be read are passed
// over: the user did not name these folders.
func scopeAbove(dir string, fold bool) *scope {
	parent := filepath.Dir(dir)
	if parent == dir {
		return nil
	}
	s := scopeAbove(parent, fold)
	if p, err := readIgnoreFile(parent, fold); err == nil {
		s = s.with(p, parent)
	}
	return s
}
