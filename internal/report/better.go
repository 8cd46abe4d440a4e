package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// heldFile is the file of an episode, with what its name says about its quality.
type heldFile struct {
	path       string
	source     int // a place in sources, 0 if its name says none
	resolution int // lines, 0 if its name says none
	version    int
	size       int64
}

// sources are the sources of releases, the worst first.
var sources = []string{
	"", "CAM", "VHS", "LaserDisc", "TV", "DVD", "HDTV", "HDRip", "WEBRip", "WEB", "WEB-DL", "BluRay",
}

func newHeldFile(r *Record) heldFile {
	f := heldFile{path: strings.Clone(r.Path), version: 1}
	if p := r.Parsed; p != nil {
		f.source = max(0, slices.Index(sources, p.Source))
		f.resolution, _ = strconv.Atoi(strings.TrimRight(p.Resolution, "pi"))
		f.version = max(1, p.Version)
	}
	return f
}

// bestFile returns the file that is better than each of the others, and why; why is "" if there is none.
func bestFile(files []heldFile, size func(string) int64) (best int, why lang.Text) {
	for i := range files {
		if size != nil {
			files[i].size = size(files[i].path)
		}
		if files[i].whyBetter(&files[best]) != "" {
			best = i
		}
	}
	var reasons []lang.Text
	for i := range files {
		switch reason := files[best].whyBetter(&files[i]); {
		case i == best:
		case reason == "":
			return best, ""
		case !slices.Contains(reasons, reason):
			reasons = append(reasons, reason)
		}
	}
	return best, lang.Join(reasons, ", ")
}

// whyBetter says why f is better than g; "" if it is not. What only one name says is not compared.
func (f *heldFile) whyBetter(g *heldFile) lang.Text {
	for _, c := range []struct {
		ours, theirs int64
		text         func(*heldFile) string
	}{
		{int64(f.source), int64(g.source), func(f *heldFile) string { return sources[f.source] }},
		{int64(f.resolution), int64(g.resolution), func(f *heldFile) string { return strconv.Itoa(f.resolution) + "p" }},
		{int64(f.version), int64(g.version), func(f *heldFile) string { return "v" + strconv.Itoa(f.version) }},
		{f.size, g.size, func(f *heldFile) string { return ui.Size(f.size) }},
	} {
		if c.ours != c.theirs && c.ours > 0 && c.theirs > 0 {
			if c.ours < c.theirs {
				return ""
			}
			return lang.Textf("%s instead of %s", c.text(f), c.text(g))
		}
	}
	return ""
}
