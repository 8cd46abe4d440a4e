package results

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/wire"
)

// DecidedSeries is a series that was just decided: a record per file, and the answers of TMDB that were used.
type DecidedSeries struct {
	Key         Key
	Records     []report.Record
	Origin      match.Origin
	UsedEntries []match.UsedEntry
}

// AddSources adds the answers that one file's decision used.
func (d *DecidedSeries) AddSources(x match.Decision) {
	d.Origin = d.Origin.CombinedWith(x.Origin)
	for _, s := range x.UsedEntries {
		d.addUsedEntry(s)
	}
}

func (d *DecidedSeries) addUsedEntry(s match.UsedEntry) {
	i := slices.IndexFunc(d.UsedEntries, func(o match.UsedEntry) bool { return o.Kind == s.Kind && o.ID == s.ID })
	if i < 0 {
		d.UsedEntries = append(d.UsedEntries, s)
		return
	}
	if s.ReadAt.After(d.UsedEntries[i].ReadAt) {
		d.UsedEntries[i].ReadAt = s.ReadAt
	}
}

// StoredSeries is what the store has about a series.
type StoredSeries struct {
	storedAt, validUntil time.Time
	usedEntries          []match.UsedEntry
	texts                []string
	recordCount          int    // number of records
	records              []byte // encoded
}

// lifetimes are how long decisions stay valid after their oldest answer. Those with other statuses are never stored.
var lifetimes = map[report.Status]time.Duration{
	report.Matched:   maxLifetime,
	report.Ambiguous: maxLifetime,
	report.Unmatched: 8 * time.Hour,
	report.Skipped:   maxLifetime, // skipped because of its name, without asking TMDB
}

const (
	maxLifetime = 24 * time.Hour
	clockSlack  = time.Minute
)

var (
	networkSource = match.FromNetwork.String()
	cacheSource   = match.FromCache.String()
)

// Recall returns the valid series stored under the keys, nil for the rest. They are valid even with an error.
func (m *Memory) Recall(ctx context.Context, now time.Time, keys []Key) ([]*StoredSeries, error) {
	known := make([]*StoredSeries, len(keys))
	if len(keys) == 0 {
		return known, nil
	}
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = k.storeKey()
	}
	items, err := m.store.GetBatch(ctx, texts)
	for i, item := range items {
		if i < len(keys) && item.Key == texts[i] {
			known[i] = decodeSeries(item.Value, now)
		}
	}
	err = errors.Join(err, m.dropOutdated(ctx, known))
	if err != nil {
		return known, lang.Error("recall results: %w", err)
	}
	return known, nil
}

func (m *Memory) dropOutdated(ctx context.Context, known []*StoredSeries) error {
	var entries []Entry
	at := map[Entry]int{}
	for _, k := range known {
		if k == nil {
			continue
		}
		for _, s := range k.usedEntries {
			e := Entry{s.Kind, s.ID}
			if _, ok := at[e]; !ok {
				at[e] = len(entries)
				entries = append(entries, e)
			}
		}
	}
	if len(entries) == 0 {
		return nil
	}
	newest, err := m.newestAnswers(ctx, entries)
	for i, k := range known {
		if k == nil {
			continue
		}
		for _, s := range k.usedEntries {
			if err != nil || newest[at[Entry{s.Kind, s.ID}]].After(s.ReadAt) {
				known[i] = nil
			}
		}
	}
	return err
}

// Remember stores the decided series of a folder. It skips a series if a file in it is pending, has failed, or was
// decided by an expired answer: such a series must be decided again.
func (m *Memory) Remember(ctx context.Context, now time.Time, f *Folder, l *SeriesList, decided []DecidedSeries) error {
	items := make([]cache.Item, 0, len(decided)+1)
	for i := range decided {
		d := &decided[i]
		if until, fetched, ok := d.validity(now); ok {
			items = append(items, cache.Item{
				Key: d.Key.storeKey(), Value: encodeSeries(d, now, until), FetchedAt: fetched,
				ExpiresAt: until,
			})
		}
	}
	if f.AbsDir != "" {
		items = append(items, m.folderItem(f, l, now))
	}
	if len(items) == 0 {
		return nil
	}
	// ErrPending: the items are not on disk yet. If the process is killed, they are decided again.
	if err := m.store.Put(ctx, items...); err != nil && !errors.Is(err, cache.ErrPending) {
		return lang.Error("remember results: %w", err)
	}
	return nil
}

func (d *DecidedSeries) validity(now time.Time) (until, oldest time.Time, ok bool) {
	oldest = now
	if at := d.Origin.FetchedAt; !at.IsZero() && at.Before(now) {
		oldest = at
	}
	lifetime := maxLifetime
	for i := range d.Records {
		l, known := lifetimes[d.Records[i].Status]
		if !known || d.Records[i].Error != nil {
			return until, oldest, false
		}
		lifetime = min(lifetime, l)
	}
	until = oldest.Add(lifetime)
	return until, oldest, d.Origin.Freshness != match.FromStale && until.After(now)
}

func (c *codec) header(k *StoredSeries) {
	c.time(&k.storedAt)
	c.time(&k.validUntil)
	codeList(c, &k.usedEntries, func(c *codec, s *match.UsedEntry) {
		c.text((*string)(&s.Kind))
		c.int(&s.ID)
		c.time(&s.ReadAt)
	})
}

func encodeSeries(d *DecidedSeries, now, until time.Time) []byte {
	body := newWriter()
	body.header(&StoredSeries{storedAt: now, validUntil: until, usedEntries: d.UsedEntries})
	body.count(len(d.Records))
	for i := range d.Records {
		r := forReplay(d.Records[i], now)
		body.record(&r)
	}
	w := codec{texts: body.texts}
	w.dictionary()
	return append(w.Bytes(), body.Bytes()...)
}

// decodeSeries returns nil for data that is damaged, expired, or from the future because the clock was set back.
func decodeSeries(b []byte, now time.Time) *StoredSeries {
	c := codec{Codec: wire.Reader(b)}
	c.dictionary()
	k := &StoredSeries{texts: c.texts}
	c.header(k)
	k.recordCount = c.count(0)
	k.records = c.Remaining()
	if c.Bad() || !now.Before(k.validUntil) || now.Before(k.storedAt.Add(-clockSlack)) {
		return nil
	}
	return k
}

// ReadRecords reads the records of the series' files into records, which has an empty one for each of files. It returns
// false if they are damaged.
func (k *StoredSeries) ReadRecords(records []report.Record, files []library.File, series []int) bool {
	if k.recordCount != len(series) {
		return false
	}
	c := codec{Codec: wire.Reader(k.records), texts: k.texts}
	together := make([]values, len(series))
	for n, i := range series {
		one := &records[i]
		c.values = &together[n]
		one.Path, one.Subtitles = files[i].Path, files[i].Subtitles
		c.record(one)
		if _, ok := lifetimes[one.Status]; !ok || c.Bad() {
			return false
		}
	}
	return len(c.Remaining()) == 0
}

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

func newWriter() *codec { return &codec{textNumbers: map[string]int{}, values: new(values)} }

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
