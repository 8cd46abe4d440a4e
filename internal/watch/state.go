package watch

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lockfile"
)

// State is what a watch remembers from one run of the program to the next.
type State struct {
	Version int               `json:"version"`
	Asked   string            `json:"asked"`   // what was watched, and how it was put in order
	Folders map[string]Dealt  `json:"folders"` // groups that were dealt with, by their folder
	Told    map[string]string `json:"told"`    // of files that stay where they are: what was told of them
}

// Dealt is a group that was dealt with.
type Dealt struct {
	Print string `json:"print"`           // as it was
	Basis string `json:"basis,omitempty"` // what decisions stood on: pins and index
	Left  bool   `json:"left,omitempty"`  // something of it stays where it is
}

// stateVersion is that of the file: another one's state is begun anew.
const stateVersion = 1

// NewState returns the state of a watch that has done nothing.
func NewState(asked string) *State {
	return &State{Version: stateVersion, Asked: asked, Folders: map[string]Dealt{}, Told: map[string]string{}}
}

// ReadState returns the state that a file holds. One that is not there, is damaged, or is about another question, is begun anew: then all
// is looked at once more, and what is in place stays.
func ReadState(file, asked string) (*State, error) {
	in, err := lockfile.Open(file, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return NewState(asked), nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	s := NewState(asked)
	if json.Unmarshal(text, s) != nil || s.Version != stateVersion || s.Asked != asked || s.Folders == nil || s.Told == nil {
		return NewState(asked), nil
	}
	return s, nil
}

// Write keeps the state in a file.
func (s *State) Write(file string) error {
	return atomicfile.Write(file, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
}

// dealtWith reports whether a group is as it was when it was dealt with, and nothing has changed that could lead to more.
func (s *State) dealtWith(g *Group, basis string) bool {
	d, known := s.Folders[g.Dir]
	return known && d.Print == g.Print && (!d.Left || d.Basis == basis)
}

// Tell reports whether something is to be told of a file, and remembers that it was: once for each version of the file and each reason.
func (s *State) Tell(file, what string) bool {
	if s.Told[file] == what {
		return false
	}
	s.Told[file] = what
	return true
}

// Forget drops what is remembered of groups that are no more, and of files in the folders that were dealt with but for those that are
// still left.
func (s *State) Forget(seen func(dir string) bool, dealt []string, left map[string]bool) {
	looked := map[string]bool{}
	for _, dir := range dealt {
		looked[dir] = true
	}
	for dir := range s.Folders {
		if !seen(dir) {
			delete(s.Folders, dir)
		}
	}
	for file := range s.Told {
		dir := path.Dir(file)
		if _, stays := left[file]; !seen(dir) || looked[dir] && !stays {
			delete(s.Told, file)
		}
	}
}
