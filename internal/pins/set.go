package pins

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/title"
)

// versionMark begins the first line; a number follows. A file without it is of version 1.
const versionMark = "# anivault pins "

const version = 1

const header = versionMark + `1
# One choice a line; of two for the same thing the later one wins, and a longer path wins over a shorter one ` +
	`and over a title.
#   tv/ID or movie/ID   [season=N] [offset=N]   path FOLDER-OR-FILE  or  title TITLE
# A comment "# tv/ID: NAME" above a choice is its own, and goes with it.
# season is TMDB's; offset is added to the episode numbers in the names. Lines that are not understood are left alone.
`

// Set is the content of a file of pins. The zero value is an empty one. It is not safe for concurrent use.
type Set struct {
	lines    []line
	at       map[subject]int // index of the line that wins
	problems []Problem
	digest   string
}

type line struct {
	above string // the comment that says what the pin's entry is called, as it stands; "" for none
	text  string // as it stands, without its end
	pin   *Pin   // nil: a comment, or not understood
}

// Problem is a line that was not understood and has no effect.
type Problem struct {
	Line   int       `json:"line" doc:"its number"` // from 1
	Text   string    `json:"text" doc:"what it says"`
	Reason lang.Text `json:"reason" doc:"what is wrong with it"`
}

func (p Problem) Error() string { return lang.Textf("line %d: %s", p.Line, p.Reason).String() }

// Parse reads a file of pins. It never fails but for a file of a later version, which only a later anivault may change.
func Parse(content []byte) (*Set, error) {
	s := &Set{at: map[subject]int{}}
	if len(content) > 0 {
		sum := sha256.Sum256(content)
		s.digest = hex.EncodeToString(sum[:8])
	}
	content = bytes.TrimLeft(content, "\ufeff")
	if len(content) == 0 {
		return s, nil
	}
	text := strings.TrimSuffix(string(content), "\n")
	for i, raw := range strings.Split(text, "\n") {
		raw = strings.TrimRight(raw, "\r")
		trimmed := strings.TrimSpace(raw)
		l := line{text: raw}
		if v, ok := strings.CutPrefix(trimmed, versionMark); ok && i == 0 {
			if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && n > version {
				return nil, &VersionError{n}
			}
		}
		if trimmed != "" && trimmed[0] != '#' {
			p, err := parseLine(trimmed)
			if err != nil {
				s.problems = append(s.problems, Problem{Line: i + 1, Text: raw, Reason: lang.TextOf(err)})
			} else {
				l.pin = &p
				if n := len(s.lines) - 1; n >= 0 && s.lines[n].pin == nil && p.takeName(strings.TrimSpace(s.lines[n].text)) {
					l.above = s.lines[n].text
					s.lines = s.lines[:n]
				}
				s.at[p.subject()] = len(s.lines)
			}
		}
		s.lines = append(s.lines, l)
	}
	return s, nil
}

// VersionError is a file that a later anivault has written.
type VersionError struct{ Version int }

func (e *VersionError) Error() string { return e.Text().String() }

// Text names both versions.
func (e *VersionError) Text() lang.Text {
	return lang.Textf("the pins are of version %d, and this anivault knows version %d", e.Version, version)
}

// Bytes is the file's content: every line that was not changed as it was, with a newline at the end of each.
func (s *Set) Bytes() []byte {
	var b bytes.Buffer
	for _, l := range s.lines {
		if l.above != "" {
			b.WriteString(l.above + "\n")
		}
		b.WriteString(l.text + "\n")
	}
	return b.Bytes()
}

// Put makes p, which must be valid, the only pin for its subject. It returns the pin that it replaced, nil if none.
func (s *Set) Put(p Pin) (*Pin, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	key := p.subject()
	p.Name = strings.Join(strings.Fields(p.Name), " ")
	l := line{above: p.comment(), text: p.String(), pin: &p}
	i, replaces := s.at[key]
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
	s.drop(key, i)
	return old, nil
}

