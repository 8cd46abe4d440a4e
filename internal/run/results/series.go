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
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/wire"
)

// version is that of the stored layout. It is a part of every key, so programs with different ones share a store.
const version = 10

// codec is a wire.Codec for which a text is a number: it counts the texts in the order in which they first came.
type codec struct {
	wire.Codec
	texts []string
	refs  map[string]int // the number of each text; nil: reading
}

func writer() *codec { return &codec{refs: map[string]int{}} }

func (c *codec) int(n *int) { wire.Int(&c.Codec, n) }

func (c *codec) count(n int) int { return c.Count(n, math.MaxInt) }

func (c *codec) bool(v *bool) { c.Bool(v) }

func (c *codec) float(f *float64) {
	c.Float(f)
	if c.Reading() && (math.IsNaN(*f) || math.IsInf(*f, 0)) { // no record has such a number, and JSON neither
		*f = 0
		c.Fail()
	}
}

// time keeps nanoseconds; the zero time is 0, at which nothing was ever decided.
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
		known := c.refs[*s]
		if known == 0 {
			c.texts = append(c.texts, *s)
			known = len(c.texts)
			c.refs[*s] = known
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

// dictionary is the texts that the numbers stand for: their lengths, then all of them in one.
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
	all := string(c.Take(size))
	texts = make([]string, len(lengths))
	for i, n := range lengths {
		if c.Bad() {
			return nil
		}
		texts[i], all = all[:n], all[n:]
	}
	return texts
}

func list[T any](c *codec, l *[]T, one func(*codec, *T)) {
	n := c.count(len(*l))
	if c.Reading() {
		if *l = nil; n == 0 {
			return
		}
		*l = make([]T, n)
	}
	for i := range *l {
		one(c, &(*l)[i])
	}
}

func optional[T any](c *codec, p **T, one func(*codec, *T)) {
	there := *p != nil
	c.bool(&there)
	if c.Reading() {
		*p = nil
		if there {
			*p = new(T)
		}
	}
	if *p != nil {
		one(c, *p)
	}
}

// replayed returns a record as it will be replayed: an answer of TMDB's is the cache's by then.
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
	c.text((*string)(&r.Reason))
	optional(c, &r.Confidence, (*codec).float)
	optional(c, &r.Season, (*codec).int)
	list(c, &r.Episodes, (*codec).int)
	optional(c, &r.EpisodeConfidence, (*codec).float)
	list(c, &r.EpisodeTitles, (*codec).text)
	c.text(&r.AirDate)
	optional(c, &r.IDs, (*codec).workIDs)
	list(c, &r.Candidates, (*codec).candidate)
	optional(c, &r.Parsed, (*codec).parsed)
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
	list(c, &p.Titles, (*codec).text)
	list(c, &p.Seasons, (*codec).int)
	optional(c, &p.Season, (*codec).int)
	list(c, &p.Episodes, (*codec).float)
	c.bool(&p.Absolute)
	c.int(&p.Part)
	c.text(&p.Special)
	c.text(&p.EpisodeTitle)
	c.int(&p.Year)
	optional(c, &p.IDs, (*codec).ids)
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

// Decided is a series that was decided just now: one record per file, and the answers and entries that the decisions
// stand on.
type Decided struct {
	Key     Key
	Records []report.Record
	Origin  match.Origin
	Seen    []match.Seen
}

// StandOn adds what the decision of a file stands on.
func (d *Decided) StandOn(x match.Decision) {
	d.Origin = d.Origin.With(x.Origin)
	for _, s := range x.Seen {
		d.see(s)
	}
}

func (d *Decided) see(s match.Seen) {
	i := slices.IndexFunc(d.Seen, func(o match.Seen) bool { return o.Kind == s.Kind && o.ID == s.ID })
	if i < 0 {
		d.Seen = append(d.Seen, s)
		return
	}
	if s.ReadAt.After(d.Seen[i].ReadAt) {
		d.Seen[i].ReadAt = s.ReadAt
	}
}

// Known is what is remembered of a series.
type Known struct {
	at, until time.Time
	seen      []match.Seen
	texts     []string
	count     int    // of records
	records   []byte // still encoded
}

// lifetimes is how long a decision of each status holds at most, after the oldest answer it stands on: the shortest
// time for which the cache's policy calls such answers fresh. A status that is not here is never remembered.
var lifetimes = map[report.Status]time.Duration{
	report.Matched:   longest,
	report.Ambiguous: longest,
	report.Unmatched: 8 * time.Hour,
	report.Skipped:   longest, // an extra by its name: nobody was asked
}

const (
	longest = 24 * time.Hour
	// clockSlack is how far ahead of us the clock of a process that remembered may have been.
	clockSlack = time.Minute
)

// The sources of a record, as match spells them.
var (
	networkSource = match.FromNetwork.String()
	cacheSource   = match.FromCache.String()
)

