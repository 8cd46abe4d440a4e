package results

import (
	"time"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
)

// replayed returns a record as it will be replayed: what came from TMDB comes from the cache then.
func replayed(r report.Record, now time.Time) report.Record {
	if r.Source == networkSource {
		r.Source = cacheSource
	}
	if r.Source != "" && r.CachedAt.IsZero() {
		r.CachedAt = now
	}
	return r
}

// record is a record without its path, which the walk knows, and without what only explains.
func (c *codec) record(r *report.Record) {
	c.text((*string)(&r.Status))
	c.text(&r.Kind)
	c.int(&r.TMDBID)
	c.text(&r.Title)
	c.text(&r.OriginalTitle)
	c.int(&r.Year)
	c.text(&r.Source)
	c.time(&r.CachedAt)
	c.text(&r.Reason)
	optional(c, &c.floats, &r.Confidence, (*codec).float)
	optional(c, &c.ints, &r.Season, (*codec).int)
	list(c, &c.ints, &r.Episodes, (*codec).int)
	optional(c, &c.floats, &r.EpisodeConfidence, (*codec).float)
	list(c, &c.lists, &r.EpisodeTitles, (*codec).text)
	c.text(&r.AirDate)
	optional(c, &c.works, &r.IDs, (*codec).workIDs)
	list(c, &c.candidates, &r.Candidates, (*codec).candidate)
	optional(c, &c.blocks.parsed, &r.Parsed, (*codec).parsed)
}

func (c *codec) candidate(o *report.Candidate) {
	c.text(&o.Kind)
	c.int(&o.TMDBID)
	c.text(&o.Title)
	c.int(&o.Year)
	c.float(&o.Confidence)
}

func (c *codec) parsed(p *report.Parsed) {
	c.text(&p.Title)
	list(c, &c.lists, &p.Titles, (*codec).text)
	list(c, &c.ints, &p.Seasons, (*codec).int)
	optional(c, &c.ints, &p.Season, (*codec).int)
	list(c, &c.floats, &p.Episodes, (*codec).float)
	c.bool(&p.Absolute)
	c.int(&p.Part)
	c.text(&p.Special)
	c.text(&p.EpisodeTitle)
	c.int(&p.Year)
	optional(c, &c.blocks.ids, &p.IDs, (*codec).ids)
	c.text(&p.Group)
	c.text(&p.Resolution)
	c.int(&p.Version)
	c.text(&p.Checksum)
	c.text(&p.Kind)
	c.text(&p.Source)
	c.text(&p.Video)
	c.text(&p.Audio)
	c.text(&p.Edition)
	c.text(&p.Extension)
}

func (c *codec) ids(d *report.IDs) {
	c.int(&d.TMDB)
	c.text(&d.IMDB)
	c.int(&d.TVDB)
	c.int(&d.AniDB)
}

func (c *codec) workIDs(d *report.WorkIDs) {
	c.text(&d.IMDB)
	c.int(&d.TVDB)
	c.int(&d.AniDB)
	c.int(&d.AniList)
	c.int(&d.MAL)
}

func (c *codec) seen(s *match.Seen) {
	c.text((*string)(&s.Kind))
	c.int(&s.ID)
	c.time(&s.ReadAt)
}

// Records are the records of a folder that is replayed. Their lists lie in a few blocks of memory, which the next
// folder may have again: nothing that they point to is valid then.
type Records struct {
	List []report.Record
	codec
}

// Reset makes room for the records of some files.
func (r *Records) Reset(files int) {
	if cap(r.List) < files {
		r.List = make([]report.Record, files)
	}
	r.List = r.List[:files]
	b := &r.blocks
	b.parsed, b.ids, b.ints, b.floats = b.parsed[:0], b.ids[:0], b.ints[:0], b.floats[:0]
	b.lists, b.candidates, b.works = b.lists[:0], b.candidates[:0], b.works[:0]
}
