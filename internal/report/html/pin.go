package html

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// folders knows of each folder whether all files in it and below it were weighed alike: only then does a pin of the
// folder say nothing of another series.
type folders map[string]*folder

type folder struct {
	evidence string
	files    int
	mixed    bool
	root     bool // named by the user: tomorrow it may hold anything
}

// foldersOf looks at all files of a run. Skipped ones are nobody's.
func foldersOf(records []report.Record, roots []string) folders {
	all := folders{}
	for i := range records {
		if records[i].Status == report.Skipped {
			continue
		}
		evidence := evidenceOf(&records[i])
		dir, _ := records[i].Split()
		for dir != "" {
			f := all[dir]
			if f == nil {
				f = &folder{evidence: evidence}
				all[dir] = f
			}
			f.files++
			f.mixed = f.mixed || f.evidence != evidence
			up := filepath.Dir(dir)
			if up == dir || up == "." {
				break
			}
			dir = up
		}
	}
	for _, root := range roots {
		if f := all[filepath.Clean(root)]; f != nil {
			f.root = true
		}
	}
	return all
}

// evidenceOf tells series apart: what was weighed, or where that is nothing what came of it.
func evidenceOf(r *report.Record) string {
	if len(r.Candidates) == 0 {
		return r.Ref() + string(r.Reason)
	}
	var b strings.Builder
	for _, c := range r.Candidates {
		fmt.Fprintf(&b, "%s %g ", c.Ref(), c.Confidence)
	}
	return b.String()
}

// pinWords returns the arguments of `anivault pin` for files of one card that were weighed alike, as words of a shell:
// the folders that hold nothing else, for other files their title where all their names have it, else each file by
// itself. Paths stand as they were given: the page may be sent on, and shows no more of a machine than its user typed.
func (all folders) pinWords(records []*report.Record, names bool) []string {
	var words []string
	var loose []*report.Record
	last := ""
	for _, r := range records {
		dir, _ := r.Split()
		f := all[dir]
		switch {
		case names || f == nil || f.mixed || f.root || f.files < 2:
			loose = append(loose, r)
		case dir != last:
			last = dir
			words = append(words, word(dir, true))
		}
	}
	if t := sharedTitle(loose); t != "" && (names || len(loose) > 1) {
		return append(words, word(t, false))
	}
	for _, r := range loose {
		words = append(words, word(r.Path, false))
	}
	return words
}

// sharedTitle is the title that was read of all these names, and stands in them; "" where there is none.
func sharedTitle(records []*report.Record) string {
	shared := ""
	for i, r := range records {
		if r.Parsed == nil || r.Parsed.Title == "" || i > 0 && r.Parsed.Title != shared {
			return ""
		}
		shared = r.Parsed.Title
		if _, name := r.Split(); !strings.Contains(title.Compact(name), title.Compact(shared)) {
			return ""
		}
	}
	return shared
}

// word is one word of a shell that no command takes for a flag, and that pin takes for a folder where it is one, also
// where the folder is not there.
func word(s string, dir bool) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	if dir && !strings.HasSuffix(s, "/") {
		s += "/"
	}
	return ui.ShellWord(s)
}
