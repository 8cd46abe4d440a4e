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
	"github.com/anivault/anivault/internal/slicesx"
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
		i := slices.IndexFunc(d.UsedEntries, func(o match.UsedEntry) bool { return o.Kind == s.Kind && o.ID == s.ID })
		if i < 0 {
			d.UsedEntries = append(d.UsedEntries, s)
		} else if s.ReadAt.After(d.UsedEntries[i].ReadAt) {
			d.UsedEntries[i].ReadAt = s.ReadAt
		}
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
	collectFor  = 250 * time.Millisecond
)

// Recall returns the valid series stored under the keys, nil for the rest. They are valid even with an error. Without
// keys, m may be nil.
func (m *Memory) Recall(ctx context.Context, now time.Time, keys []Key) ([]*StoredSeries, error) {
	known := make([]*StoredSeries, len(keys))
	if len(keys) == 0 {
		return known, nil
	}
	texts := slicesx.Map(keys, Key.storeKey)
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
// decided by an expired answer: such a series must be decided again. Each write waits for the disk, so series decided
// within a quarter of a second of the last write are only collected. Call Flush at the end.
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
	m.mu.Lock()
	m.collected = append(m.collected, items...)
	isDue := now.Sub(m.stored) >= collectFor
	m.mu.Unlock()
	if !isDue {
		return nil
	}
	return m.Flush(ctx, now)
}

// Flush stores what Remember has collected.
func (m *Memory) Flush(ctx context.Context, now time.Time) error {
	m.mu.Lock()
	items := m.collected
	m.collected, m.stored = nil, now
	m.mu.Unlock()
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
	body := &codec{textNumbers: map[string]int{}}
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
	for _, i := range series {
		one := &records[i]
		c.record(one)
		one.Path, one.Subtitles = files[i].Path, files[i].Subtitles
		if _, ok := lifetimes[one.Status]; !ok || c.Bad() {
			return false
		}
	}
	return len(c.Remaining()) == 0
}

func forReplay(r report.Record, now time.Time) report.Record {
	if r.Source == match.FromNetwork.String() {
		r.Source = match.FromCache.String()
	}
	if r.Source != "" && r.CachedAt.IsZero() {
		r.CachedAt = now
	}
	return r
}
