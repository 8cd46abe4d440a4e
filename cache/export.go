package cache

// Export: the whole cache as text, one JSON object a line, so that it can be carried to another machine, looked at and
// put under other tools.
//
//	{"format":"anivault-cache","version":1,"exported_at":"..."}
//	{"bucket":"responses","key":"GET ...","fetched_at":"...","expires_at":"...",
//	 "status":200,"etag":"...","body":"...","sum":"..."}
//	{"bucket":"results","key":"...","fetched_at":"...","value":"<base64>","sum":"..."}
//	{"end":true,"records":2}
//
// The sum is SHA-256 over what the line says. A file without its last line was cut short.

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

const exportVersion = 1

// exportLine is any line of an export.
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

// digest is the checksum of a record's line; every field has its length before it, so that nothing can move from one to
// another.
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

// Export writes all answers and all other buckets to w, as a stream. It returns the number of records. Nothing older
// than 180 days is exported.
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
	now := s.db.now().UTC()
	if err := enc.Encode(exportLine{Format: formatName, Version: exportVersion, ExportedAt: &now}); err != nil {
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
		return put(responses, e.Key, e.FetchedAt, e.ExpiresAt, l)
	})
	if err != nil {
		return records, err
	}
	names, err := s.bucketNames(ctx)
	if err != nil {
		return records, err
	}
	for _, name := range names {
		err := s.walk(ctx, name, func(key string, r record) error {
			return put(name, key, r.fetched, r.expires, exportLine{Value: r.payload})
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