// Recall returns what is remembered under each key and still holds, nil for nothing. With an error the results are
// usable all the same.
func (m *Memory) Recall(ctx context.Context, now time.Time, keys []Key) ([]*Known, error) {
	known := make([]*Known, len(keys))
	if len(keys) == 0 {
		return known, nil
	}
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = k.text()
	}
	items, err := m.store.GetBatch(ctx, texts)
	for i, item := range items {
		if i < len(keys) && item.Key == texts[i] {
			known[i] = decode(item.Value, now)
		}
	}
	err = errors.Join(err, m.dropOutdated(ctx, known))
	if err != nil {
		return known, lang.Error("recall results: %w", err)
	}
	return known, nil
}

// dropOutdated forgets decisions on entries about which the cache has newer answers. Where that can't be told, none
// holds.
func (m *Memory) dropOutdated(ctx context.Context, known []*Known) error {
	var entries []Entry
	at := map[Entry]int{}
	for _, k := range known {
		if k == nil {
			continue
		}
		for _, s := range k.seen {
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
	newest, err := m.newest(ctx, entries)
	for i, k := range known {
		if k == nil {
			continue
		}
		for _, s := range k.seen {
			if err != nil || newest[at[Entry{s.Kind, s.ID}]].After(s.ReadAt) {
				known[i] = nil
			}
		}
	}
	return err
}

// Remember keeps what was decided of a folder's series, and which series the folder has; nothing of a folder for names
// without one. It leaves out series with a file that must be asked again: one that is pending, has failed, or stands on
// an expired answer. A record that stood on TMDB's own answer stands on the cache from now on; steps and scores are not
// remembered.
func (m *Memory) Remember(ctx context.Context, now time.Time, f *Folder, l *List, decided []Decided) error {
	items := make([]cache.Item, 0, len(decided)+1)
	for i := range decided {
		d := &decided[i]
		if until, fetched, ok := d.term(now); ok {
			items = append(items, cache.Item{
				Key: d.Key.text(), Value: encode(d, now, until), FetchedAt: fetched,
				ExpiresAt: until,
			})
		}
	}
	if f.Abs != "" {
		items = append(items, m.item(f, l, now))
	}
	if len(items) == 0 {
		return nil
	}
	// What is only in memory yet, and lost by a kill, is decided again.
	if err := m.store.Put(ctx, items...); err != nil && !errors.Is(err, cache.ErrPending) {
		return lang.Error("remember results: %w", err)
	}
	return nil
}

// term returns until when a series holds that was decided now, and when its oldest answer was fetched. ok is false for
// a series that is not to be remembered.
func (d *Decided) term(now time.Time) (until, oldest time.Time, ok bool) {
	oldest = now
	if at := d.Origin.FetchedAt; !at.IsZero() && at.Before(now) {
		oldest = at
	}
	lifetime := longest
	for i := range d.Records {
		l, known := lifetimes[d.Records[i].Status]
		if !known || d.Records[i].Error != nil {
			return until, oldest, false
		}
		lifetime = min(lifetime, l)
	}
	until = oldest.Add(lifetime)
	return until, oldest, d.Origin.From != match.FromStale && until.After(now)
}

func (c *codec) header(k *Known) {
	c.time(&k.at)
	c.time(&k.until)
	list(c, &k.seen, (*codec).seen)
}

// encode returns a series as it is stored: every text once, until when it holds, its entries, its records.
func encode(d *Decided, now, until time.Time) []byte {
	body := writer()
	body.header(&Known{at: now, until: until, seen: d.Seen})
	body.count(len(d.Records))
	for i := range d.Records {
		r := replayed(d.Records[i], now)
		body.record(&r)
	}
	w := writer()
	w.dictionary(body.texts)
	return append(w.Bytes(), body.Bytes()...)
}

// decode returns nil for what is damaged or holds no longer. What is from the future is not believed: the clock went
// back, and nothing tells how far.
func decode(b []byte, now time.Time) *Known {
	c := codec{Codec: wire.Reader(b)}
	c.texts = c.dictionary(nil)
	k := &Known{texts: c.texts}
	c.header(k)
	k.count = c.count(0)
	k.records = c.Left()
	if c.Bad() || !now.Before(k.until) || now.Before(k.at.Add(-clockSlack)) {
		return nil
	}
	return k
}

// Into reads the records into list, one for each of some files: indices into files and into list. It returns false for
// what is damaged.
func (k *Known) Into(list []report.Record, files []library.File, series []int) bool {
	if k.count != len(series) {
		return false
	}
	c := codec{Codec: wire.Reader(k.records), texts: k.texts}
	for _, i := range series {
		one := &list[i]
		*one = report.Record{Path: files[i].Path, Subtitles: files[i].Subtitles}
		c.record(one)
		if _, ok := lifetimes[one.Status]; !ok || c.Bad() {
			return false
		}
	}
	return len(c.Left()) == 0
}
