package pins

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// versionMark is at the start of the first line, followed by the version's number. A file without it has version 1.
const versionMark = "# anivault pins "

const fileVersion = 1

const header = versionMark + `1
# One choice per line. A later one overrides an earlier one for the same thing; a longer path overrides ` +
	`a shorter one and a title.
#   tv/ID or movie/ID   [season=N] [offset=N] [episode=N] [order=ORDER]   path FOLDER-OR-FILE  or  title TITLE
# A comment "# tv/ID: NAME" above a choice belongs to it, and is removed with it.
# season is TMDB's; offset is added to the episode numbers in the names; episode is one file's: 5, 5-6 or 5,7; order ` +
	`is the whole series'. Lines that anivault does not understand are kept.
`

// Set is the content of a file of pins. The zero value is an empty file. It is not safe for concurrent use.
type Set struct {
	lines       []line
	winningLine map[subject]int // index in lines of the last pin for the subject, which is the one that counts
	problems    []Problem
	digest      string
}

type line struct {
	comment string // the comment line with the entry's name, unchanged; "" if there is none
	text    string // the line as it is in the file, without the line end
	pin     *Pin   // nil: a comment, or a line that was not understood
}

// Problem is a line that was not understood, and therefore has no effect.
type Problem struct {
	Line   int       `json:"line" doc:"its number"` // from 1
	Text   string    `json:"text" doc:"what it says"`
	Reason lang.Text `json:"reason" doc:"what is wrong with it"`
}

func (p Problem) Error() string { return lang.Textf("line %d: %s", p.Line, p.Reason).String() }

// Parse reads a file of pins. It only fails for a file with a later version, which this program must not change.
func Parse(content []byte) (*Set, error) {
	s := &Set{}
	if len(content) > 0 {
		sum := sha256.Sum256(content)
		s.digest = hex.EncodeToString(sum[:8])
	}
	text := strings.TrimLeft(string(content), "\ufeff")
	first, _, _ := strings.Cut(text, "\n")
	if v, ok := strings.CutPrefix(strings.TrimSpace(first), versionMark); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && n > fileVersion {
			return nil, lang.Error("the pins have version %d, but this anivault supports only version %d", n, fileVersion)
		}
	}
	number := 0
	for raw := range strings.Lines(text) {
		number++
		l := line{text: strings.TrimRight(raw, "\r\n")}
		if trimmed := strings.TrimSpace(raw); trimmed != "" && trimmed[0] != '#' {
			if p, err := parseLine(trimmed); err != nil {
				s.problems = append(s.problems, Problem{Line: number, Text: l.text, Reason: lang.TextOf(err)})
			} else {
				l.pin = &p
				if n := len(s.lines) - 1; n >= 0 && s.lines[n].pin == nil && p.readNameFrom(strings.TrimSpace(s.lines[n].text)) {
					l.comment = s.lines[n].text
					s.lines = s.lines[:n]
				}
			}
		}
		s.lines = append(s.lines, l)
	}
	s.reindex()
	return s, nil
}

// Bytes returns the file's content. Lines that were not changed are as they were read; every line ends with a newline.
func (s *Set) Bytes() []byte {
	var b bytes.Buffer
	for _, l := range s.lines {
		if l.comment != "" {
			b.WriteString(l.comment + "\n")
		}
		b.WriteString(l.text + "\n")
	}
	return b.Bytes()
}

// Put makes p the only pin for its subject, and returns the pin that it replaced, or nil. It fails if p is invalid.
func (s *Set) Put(p Pin) (*Pin, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	key := p.subject()
	p.Name = strings.Join(strings.Fields(p.Name), " ")
	l := line{comment: p.comment(), text: p.String(), pin: &p}
	i, replaces := s.winningLine[key]
	if !replaces {
		if len(s.lines) == 0 {
			for _, text := range strings.Split(strings.TrimSuffix(header, "\n"), "\n") {
				s.lines = append(s.lines, line{text: lang.Say(text)})
			}
		}
		s.lines = append(s.lines, l)
		s.reindex()
		return nil, nil
	}
	old := s.lines[i].pin
	s.lines[i] = l
	s.removeLines(key, i)
	return old, nil
}

// Remove removes the pins for the path or title of p. It returns the one that counted, or nil if there was none.
func (s *Set) Remove(p Pin) *Pin {
	key := p.subject()
	i, ok := s.winningLine[key]
	if !ok {
		return nil
	}
	old := s.lines[i].pin
	s.removeLines(key, -1)
	return old
}

func (s *Set) removeLines(key subject, keep int) {
	kept := s.lines[:0]
	for i, l := range s.lines {
		if l.pin == nil || l.pin.subject() != key || i == keep {
			kept = append(kept, l)
		}
	}
	s.lines = kept
	s.reindex()
}

