package results

import (
	"time"

	"github.com/anivault/anivault/internal/report"
)

// record writes a record as it will be replayed: without its path, which the walk knows, and without what only explains.
func (w *writer) record(r *report.Record, now time.Time) {
	source, cachedAt := r.Source, r.CachedAt
	if source == networkSource {
		source = cacheSource
	}
	if source != "" && cachedAt.IsZero() {
		cachedAt = now
	}
	w.ref(string(r.Status))
	w.ref(r.Kind)
	w.int(r.TMDBID)
	w.ref(r.Title)
	w.ref(r.OriginalTitle)
	w.int(r.Year)
	w.ref(source)
	w.time(cachedAt)
	w.ref(r.Reason)
	w.bool(r.Confidence != nil)
	if r.Confidence != nil {
		w.float(*r.Confidence)
	}
	w.optional(r.Season)
	w.ints(r.Episodes)
	w.list(r.EpisodeTitles)
	w.int(len(r.Candidates))
	for _, c := range r.Candidates {
		w.ref(c.Kind)
		w.int(c.TMDBID)
		w.ref(c.Title)
		w.int(c.Year)
		w.float(c.Confidence)
	}
	w.bool(r.Parsed != nil)
	if r.Parsed != nil {
		w.parsed(r.Parsed)
	}
}

func (w *writer) parsed(p *report.Parsed) {
	w.ref(p.Title)
	w.list(p.Titles)
	w.ints(p.Seasons)
	w.optional(p.Season)
	w.int(len(p.Episodes))
	for _, e := range p.Episodes {
		w.float(e)
	}
	w.bool(p.Absolute)
	w.int(p.Part)
	w.ref(p.Special)
	w.ref(p.EpisodeTitle)
	w.int(p.Year)
	w.bool(p.IDs != nil)
	if p.IDs != nil {
		w.int(p.IDs.TMDB)
		w.ref(p.IDs.IMDB)
		w.int(p.IDs.TVDB)
		w.int(p.IDs.AniDB)
	}
	w.ref(p.Group)
	w.ref(p.Resolution)
	w.int(p.Version)
	w.ref(p.Checksum)
	w.ref(p.Kind)
	w.ref(p.Source)
	w.ref(p.Video)
	w.ref(p.Audio)
	w.ref(p.Extension)
}

func (w *writer) optional(n *int) {
	w.bool(n != nil)
	if n != nil {
		w.int(*n)
	}
}

func (w *writer) ints(list []int) {
	w.int(len(list))
	for _, n := range list {
		w.int(n)
	}
}

func (w *writer) list(list []string) {
	w.int(len(list))
	for _, s := range list {
		w.ref(s)
	}
}

// Records are the records of a folder that is replayed. Their lists lie in a few blocks of memory, which the next
// folder may have again: nothing that they point to is valid then.
type Records struct {
	List []report.Record
	decoder
}

// Reset makes room for the records of some files.
func (r *Records) Reset(files int) {
	if cap(r.List) < files {
		r.List = make([]report.Record, files)
		r.parsed = make([]report.Parsed, 0, files)
	}
	r.List = r.List[:files]
	r.parsed, r.ints, r.floats, r.lists, r.candidates = r.parsed[:0], r.ints[:0], r.floats[:0], r.lists[:0], r.candidates[:0]
}

// decoder reads records into blocks that they share. A block that is full is left to those who hold a part of it, and
// another one begun.
type decoder struct {
	reader
	parsed     []report.Parsed
	ints       []int
	floats     []float64
	lists      []string
	candidates []report.Candidate
}

// record reads the next record; false for one that is damaged.
func (d *decoder) record(r *report.Record) bool {
	*r = report.Record{}
	r.Status = report.Status(d.ref())
	r.Kind = d.ref()
	r.TMDBID = d.int()
	r.Title = d.ref()
	r.OriginalTitle = d.ref()
	r.Year = d.int()
	r.Source = d.ref()
	r.CachedAt = d.time()
	r.Reason = d.ref()
	if d.bool() {
		d.floats = append(room(d.floats, 1), d.float())
		r.Confidence = &d.floats[len(d.floats)-1]
	}
	r.Season = d.optional()
	r.Episodes = d.intList()
	r.EpisodeTitles = d.textList()
	if n := d.count(); n > 0 {
		d.candidates = room(d.candidates, n)
		start := len(d.candidates)
		for range n {
			d.candidates = append(d.candidates, report.Candidate{Kind: d.ref(), TMDBID: d.int(), Title: d.ref(), Year: d.int(), Confidence: d.float()})
		}
		r.Candidates = d.candidates[start:len(d.candidates):len(d.candidates)]
	}
	if d.bool() {
		d.parsed = append(room(d.parsed, 1), report.Parsed{})
		r.Parsed = &d.parsed[len(d.parsed)-1]
		d.parsedInto(r.Parsed)
	}
	_, ok := lifetimes[r.Status]
	return ok && !d.bad
}

func (d *decoder) parsedInto(p *report.Parsed) {
	p.Title = d.ref()
	p.Titles = d.textList()
	p.Seasons = d.intList()
	p.Season = d.optional()
	p.Episodes = d.floatList()
	p.Absolute = d.bool()
	p.Part = d.int()
	p.Special = d.ref()
	p.EpisodeTitle = d.ref()
	p.Year = d.int()
	if d.bool() {
		p.IDs = &report.IDs{TMDB: d.int(), IMDB: d.ref(), TVDB: d.int(), AniDB: d.int()}
	}
	p.Group = d.ref()
	p.Resolution = d.ref()
	p.Version = d.int()
	p.Checksum = d.ref()
	p.Kind = d.ref()
	p.Source = d.ref()
	p.Video = d.ref()
	p.Audio = d.ref()
	p.Extension = d.ref()
}

func (d *decoder) optional() *int {
	if !d.bool() {
		return nil
	}
	d.ints = append(room(d.ints, 1), d.int())
	return &d.ints[len(d.ints)-1]
}

func (d *decoder) intList() []int {
	n := d.count()
	if n == 0 {
		return nil
	}
	d.ints = room(d.ints, n)
	start := len(d.ints)
	for range n {
		d.ints = append(d.ints, d.int())
	}
	return d.ints[start:len(d.ints):len(d.ints)]
}

func (d *decoder) floatList() []float64 {
	n := d.count()
	if n == 0 {
		return nil
	}
	d.floats = room(d.floats, n)
	start := len(d.floats)
	for range n {
		d.floats = append(d.floats, d.float())
	}
	return d.floats[start:len(d.floats):len(d.floats)]
}

func (d *decoder) textList() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	d.lists = room(d.lists, n)
	start := len(d.lists)
	for range n {
		d.lists = append(d.lists, d.ref())
	}
	return d.lists[start:len(d.lists):len(d.lists)]
}

// room is a block with room for n more: the same one, or a fresh one.
func room[T any](block []T, n int) []T {
	if cap(block)-len(block) >= n {
		return block
	}
	return make([]T, 0, max(n, 64))
}