// Remove takes away what is pinned for the path or title of p and returns it, nil if nothing was.
func (s *Set) Remove(p Pin) *Pin {
	key := p.subject()
	i, ok := s.at[key]
	if !ok {
		return nil
	}
	old := s.lines[i].pin
	s.drop(key, -1)
	return old
}

func (s *Set) drop(key subject, keep int) {
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
	s.at = make(map[subject]int, len(s.lines))
	for i, l := range s.lines {
		if l.pin != nil {
			s.at[l.pin.subject()] = i
		}
	}
}

// All returns the pins that have a say, in the order of the file.
func (s *Set) All() []Pin {
	var out []Pin
	for i, l := range s.lines {
		if l.pin != nil && s.at[l.pin.subject()] == i {
			out = append(out, *l.pin)
		}
	}
	return out
}

// Len is how many pins have a say.
func (s *Set) Len() int { return len(s.at) }

// Problems returns the lines that were not understood.
func (s *Set) Problems() []Problem { return slices.Clone(s.problems) }

// Warnings returns the first few lines that were not understood, and how many more there are. path names the file.
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

// Digest is a text that differs whenever the file's content did when it was read; "" for none.
func (s *Set) Digest() string { return s.digest }

// ForPath finds the pin of the longest path that is abs, an absolute path, or a folder above it.
func (s *Set) ForPath(abs string) (Pin, bool) {
	if len(s.at) == 0 {
		return Pin{}, false
	}
	for key := pathKey(abs); ; {
		if i, ok := s.at[subject{true, key}]; ok {
			return *s.lines[i].pin, true
		}
		up := filepath.Dir(key)
		if up == key {
			return Pin{}, false
		}
		key = up
	}
}

// ForTitle finds the pin of a title: first with its year, "Title 2019", unless that is 0, then without.
func (s *Set) ForTitle(text string, year int) (Pin, bool) {
	if len(s.at) == 0 {
		return Pin{}, false
	}
	keys := []string{title.Normalize(text)}
	if year != 0 {
		keys = []string{title.Normalize(text + " " + strconv.Itoa(year)), keys[0]}
	}
	for _, key := range keys {
		if i, ok := s.at[subject{false, key}]; ok && key != "" {
			return *s.lines[i].pin, true
		}
	}
	return Pin{}, false
}

// Name is the file's name in the data folder.
const Name = "pins.txt"

const (
	maxSize  = 16 << 20
	patience = 10 * time.Second
)

// Store is the file of pins of one data folder. It is safe for concurrent use, also by several processes.
type Store struct{ path string }

// Open names the store of a data folder, which need not exist yet.
func Open(dir string) *Store {
	return &Store{filepath.Join(dir, Name)}
}

// Path is where the file is or will be.
func (s *Store) Path() string { return s.path }

// Load reads the file; one that does not exist is empty. The error wraps *VersionError for a later version's.
func (s *Store) Load() (*Set, error) {
	f, err := lockfile.Open(s.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Parse(nil)
	}
	if err != nil {
		return nil, lang.Error("read pins: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, lang.Error("read pins: %w", err)
	}
	if len(content) > maxSize {
		return nil, lang.Error("read pins: %s is larger than %d bytes", s.path, maxSize)
	}
	set, err := Parse(content)
	if err != nil {
		return nil, lang.Error("read pins: %s: %w", s.path, err)
	}
	return set, nil
}

// Update changes the file under a lock, unless change returns an error or changes nothing. It returns the new set.
func (s *Store) Update(ctx context.Context, change func(*Set) error) (*Set, error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, lang.Error("make the data folder: %w", err)
	}
	unlock, err := lockfile.Acquire(ctx, s.path+".lock", lockfile.Exclusive, patience)
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
	err = atomicfile.Write(s.path, 0o600, func(w io.Writer) error {
		_, err := w.Write(after)
		return err
	})
	if err != nil {
		return nil, lang.Error("write pins: %w", err)
	}
	return Parse(after)
}
