package results

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/wire"
)

// Decided is a series that was decided just now: one record per file, and what the decisions stand on.
type Decided struct {
	Key     Key
	Records []report.Record
	Origin  match.Origin
	Seen    []match.UsedEntry
}

// StandOn adds what the decision of a file stands on.
func (d *Decided) StandOn(x match.Decision) {
	d.Origin = d.Origin.CombinedWith(x.Origin)
	for _, s := range x.UsedEntries {
		d.see(s)
	}
}

func (d *Decided) see(s match.UsedEntry) {
	i := slices.IndexFunc(d.Seen, func(o match.UsedEntry) bool { return o.Kind == s.Kind && o.ID == s.ID })
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
	seen      []match.UsedEntry
	texts     []string
	count     int    // of records
	records   []byte // still encoded
}

// lifetimes is how long a decision holds at most, after its oldest answer. Other statuses are never remembered.
var lifetimes = map[report.Status]time.Duration{
	report.Matched:   longest,
	report.Ambiguous: longest,
	report.Unmatched: 8 * time.Hour,
	report.Skipped:   longest, // an extra by its name: nobody was asked
}

const (
	longest    = 24 * time.Hour
	clockSlack = time.Minute
)

var (
	networkSource = match.FromNetwork.String()
	cacheSource   = match.FromCache.String()
)

// Recall returns what is remembered under each key and still holds. The results are usable even with an error.
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

// Remember keeps what was decided of a folder's series. It skips series with a file that must be asked again: one that
// is pending, has failed, or stands on an expired answer.
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
	return until, oldest, d.Origin.Freshness != match.FromStale && until.After(now)
}

func (c *codec) header(k *Known) {
	c.time(&k.at)
	c.time(&k.until)
	list(c, &c.blocks.seen, &k.seen, (*codec).seen)
}

func encode(d *Decided, now, until time.Time) []byte {
	body := writer()
	body.header(&Known{at: now, until: until, seen: d.Seen})
	body.count(len(d.Records))
	for i := range d.Records {
		r := replayed(d.Records[i], now)
		body.record(&r)
	}
	w := writer()
	w.dictionary(body.words)
	return append(w.Bytes(), body.Bytes()...)
}

// decode returns nil for what is damaged or has expired. What is from the future is not believed: the clock went back.
func decode(b []byte, now time.Time) *Known {
	c := codec{Codec: wire.Reader(b)}
	c.words = c.dictionary(nil)
	k := &Known{texts: c.words}
	c.header(k)
	k.count = c.count(0)
	k.records = c.Left()
	if c.Bad() || !now.Before(k.until) || now.Before(k.at.Add(-clockSlack)) {
		return nil
	}
	return k
}

// Into reads the records of some files into r.List. It returns false for damaged ones.
func (k *Known) Into(r *RecordBuffer, files []library.File, series []int) bool {
	if k.count != len(series) {
		return false
	}
	r.words, r.Codec = k.texts, wire.Reader(k.records)
	reserve(&r.blocks.parsed, k.count) // nearly every record has it
	for _, i := range series {
		one := &r.List[i]
		*one = report.Record{Path: files[i].Path, Subtitles: files[i].Subtitles}
		r.record(one)
		if _, ok := lifetimes[one.Status]; !ok || r.Bad() {
			return false
		}
	}
	return len(r.Left()) == 0
}
