package organize

import (
	"slices"
	"strings"
	"time"
)

// Place is a root with what planning has to know of its file system.
type Place struct {
	Root
	Given   string // the folder as it was named; "" where it was not
	Device  uint64
	NameMax int // most bytes of a name, as the file system says
	// Adrift is set where the numbers of files are made up when the file system is mounted: they are no part of a plan then.
	Adrift bool
	// NoReflink is set where files can't share blocks.
	NoReflink bool
}

// Options say how a library is to be put in order.
type Options struct {
	ID            string
	Made          time.Time
	Mode          Mode
	OrCopy        bool // copy where the mode can't cross file systems
	Layout        Layout
	MinConfidence float64
	Versions      bool // files of one episode or film get labels that tell them apart
	Follow        bool // extras follow their entry
	Notes         Notes
	Replace       map[string]string
	Returned      func(*Item) bool // whether an undo has brought a file back, which then stays; nil: nobody asks

	Sources []Place
	Targets []Place
	TV      int // which target gets series
	Movies  int // which target gets films
}

// Notes says which files for media servers are written.
type Notes struct {
	Wanted    bool
	Full      bool   // all that is known, and of episodes too; else which entry it is
	Languages string // that are not those of the settings; see Note
}

// reservedBytes are what media servers add to a file's name: "-landscape.jpg".
const reservedBytes = 15

// longestName is how many bytes a name has at most, whatever a file system allows: a library travels.
const longestName = 255

// longestPath is how many bytes a whole path has at most: Linux' PATH_MAX without the zero behind it.
const longestPath = 4095

// namer returns what makes names for a target.
func (o *Options) namer(target int) namer {
	n := namer{max: min(o.Targets[target].NameMax, longestName) - reservedBytes, longest: longestPath - len(o.Targets[target].Path) - 1}
	if len(o.Replace) > 0 {
		var pairs []string
		keys := make([]string, 0, len(o.Replace))
		for from := range o.Replace {
			keys = append(keys, from)
		}
		slices.Sort(keys)
		for _, from := range keys {
			pairs = append(pairs, from, o.Replace[from])
		}
		n.replace = strings.NewReplacer(pairs...)
	}
	return n
}