func (s *Set) reindex() {
	s.winningLine = make(map[subject]int, len(s.lines))
	for i, l := range s.lines {
		if l.pin != nil {
			s.winningLine[l.pin.subject()] = i
		}
	}
}

// All returns the pins that count, in the order of the file.
func (s *Set) All() []Pin {
	var out []Pin
	for i, l := range s.lines {
		if l.pin != nil && s.winningLine[l.pin.subject()] == i {
			out = append(out, *l.pin)
		}
	}
	return out
}

// Len returns the number of pins that count.
func (s *Set) Len() int { return len(s.winningLine) }

// Problems returns the lines that were not understood.
func (s *Set) Problems() []Problem { return slices.Clone(s.problems) }

// Warnings returns an error for each of the first lines that were not understood, and one with the number of further
// ones. path names the file in them.
func (s *Set) Warnings(path string) []error {
	const most = 3
	var out []error
	for i, p := range s.problems {
		if i == most {
			return append(out, lang.Error("%s: and %d more lines that can't be understood; "+
				"anivault pins --format json lists them", path, len(s.problems)-most))
		}
		out = append(out, lang.Error("%s: line %d: %s", path, p.Line, p.Reason))
	}
	return out
}

// Digest returns a digest of the file's content when it was read; "" for an empty file.
func (s *Set) Digest() string { return s.digest }

// ForPath returns the pin for abs, an absolute path, or else for the nearest folder above it. If there is none, it does
// the same with the symbolic links in abs resolved.
func (s *Set) ForPath(abs string) (Pin, bool) {
	p, ok := s.forPath(abs)
	if !ok {
		p, ok = s.forPath(RealPath(abs))
	}
	return p, ok
}

func (s *Set) forPath(abs string) (Pin, bool) {
	for key := pathKey(abs); ; {
		if i, ok := s.winningLine[subject{true, key}]; ok {
			return *s.lines[i].pin, true
		}
		up := filepath.Dir(key)
		if up == key {
			return Pin{}, false
		}
		key = up
	}
}

// HasPath reports whether there is a pin for abs itself, not for a folder above it.
func (s *Set) HasPath(abs string) bool {
	_, ok := s.winningLine[subject{true, pathKey(abs)}]
	return ok
}

// ForTitle returns the pin for a title. If year is not 0, it first looks for the title with the year, as in "Title
// 2019".
func (s *Set) ForTitle(text string, year int) (Pin, bool) {
	for _, key := range []string{title.Normalize(text + " " + ui.Number(year)), title.Normalize(text)} {
		if i, ok := s.winningLine[subject{false, key}]; ok && key != "" {
			return *s.lines[i].pin, true
		}
	}
	return Pin{}, false
}

// FileName is the name of the file of pins in the data folder.
const FileName = "pins.txt"

const (
	maxFileSize = 16 << 20
	lockTimeout = 10 * time.Second
)

// Store reads and writes the file of pins in one data folder. Several goroutines and several processes may use it at
// the same time.
type Store struct{ path string }

// Open returns the store of a data folder. Neither the folder nor the file need exist yet.
func Open(dir string) *Store { return &Store{filepath.Join(dir, FileName)} }

// Path returns the path of the file, which may not exist yet.
func (s *Store) Path() string { return s.path }

// Load reads the file; a missing file is an empty Set.
func (s *Store) Load() (*Set, error) {
	content, err := lockfile.ReadFile(s.path, maxFileSize+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Parse(nil)
	case err != nil:
		return nil, lang.Error("read pins: %w", err)
	case len(content) > maxFileSize:
		return nil, lang.Error("read pins: %s is larger than %d bytes", s.path, maxFileSize)
	}
	set, err := Parse(content)
	if err != nil {
		return nil, lang.Error("read pins: %s: %w", s.path, err)
	}
	return set, nil
}

// Update locks the file, lets change edit its content, and writes it. It writes nothing if change returns an error or
// changes nothing. It returns the new content.
func (s *Store) Update(ctx context.Context, change func(*Set) error) (*Set, error) {
	if err := lockfile.MkdirAll(filepath.Dir(s.path)); err != nil {
		return nil, lang.Error("make the data folder: %w", err)
	}
	unlock, err := lockfile.Acquire(ctx, s.path+".lock", lockfile.Exclusive, lockTimeout)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, lang.Error("lock the pins: %w", err)
	}
	defer unlock()
	set, err := s.Load()
	if err != nil {
		return nil, err
	}
	before := string(set.Bytes())
	if err := change(set); err != nil {
		return nil, err
	}
	after := set.Bytes()
	if string(after) == before {
		return set, nil
	}
	defer lockfile.Adopt(s.path)
	if err := atomicfile.WriteText(s.path, 0o600, after); err != nil {
		return nil, lang.Error("write pins: %w", err)
	}
	return Parse(after)
}
