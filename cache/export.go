package cache

// An export holds the whole cache as text, with one JSON object per line. Users can copy it to another machine or
// process it with other tools. An import checks each answer like an answer from the network.
//
//	{"format":"anivault-cache","version":1,"exported_at":"..."}
//	{"bucket":"responses","key":"GET ...","fetched_at":"...","expires_at":"...",
//	 "status":200,"etag":"...","body":"...","sum":"..."}
//	{"bucket":"results","key":"...","fetched_at":"...","value":"<base64>","sum":"..."}
//	{"end":true,"records":2}
//
// The sum is the SHA-256 of the fields of the line. A file without the "end" line is truncated.

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/anivault/anivault/cache/internal/store"
)

const (
	exportFormat  = "anivault-cache"
	exportVersion = 1
	exportAnswers = "responses" // the bucket of the answers
)

type exportLine struct {
	Format     string     `json:"format,omitempty"`
	Version    int        `json:"version,omitempty"`
	ExportedAt *time.Time `json:"exported_at,omitempty"`

	Bucket    string     `json:"bucket,omitempty"`
	Key       string     `json:"key,omitempty"`
	KeyBytes  []byte     `json:"key_base64,omitempty"` // for keys that are not UTF-8
	FetchedAt *time.Time `json:"fetched_at,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Status    int        `json:"status,omitempty"`
	ETag      string     `json:"etag,omitempty"`
	Body      string     `json:"body,omitempty"`
	BodyBytes []byte     `json:"body_base64,omitempty"` // for bodies that are not UTF-8
	Value     []byte     `json:"value,omitempty"`
	Sum       string     `json:"sum,omitempty"`

	End     bool `json:"end,omitempty"`
	Records int  `json:"records,omitempty"`
}

// digest returns the checksum of a record. It hashes the length of each field too, so text can't move between fields.
func (l *exportLine) digest() string {
	h := sha256.New()
	for _, field := range [...]string{
		l.Bucket, l.Key, string(l.KeyBytes), milliText(l.FetchedAt), milliText(l.ExpiresAt), strconv.Itoa(l.Status),
		l.ETag, l.Body, string(l.BodyBytes), string(l.Value),
	} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(field), field)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func milliText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

// Export writes all buckets to w and returns the number of records. It omits records older than 180 days.
func (s *Store) Export(ctx context.Context, w io.Writer) (records int, err error) {
	buf := bufio.NewWriterSize(w, 1<<16)
	records, err = s.export(ctx, newLineEncoder(buf))
	if err == nil {
		err = buf.Flush()
	}
	if err != nil {
		err = fmt.Errorf("write the export: %w", err)
	}
	return records, err
}

func (s *Store) export(ctx context.Context, enc *json.Encoder) (records int, err error) {
	now := s.opts.Now().UTC()
	if err := enc.Encode(exportLine{Format: exportFormat, Version: exportVersion, ExportedAt: &now}); err != nil {
		return 0, err
	}
	put := func(bucket, key string, fetched, expires time.Time, l exportLine) error {
		l.Bucket, l.FetchedAt, l.ExpiresAt = bucket, timeOrNil(fetched), timeOrNil(expires)
		if utf8.ValidString(key) {
			l.Key = key
		} else {
			l.KeyBytes = []byte(key)
		}
		l.Sum = l.digest()
		records++
		return enc.Encode(l)
	}
	err = s.Range(ctx, func(e *Entry) error {
		l := exportLine{Status: e.Status, ETag: e.ETag}
		if utf8.Valid(e.Body) {
			l.Body = string(e.Body)
		} else {
			l.BodyBytes = e.Body
		}
		return put(exportAnswers, e.Key, e.FetchedAt, e.ExpiresAt, l)
	})
	if err != nil {
		return records, err
	}
	buckets, err := s.disk.Buckets(ctx)
	if err != nil {
		return records, err
	}
	for _, b := range buckets {
		err := b.Range(ctx, func(it Item) error {
			return put(b.Name(), it.Key, it.FetchedAt, it.ExpiresAt, exportLine{Value: it.Value})
		})
		if err != nil {
			return records, err
		}
	}
	return records, enc.Encode(exportLine{End: true, Records: records})
}

func newLineEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// ErrImport reports a stream that is not a complete export.
var ErrImport = errors.New("not a complete cache export")

const (
	maxLineBytes       = 16 << 20 // maximum bytes of a line, because each line is held in memory
	importBatchRecords = 128
	importBatchBytes   = 4 << 20
)

// ImportResult counts the records of an import.
type ImportResult struct {
	Imported int
	Older    int // skipped because the stored record is as new or newer
	Expired  int // skipped because they are older than 180 days
	Refused  int // skipped because valid rejected them
}

// Import reads an export from r as a stream, and stores the records that are newer than the stored ones. At the first
// malformed line it stops, but keeps the records before it. The error then contains the line number and wraps
// ErrImport. Import skips answers that valid rejects (see [Transport].Valid).
func (s *Store) Import(
	ctx context.Context, r io.Reader, valid func(*http.Request, *http.Response, []byte) error,
) (ImportResult, error) {
	in := importer{store: s, valid: valid, pending: map[*Bucket][]Item{}}
	in.buckets = map[string]*Bucket{exportAnswers: s.answers}
	line := 0
	err := forEachLine(r, func(text []byte) error {
		line++
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		l, err := in.decode(line, text)
		if err != nil {
			return fmt.Errorf("line %d: %w: %w", line, ErrImport, err)
		}
		return in.addLine(ctx, l)
	})
	switch {
	case err != nil || in.ended:
	case line == 0:
		err = fmt.Errorf("%w: it is empty", ErrImport)
	default:
		err = fmt.Errorf("%w: it was cut off after line %d", ErrImport, line)
	}
	if err = cmp.Or(err, in.flush(context.WithoutCancel(ctx))); err != nil {
		return in.result, fmt.Errorf("import: %w", err)
	}
	return in.result, nil
}

type importer struct {
	store        *Store
	valid        func(*http.Request, *http.Response, []byte) error // may be nil
	result       ImportResult
	pending      map[*Bucket][]Item
	pendingCount int
	pendingBytes int // bytes of the pending values
	buckets      map[string]*Bucket
	records      int
	ended        bool
}

func (in *importer) decode(line int, text []byte) (exportLine, error) {
	var l exportLine
	if err := json.Unmarshal(text, &l); err != nil {
		return l, err
	}
	switch {
	case in.ended:
		return l, errors.New("there is more after the last line")
	case line == 1:
		if l.Format != exportFormat {
			return l, errors.New("the first line does not say what it is")
		}
		if l.Version != exportVersion {
			return l, fmt.Errorf("version %d is not known here", l.Version)
		}
		return l, nil
	case l.End:
		if l.Records != in.records {
			return l, fmt.Errorf("%d records instead of %d", in.records, l.Records)
		}
		in.ended = true
		return l, nil
	}
	in.records++
	return l, in.check(&l)
}

func (in *importer) check(l *exportLine) (err error) {
	if l.Sum != l.digest() {
		return errors.New("checksum does not match")
	}
	if l.FetchedAt == nil {
		return errors.New("fetched_at is missing")
	}
	if l.KeyBytes != nil {
		l.Key = string(l.KeyBytes)
	}
	if l.Key == "" || len(l.Key) > store.MaxKey {
		return errors.New("key is empty or too long")
	}
	if in.buckets[l.Bucket] == nil {
		if in.buckets[l.Bucket], err = in.store.Bucket(l.Bucket); err != nil {
			return fmt.Errorf("bucket %q can't be used", l.Bucket)
		}
	}
	if l.Bucket != exportAnswers {
		return nil
	}
	if l.BodyBytes != nil {
		l.Body = string(l.BodyBytes)
	}
	if key, ok := ParseKey(l.Key); !ok || key != l.Key {
		return errors.New("key is not of the right form") // it may have a secret
	}
	if l.Status != http.StatusOK && l.Status != http.StatusNotFound {
		return fmt.Errorf("status %d is never stored", l.Status)
	}
	if len(l.Body) > store.MaxValue {
		return errors.New("body is too long")
	}
	return checkBody([]byte(l.Body))
}

func (in *importer) isRejected(l *exportLine) bool {
	u, ok := keyURL(l.Key)
	if !ok || in.valid == nil {
		return !ok
	}
	req := &http.Request{Method: http.MethodGet, URL: u}
	resp := &http.Response{StatusCode: l.Status, Header: http.Header{}, Request: req}
	return in.valid(req, resp, []byte(l.Body)) != nil
}

func (in *importer) addLine(ctx context.Context, l exportLine) error {
	if l.Format != "" || l.End {
		return nil
	}
	now := in.store.opts.Now()
	if now.Sub(*l.FetchedAt) >= KeepLimit {
		in.result.Expired++
		return nil
	}
	it := Item{Key: l.Key, Value: l.Value, FetchedAt: *l.FetchedAt}
	if it.FetchedAt.After(now) {
		it.FetchedAt = now
	}
	life := KeepLimit
	if l.Bucket == exportAnswers {
		if in.isRejected(&l) {
			in.result.Refused++
			return nil
		}
		e := Entry{Key: l.Key, Status: l.Status, ETag: l.ETag, Body: []byte(l.Body)}
		it.Value = e.encode()
		life = defaultPolicy.Fresh(in.store.classOf(e.Key), e.Status, e.Body, it.FetchedAt)
	}
	if l.ExpiresAt != nil { // limit the lifetime to that of an answer from the network
		it.ExpiresAt = *l.ExpiresAt
		if most := it.FetchedAt.Add(life); it.ExpiresAt.After(most) {
			it.ExpiresAt = most
		}
	}
	b := in.buckets[l.Bucket]
	in.pending[b] = append(in.pending[b], it)
	in.pendingCount++
	in.pendingBytes += len(it.Value)
	if in.pendingCount >= importBatchRecords || in.pendingBytes >= importBatchBytes {
		return in.flush(ctx)
	}
	return nil
}

func (in *importer) flush(ctx context.Context) error {
	defer clear(in.pending)
	in.pendingCount, in.pendingBytes = 0, 0
	for bucket, items := range in.pending {
		keys := make([]string, len(items))
		for i, it := range items {
			keys[i] = it.Key
		}
		have, err := bucket.GetBatch(ctx, keys)
		if err != nil {
			return err
		}
		var wanted []Item
		for i, it := range items {
			old := have[i]
			if old.Key != "" && !old.HadFutureDate && !old.FetchedAt.Before(it.FetchedAt.Truncate(time.Millisecond)) {
				in.result.Older++
				continue
			}
			wanted = append(wanted, it)
		}
		if err := bucket.Put(ctx, wanted...); err != nil && !errors.Is(err, ErrPending) {
			return err
		}
		in.result.Imported += len(wanted)
	}
	return nil
}

// forEachLine calls fn for each line of r that is not empty. The last line may lack a newline.
func forEachLine(r io.Reader, fn func([]byte) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 1<<16), maxLineBytes)
	n := 0
	for ; sc.Scan(); n++ {
		if len(sc.Bytes()) == 0 {
			continue
		}
		if err := fn(sc.Bytes()); err != nil {
			return err
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: %w: it is longer than %d MiB", n+1, ErrImport, maxLineBytes>>20)
	} else if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}
