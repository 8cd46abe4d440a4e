package cache

// Import: the other half of export.go. What it reads comes from outside and gets the same checks as an answer from the
// network.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ErrImport says that a stream is not an export, or not a whole one.
var ErrImport = errors.New("not a complete cache export")

const (
	maxLine     = 16 << 20 // one record is held in memory
	importBatch = 128
	importBytes = 4 << 20
)

// ImportResult says what an import did.
type ImportResult struct {
	Imported int
	Older    int // left out: the cache has something as new, or newer
	Expired  int // left out: past the 180 days
	Refused  int // left out: valid did not take them
}

// Import reads an export from r, as a stream, and stores what is newer than what is there. The first line that is wrong
// ends it, with an error that names the line and wraps ErrImport; what came before stays. valid is [Transport].Valid:
// an answer that it refuses is left out.
func (s *Store) Import(
	ctx context.Context, r io.Reader, valid func(*http.Request, *http.Response, []byte) error,
) (ImportResult, error) {
	in := importer{store: s, valid: valid}
	line := 0
	err := eachLine(r, func(text []byte) error {
		line++
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		l, err := in.decode(line, text)
		if err != nil {
			return fmt.Errorf("line %d: %w: %w", line, ErrImport, err)
		}
		return in.take(ctx, l)
	})
	switch {
	case err != nil || in.ended:
	case line == 0:
		err = fmt.Errorf("%w: it is empty", ErrImport)
	default:
		err = fmt.Errorf("%w: it was cut off after line %d", ErrImport, line)
	}
	if e := in.flush(context.WithoutCancel(ctx)); err == nil {
		err = e
	}
	if err != nil {
		return in.res, fmt.Errorf("import: %w", err)
	}
	return in.res, nil
}

// importer gathers records and writes them in batches.
type importer struct {
	store   *Store
	valid   func(*http.Request, *http.Response, []byte) error // may be nil
	res     ImportResult
	pending []write
	size    int
	records int
	ended   bool
}

// decode reads and checks one line.
func (in *importer) decode(line int, text []byte) (exportLine, error) {
	var l exportLine
	if err := json.Unmarshal(text, &l); err != nil {
		return l, err
	}
	switch {
	case in.ended:
		return l, errors.New("there is more after the last line")
	case line == 1:
		if l.Format != formatName {
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
	if err := checkLine(&l); err != nil {
		return l, err
	}
	return l, nil
}

// checkLine checks a record's line.
func checkLine(l *exportLine) error {
	if l.Sum != l.digest() {
		return errors.New("checksum does not match")
	}
	if l.FetchedAt == nil {
		return errors.New("fetched_at is missing")
	}
	if l.KeyBytes != nil {
		l.Key = string(l.KeyBytes)
	}
	if l.Key == "" || len(l.Key) > maxKey {
		return errors.New("key is empty or too long")
	}
	if l.Bucket != responses {
		if l.Bucket == metaBucket || !bucketName.MatchString(l.Bucket) {
			return fmt.Errorf("bucket %q can't be used", l.Bucket)
		}
		return nil
	}
	if l.BodyBytes != nil {
		l.Body = string(l.BodyBytes)
	}
	if key, ok := ParseKey(l.Key); !ok || key != l.Key {
		return fmt.Errorf("key %.80q is not of the right form", redact(l.Key))
	}
	if l.Status != http.StatusOK && l.Status != http.StatusNotFound {
		return fmt.Errorf("status %d is never stored", l.Status)
	}
	if len(l.Body) > maxBody {
		return errors.New("body is too long")
	}
	return checkBody([]byte(l.Body))
}

// refuses reports whether the client does not take an answer.
func (in *importer) refuses(l *exportLine) bool {
	u, ok := keyURL(l.Key)
	if !ok || in.valid == nil {
		return !ok
	}
	req := &http.Request{Method: http.MethodGet, URL: u}
	resp := &http.Response{StatusCode: l.Status, Header: http.Header{}, Request: req}
	return in.valid(req, resp, []byte(l.Body)) != nil
}

// redact drops what could be a secret from a key that is not of our making.
func redact(key string) string {
	if k, ok := ParseKey(key); ok {
		return k
	}
	return "(not a URL)"
}

func (in *importer) take(ctx context.Context, l exportLine) error {
	if l.Format != "" || l.End {
		return nil
	}
	if in.store.db.now().Sub(*l.FetchedAt) >= KeepLimit {
		in.res.Expired++
		return nil
	}
	if l.Bucket == responses && in.refuses(&l) {
		in.res.Refused++
		return nil
	}
	rec := record{fetched: *l.FetchedAt, payload: l.Value}
	if now := in.store.db.now(); rec.fetched.After(now) {
		rec.fetched = now
	}
	life := KeepLimit
	if l.Bucket == responses {
		e := Entry{Key: l.Key, Status: l.Status, ETag: l.ETag, Body: []byte(l.Body)}
		rec.payload = e.payload()
		life = defaultPolicy.Fresh(in.store.classOf(e.Key), e.Status, e.Body, rec.fetched)
	}
	if l.ExpiresAt != nil { // never longer than an answer of the network would be fresh
		rec.expires = *l.ExpiresAt
		if most := rec.fetched.Add(life); rec.expires.After(most) {
			rec.expires = most
		}
	}
	in.pending = append(in.pending, write{bucket: l.Bucket, key: l.Key, rec: rec})
	in.size += len(rec.payload)
	if len(in.pending) >= importBatch || in.size >= importBytes {
		return in.flush(ctx)
	}
	return nil
}

// flush writes what is newer than what is there.
func (in *importer) flush(ctx context.Context) error {
	byBucket := map[string][]write{}
	for _, w := range in.pending {
		byBucket[w.bucket] = append(byBucket[w.bucket], w)
	}
	in.pending, in.size = nil, 0
	for bucket, ws := range byBucket {
		keys := make([]string, len(ws))
		for i, w := range ws {
			keys[i] = w.key
		}
		have, err := in.store.lookup(ctx, bucket, keys)
		if err != nil {
			return err
		}
		var wanted []write
		for i, w := range ws {
			old := have[i]
			if old.found && !old.ahead && !old.fetched.Before(w.rec.fetched.Truncate(time.Millisecond)) {
				in.res.Older++
				continue
			}
			wanted = append(wanted, w)
		}
		if err := in.store.put(wanted...); err != nil {
			return err
		}
		in.res.Imported += len(wanted)
	}
	return nil
}

// eachLine calls fn for each line of r; the last one may lack its newline.
func eachLine(r io.Reader, fn func([]byte) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 1<<16), maxLine)
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
		return fmt.Errorf("line %d: %w: it is longer than %d MiB", n+1, ErrImport, maxLine>>20)
	} else if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}
