package results

import (
	"math"
	"time"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/wire"
)

// layoutVersion is the version of the stored layout. It is part of every key, so versions can share a store.
const layoutVersion = 11

type codec struct {
	wire.Codec
	texts       []string       // texts by number, minus 1: each is stored once, and records contain its number
	textNumbers map[string]int // the number of each text; nil when reading
}

func newWriter() *codec { return &codec{textNumbers: map[string]int{}} }

func (c *codec) int(n *int) { wire.Int(&c.Codec, n) }

func (c *codec) ints(list ...*int) {
	for _, n := range list {
		c.int(n)
	}
}

func (c *codec) textList(list ...*string) {
	for _, s := range list {
		c.text(s)
	}
}

func (c *codec) count(n int) int { return c.Count(n, math.MaxInt) }

func (c *codec) float(f *float64) {
	c.Float(f)
	if c.Reading() && (math.IsNaN(*f) || math.IsInf(*f, 0)) { // neither records nor JSON can have such a number
		*f = 0
		c.Fail()
	}
}

func (c *codec) time(t *time.Time) {
	n := int64(0)
	if !t.IsZero() {
		n = t.UnixNano()
	}
	c.Int64(&n)
	if !c.Reading() {
		return
	}
	*t = time.Time{}
	if n != 0 {
		*t = time.Unix(0, n).UTC()
	}
}

func (c *codec) text(s *string) {
	n := uint64(0)
	if !c.Reading() && *s != "" {
		known := c.textNumbers[*s]
		if known == 0 {
			c.texts = append(c.texts, *s)
			known = len(c.texts)
			c.textNumbers[*s] = known
		}
		n = uint64(known)
	}
	c.Uint64(&n)
	if !c.Reading() {
		return
	}
	*s = ""
	switch {
	case n > uint64(len(c.texts)):
		c.Fail()
	case n > 0:
		*s = c.texts[n-1]
	}
}

func (c *codec) dictionary(texts []string) []string {
	lengths := make([]int, c.count(len(texts)))
	size := 0
	for i := range lengths {
		if !c.Reading() {
			lengths[i] = len(texts[i])
		}
		lengths[i] = c.count(lengths[i])
		size += lengths[i]
	}
	if !c.Reading() {
		for _, s := range texts {
			c.Raw([]byte(s))
		}
		return texts
	}
	all := string(c.Take(size)) // the texts share its memory
	texts = make([]string, len(lengths))
	for i, n := range lengths {
		if c.Bad() {
			return nil
		}
		texts[i], all = all[:n], all[n:]
	}
	return texts
}

func codeList[T any](c *codec, l *[]T, codeItem func(*codec, *T)) {
	n := c.count(len(*l))
	if c.Reading() {
		*l = nil
		if n > 0 {
			*l = make([]T, n)
		}
	}
	for i := range *l {
		codeItem(c, &(*l)[i])
	}
}

func codeOptional[T any](c *codec, p **T, codeItem func(*codec, *T)) {
	there := *p != nil
	c.Bool(&there)
	if c.Reading() {
		*p = nil
		if there {
			*p = new(T)
		}
	}
	if *p != nil {
		codeItem(c, *p)
	}
}

func forReplay(r report.Record, now time.Time) report.Record {
	if r.Source == networkSource {
		r.Source = cacheSource
	}
	if r.Source != "" && r.CachedAt.IsZero() {
		r.CachedAt = now
	}
	return r
}

func (c *codec) record(r *report.Record) {
	c.textList((*string)(&r.Status), &r.Kind, &r.Title, &r.OriginalTitle, &r.Source, (*string)(&r.Reason), &r.AirDate)
	c.ints(&r.TMDBID, &r.Year)
	c.time(&r.CachedAt)
	codeOptional(c, &r.Confidence, (*codec).float)
	codeOptional(c, &r.Season, (*codec).int)
	codeList(c, &r.Episodes, (*codec).int)
	codeOptional(c, &r.EpisodeConfidence, (*codec).float)
	codeList(c, &r.EpisodeTitles, (*codec).text)
	codeOptional(c, &r.IDs, func(c *codec, d *report.WorkIDs) {
		c.text(&d.IMDB)
		c.ints(&d.TVDB, &d.AniDB, &d.AniList, &d.MAL)
	})
	codeList(c, &r.Candidates, func(c *codec, o *report.Candidate) {
		c.textList(&o.Kind, &o.Title)
		c.ints(&o.TMDBID, &o.Year)
		c.float(&o.Confidence)
	})
	codeOptional(c, &r.Parsed, (*codec).parsed)
}

func (c *codec) parsed(p *report.Parsed) {
	c.textList(&p.Title, &p.Special, &p.EpisodeTitle, &p.Group, &p.Resolution, &p.Checksum, &p.Kind, &p.Source, &p.Video,
		&p.Audio, &p.Edition, &p.Extension)
	c.ints(&p.Part, &p.Year, &p.Version)
	c.Bool(&p.Absolute)
	codeList(c, &p.Titles, (*codec).text)
	codeList(c, &p.Seasons, (*codec).int)
	codeOptional(c, &p.Season, (*codec).int)
	codeList(c, &p.Episodes, (*codec).float)
	codeOptional(c, &p.IDs, func(c *codec, d *report.IDs) {
		c.ints(&d.TMDB, &d.TVDB, &d.AniDB)
		c.text(&d.IMDB)
	})
}

func (c *codec) usedEntry(s *match.UsedEntry) {
	c.text((*string)(&s.Kind))
	c.int(&s.ID)
	c.time(&s.ReadAt)
}
