package results

import (
	"bytes"
	"math"
	"time"

	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/wire"
)

// layoutVersion is the version of the stored layout. It is part of every key, so versions can share a store.
const layoutVersion = 16

// codec reads into values that are zero.
type codec struct {
	wire.Codec
	texts       []string       // texts by number, minus 1: each is stored once, and records contain its number
	textNumbers map[string]int // the number of each text; nil when reading
	lastShared  []byte         // what was written by writeShared last
	last        *report.Record // the record that was read last
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
	if c.Int64(&n); c.Reading() && n != 0 {
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
	switch {
	case !c.Reading():
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
	wire.List(&c.Codec, l, math.MaxInt, func(item *T) { codeItem(c, item) })
}

func codeOptional[T any](c *codec, p **T, codeItem func(*codec, *T)) {
	there := *p != nil
	c.Bool(&there)
	if c.Reading() && there {
		*p = new(T)
	}
	if *p != nil {
		codeItem(c, *p)
	}
}

func (c *codec) record(r *report.Record) {
	if c.Reading() {
		c.readShared(r)
	} else {
		c.writeShared(r)
	}
	c.text((*string)(&r.Reason)) // it often names the episode
	codeList(c, &r.Episodes, (*codec).int)
	codeList(c, &r.EpisodeTitles, (*codec).text)
	c.text(&r.AirDate)
	c.orders(r)
	if r.Parsed != nil {
		codeList(c, &r.Parsed.Episodes, (*codec).float)
		c.textList(&r.Parsed.EpisodeTitle, &r.Parsed.Checksum)
	}
}

// writeShared writes what the records of a series mostly have in common, unless the record before it had the same.
func (c *codec) writeShared(r *report.Record) {
	w := codec{texts: c.texts, textNumbers: c.textNumbers}
	w.shared(r)
	c.texts = w.texts
	same := bytes.Equal(w.Bytes(), c.lastShared)
	if c.Bool(&same); !same {
		c.Raw(w.Bytes())
		c.lastShared = w.Bytes()
	}
}

func (c *codec) readShared(r *report.Record) {
	same := false
	switch c.Bool(&same); {
	case !same:
		c.shared(r)
	case c.last == nil:
		c.Fail()
	default:
		*r = *c.last
		r.Reason, r.Episodes, r.EpisodeTitles, r.AirDate, r.Orders = "", nil, nil, "", nil
		if r.Parsed != nil {
			r.Parsed = new(*r.Parsed)
			r.Parsed.Episodes, r.Parsed.EpisodeTitle, r.Parsed.Checksum = nil, "", ""
		}
	}
	c.last = r
}

func (c *codec) shared(r *report.Record) {
	c.textList((*string)(&r.Status), &r.Kind, &r.Title, &r.OriginalTitle, &r.Source)
	c.ints(&r.TMDBID, &r.Year)
	c.time(&r.CachedAt)
	codeOptional(c, &r.Confidence, (*codec).float)
	codeOptional(c, &r.Season, (*codec).int)
	codeOptional(c, &r.EpisodeConfidence, (*codec).float)
	codeOptional(c, &r.IDs, func(c *codec, d *report.WorkIDs) {
		c.text(&d.IMDB)
		c.ints(&d.TVDB, &d.AniDB, &d.AniList, &d.MAL)
	})
	codeList(c, &r.Candidates, func(c *codec, o *report.Candidate) {
		c.textList(&o.Kind, &o.Title)
		c.ints(&o.TMDBID, &o.Year)
		c.float(&o.Confidence)
	})
	codeOptional(c, &r.Parsed, (*codec).sharedParsed)
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
		r.Orders = &orders.Orders{TMDB: &orders.Place{Season: *r.Season, Episodes: r.Episodes}}
	}
	o := r.Orders
	codeList(c, &o.Absolute, (*codec).int)
	codeOptional(c, &o.TVDB, func(c *codec, p *orders.Place) {
		c.int(&p.Season)
		codeList(c, &p.Episodes, (*codec).int)
	})
	codeOptional(c, &o.AniDB, func(c *codec, p *orders.AniDBPlace) {
		c.int(&p.ID)
		c.Bool(&p.Special)
		codeList(c, &p.Episodes, (*codec).int)
	})
}

func (c *codec) sharedParsed(p *report.Parsed) {
	c.textList(&p.Title, &p.Special, &p.Group, &p.Resolution, &p.Kind, &p.Source, &p.Video, &p.Audio, &p.Edition,
		&p.Extension)
	c.ints(&p.Part, &p.Year, &p.Version)
	c.Bool(&p.Absolute)
	codeList(c, &p.Titles, (*codec).text)
	codeList(c, &p.Seasons, (*codec).int)
	codeOptional(c, &p.Season, (*codec).int)
	codeOptional(c, &p.IDs, func(c *codec, d *report.IDs) {
		c.ints(&d.TMDB, &d.TVDB, &d.AniDB)
		c.text(&d.IMDB)
	})
}
