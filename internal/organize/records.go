package organize

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
)

// From sets the source roots, if Options did not know them.
func (p *Planner) From(sources []Place) { p.o.Sources = sources }

// Add adds a record. It copies what it keeps, because the caller reuses the record's memory.
func (p *Planner) Add(r *report.Record) {
	v := &video{}
	v.recordDir, v.name = path.Split(r.Path)
	p.all = append(p.all, v)
	v.code, v.why = p.o.judge(r)
	if p.o.Follow && v.code == Extra && library.IsExtra(v.why) && !library.IsSample(r.Path) {
		v.kind, v.code, v.why = kindExtra, "", ""
	}
	if v.code != "" {
		return
	}
	if v.kind == kindVideo {
		p.read(v, r)
	}
	p.locate(v)
	if v.code == "" {
		p.videos = append(p.videos, v)
	}
}

func (p *Planner) read(v *video, r *report.Record) {
	v.target = p.o.Movies
	if r.Kind == "tv" {
		v.target = p.o.TV
	}
	n := &p.namers[0] // replacements are the same for all targets
	of := facts{title: r.Title, original: r.OriginalTitle, year: r.Year}
	if r.IDs != nil {
		of.ids = *r.IDs
	}
	if of != p.record { // records of one work come one after another
		p.record, p.cleaned = of, n.cleanFacts(of)
	}
	v.facts = p.cleaned
	if q := r.Parsed; q != nil {
		v.ownTitle = strings.Clone(q.Title)
		read := tags{
			part: q.Part, version: q.Version, resolution: q.Resolution, source: q.Source, video: q.Video, audio: q.Audio,
			group: q.Group, edition: q.Edition, crc: q.Checksum,
		}
		if q.Absolute {
			read.absolute = absolute(q.Episodes)
		}
		v.tags = n.cleanTags(read)
	}
	v.work = Work{Entry: Entry{Kind: r.Kind, ID: r.TMDBID}, Confidence: certainty(r)}
	v.work.Episodes = slices.Clone(r.Episodes)
	if r.Season != nil {
		v.work.Season = *r.Season
	}
	v.titles = episodeTitle(r.EpisodeTitles, len(r.Episodes))
}

func (n *namer) cleanFacts(f facts) *facts {
	f.title, f.original, f.ids.IMDB = n.text(f.title), n.text(f.original), n.text(f.ids.IMDB)
	if year := " (" + number(f.year) + ")"; f.year > 0 { // some TMDB titles end with the year, which templates add too
		f.title, f.original = strings.TrimSuffix(f.title, year), strings.TrimSuffix(f.original, year)
	}
	return &f
}

func (n *namer) cleanTags(t tags) *tags {
	for _, text := range []*string{&t.edition, &t.resolution, &t.source, &t.video, &t.audio, &t.group, &t.crc} {
		*text = n.text(*text)
	}
	return &t
}

func certainty(r *report.Record) float64 {
	c := 1.0
	for _, estimate := range []*float64{r.Confidence, r.EpisodeConfidence} {
		if estimate != nil {
			c = min(c, *estimate)
		}
	}
	return c
}

func (o *Options) judge(r *report.Record) (Code, lang.Text) {
	switch r.Status {
	case report.Matched:
	case report.Ambiguous:
		return Ambiguous, lang.Text(contenders(r))
	case report.Unmatched:
		return Unmatched, ""
	case report.Pending:
		return Pending, r.Reason
	case report.Skipped:
		switch r.Reason {
		case library.SkipIrregular:
			return NotRegular, "" // the code says it
		case library.SkipBrokenLink:
			return NotRegular, r.Reason
		}
		return Extra, r.Reason
	case report.Failed:
		return Unreadable, r.Reason
	}
	switch {
	case r.TMDBID <= 0 || r.Kind != "tv" && r.Kind != "movie":
		return Unmatched, "the record names no entry"
	case r.Kind == "tv" && (r.Season == nil || len(r.Episodes) == 0):
		return NoEpisode, r.Reason
	case certainty(r) < o.MinConfidence && r.Source != "pin":
		return LowConfidence, lang.Text(percent(certainty(r)) + " " + Entry{r.Kind, r.TMDBID}.String())
	case r.Kind == "tv" && !o.Layout.gaps && !contiguous(r.Episodes):
		return NotContiguous, lang.Text(numbers(r.Episodes))
	}
	return "", ""
}

func percent(x float64) string { return strconv.Itoa(int(x*100)) + " %" }

func contenders(r *report.Record) string {
	var out []string
	for _, c := range r.Candidates[:min(2, len(r.Candidates))] {
		out = append(out, Entry{c.Kind, c.TMDBID}.String()+" "+percent(c.Confidence))
	}
	return strings.Join(out, ", ")
}

func contiguous(episodes []int) bool {
	for i := 1; i < len(episodes); i++ {
		if episodes[i] != episodes[i-1]+1 {
			return false
		}
	}
	return true
}

func numbers(list []int) string {
	var out []string
	for _, n := range list {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}

func (v *video) skip(code Code, why lang.Text) { v.code, v.why = code, why }

func (p *Planner) locate(v *video) {
	at := p.origin(v.recordDir)
	if at.err != nil {
		v.skip(Unreadable, lang.TextOf(at.err))
		return
	}
	v.dir = at.dir
	v.item = v.dir.find(v.name)
	switch {
	case v.dir.err != nil:
		v.skip(Unreadable, lang.TextOf(v.dir.err))
	case v.item == nil:
		v.skip(Unreadable, "it no longer exists")
	case v.item.Type != TypeRegular:
		v.skip(NotRegular, "")
	default:
		if p.o.Before != nil {
			v.code = p.o.Before(v.item)
		}
		v.recordDir, v.name = at.recordDir, v.item.Name // lets the record's memory be freed
	}
}

func (p *Planner) origin(recordDir string) *origin {
	at, known := p.origins[recordDir]
	if !known {
		at = &origin{recordDir: strings.Clone(recordDir)}
		var real string
		if real, at.err = p.disk.Real(cmp.Or(recordDir, ".")); at.err == nil {
			at.dir = p.folders.list(real)
		}
		p.origins[at.recordDir] = at
	}
	return at
}

func (p *Planner) skipOutside() {
	sources := map[*folder]int{}
	for _, v := range p.videos {
		source, known := sources[v.dir]
		if !known {
			source = p.o.sourceOf(v.dir.path)
			sources[v.dir] = source
		}
		if v.source = source; source < 0 {
			v.skip(OutsidePath, lang.Textf("%s", v.dir.path))
		}
	}
	p.videos = dropSkipped(p.videos)
}

func (o *Options) sourceOf(dir string) int {
	best := -1
	for i := range o.Sources {
		root := o.Sources[i].Path
		if IsBelow(dir, root) && (best < 0 || len(root) > len(o.Sources[best].Path)) {
			best = i
		}
	}
	return best
}

// IsBelow reports whether a path is the folder or is inside it.
func IsBelow(name, folder string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

func below(name, folder string) string {
	rest := strings.TrimPrefix(name[len(strings.TrimSuffix(folder, "/")):], "/")
	return cmp.Or(rest, ".")
}
