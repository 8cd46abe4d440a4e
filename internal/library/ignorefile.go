package library

// Where ignore files are looked for, and which of them decides.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// IgnoreFile is the name of the files that say what to leave out, in gitignore
// syntax. They count for their folder and all below it, also when the walk
// starts below it.
const IgnoreFile = ".anivaultignore"

const maxIgnoreFile = 1 << 20 // bytes; a hand-written list has a few hundred

// scope is the ignore lists that count in one folder, innermost first.
type scope struct {
	patterns
	base  string // the list's folder, absolute, with a separator at its end
	above *scope
}

// verdict tells whether the entry at an absolute path is ignored. A nearer
// list wins over a farther one.
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

// with gives the scope below s in which p counts from dir on: s itself if p says nothing.
func (s *scope) with(p patterns, dir string) *scope {
	if len(p.list) == 0 {
		return s
	}
	return &scope{patterns: p, base: strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator), above: s}
}

// readIgnoreFile gives the list in dir, nil if there is none.
func readIgnoreFile(dir string, fold bool) (*patterns, error) {
	path := filepath.Join(dir, IgnoreFile)
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err // a folder or device of that name is no list
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxIgnoreFile {
		return nil, fmt.Errorf("read %s: larger than %d bytes", path, maxIgnoreFile)
	}
	p := parsePatterns(path, string(text), fold)
	return &p, nil
}

// scopeAbove reads the ignore files of the folders above dir, an absolute
// path. What cannot be read there is not ours to report.
func scopeAbove(dir string, fold bool) *scope {
	parent := filepath.Dir(dir)
	if parent == dir {
		return nil
	}
	s := scopeAbove(parent, fold)
	if p, err := readIgnoreFile(parent, fold); err == nil && p != nil {
		s = s.with(*p, parent)
	}
	return s
}
