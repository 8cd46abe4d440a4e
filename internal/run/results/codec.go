package results

import (
	"math"
	"time"

	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/wire"
)

// layoutVersion is the version of the stored layout. It is part of every key, so versions can share a store.
const layoutVersion = 14

type codec struct {
	wire.Codec
	texts       []string       // texts by number, minus 1: each is stored once, and records contain its number
	textNumbers map[string]int // the number of each text; nil when reading
	values      *values        // has a place for what the record that is read may lack
}

// values are what a record has pointers to. Those of a series are allocated together, which takes a fifth less time.
type values struct {
	confidence, episodeConfidence float64
	season                        int
	parsed                        report.Parsed
	orders                        orders.Orders
	tmdb                          orders.Place
}

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

func (c *codec) dictionary() {
	wire.List(&c.Codec, &c.texts, math.MaxInt, func(s *string) { c.Text(s, math.MaxInt) })
}

func codeList[T any](c *codec, l *[]T, codeItem func(*codec, *T)) {
	n := c.count(len(*l))
	if c.Reading() && n > 0 {
		*l = make([]T, n)
	}
	for i := range *l {
		codeItem(c, &(*l)[i])
	}
}

// codeOptional reads a value into place, or into new memory if place is nil.
func codeOptional[T any](c *codec, p **T, place *T, codeItem func(*codec, *T)) {
	there := *p != nil
	c.Bool(&there)
	if c.Reading() && there {
		if *p = place; place == nil {
			*p = new(T)
		}
	}
	if *p != nil {
		codeItem(c, *p)
	}
}

func (c *codec) record(r *report.Record) {
	c.textList((*string)(&r.Status), &r.Kind, &r.Title, &r.OriginalTitle, &r.Source, (*string)(&r.Reason), &r.AirDate)
	c.ints(&r.TMDBID, &r.Year)
	c.time(&r.CachedAt)
	codeOptional(c, &r.Confidence, &c.values.confidence, (*codec).float)
	codeOptional(c, &r.Season, &c.values.season, (*codec).int)
	codeList(c, &r.Episodes, (*codec).int)
	codeOptional(c, &r.EpisodeConfidence, &c.values.episodeConfidence, (*codec).float)
	codeList(c, &r.EpisodeTitles, (*codec).text)
	codeOptional(c, &r.IDs, nil, func(c *codec, d *report.WorkIDs) {
		c.text(&d.IMDB)
		c.ints(&d.TVDB, &d.AniDB, &d.AniList, &d.MAL)
	})
	c.orders(r)
	codeList(c, &r.Candidates, func(c *codec, o *report.Candidate) {
		c.textList(&o.Kind, &o.Title)
		c.ints(&o.TMDBID, &o.Year)
		c.float(&o.Confidence)
	})
	codeOptional(c, &r.Parsed, &c.values.parsed, (*codec).parsed)
}

// orders leaves out TMDB's place, which is the record's own.
func (c *codec) orders(r *report.Record) {
	there := r.Orders != nil
	if c.Bool(&there); !there {
		return
	}
	if c.Reading() {
		if r.Season == nil {
			c.Fail()
			return
		}
		v := c.values
		v.tmdb = orders.Place{Season: *r.Season, Episodes: r.Episodes}
		v.orders.TMDB, r.Orders = &v.tmdb, &v.orders
	}
	o := r.Orders
	codeList(c, &o.Absolute, (*codec).int)
	codeOptional(c, &o.TVDB, nil, func(c *codec, p *orders.Place) {
		c.int(&p.Season)
		codeList(c, &p.Episodes, (*codec).int)
	})
	codeOptional(c, &o.AniDB, nil, func(c *codec, p *orders.AniDBPlace) {
		c.int(&p.ID)
		c.Bool(&p.Special)
		codeList(c, &p.Episodes, (*codec).int)
	})
}

func (c *codec) parsed(p *report.Parsed) {
	c.textList(&p.Title, &p.Special, &p.EpisodeTitle, &p.Group, &p.Resolution, &p.Checksum, &p.Kind, &p.Source, &p.Video,
		&p.Audio, &p.Edition, &p.Extension)
	c.ints(&p.Part, &p.Year, &p.Version)
	c.Bool(&p.Absolute)
	codeList(c, &p.Titles, (*codec).text)
	codeList(c, &p.Seasons, (*codec).int)
	codeOptional(c, &p.Season, nil, (*codec).int)
	codeList(c, &p.Episodes, (*codec).float)
	codeOptional(c, &p.IDs, nil, func(c *codec, d *report.IDs) {
		c.ints(&d.TMDB, &d.TVDB, &d.AniDB)
		c.text(&d.IMDB)
	})
}
