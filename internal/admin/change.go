package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// order is what somebody wants to change.
type order struct {
	values map[string]string // by key; "" ends what was changed
	lasts  string            // "for": a time, always, or "" for the usual hour
}

// Changed is a value that has changed.
type Changed struct {
	Key  string `json:"key" doc:"the setting"`
	From string `json:"from" doc:"its value before"`
	To   string `json:"to" doc:"its value now"`
}

// Answer says what has changed.
type Answer struct {
	Changed []Changed `json:"changed" doc:"values before and now"`
	For     string    `json:"for,omitempty" doc:"how long the change lasts: a time, or always"`
}

// failed is an answer that is none.
type failed struct {
	Error string `json:"error" doc:"what is wrong"`
}

// changeKind is a row of the table of what can be changed.
type changeKind struct {
	method, path string // of the API
	form         string // of the pages
	back         string // the page that shows it
	what         string // for log and notice
	do           func(*Server, *http.Request, order) (Answer, error)
}

// changes is the table.
var changes = []changeKind{
	{"PATCH", "/limiter", "/limiter", "/", "tuned the limiter", (*Server).tuneLimiter},
	{"POST", "/limiter/cache-only", "/limiter/cache-only", "/", "stopped all requests", (*Server).cacheOnly},
	{"POST", "/limiter/resume", "/limiter/resume", "/", "resumed", (*Server).resume},
	{"PATCH", "/accounts/{name}", "/accounts/{name}", "/accounts", "tuned an account", (*Server).tuneAccount},
	{"POST", "/accounts/{name}/enable", "/accounts/{name}/enable", "/accounts", "enabled an account", (*Server).enable},
	{"POST", "/accounts/{name}/disable", "/accounts/{name}/disable", "/accounts", "disabled an account", (*Server).disable},
	{"POST", "/accounts/{name}/test", "/accounts/{name}/test", "/accounts", "tested an account", (*Server).test},
}

// refusedError is an order that can't be obeyed.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &refusedError{status, fmt.Sprintf(format, args...)}
}

// statusOf is the HTTP status of an error.
func statusOf(err error) int {
	refused, ok := errors.AsType[*refusedError](err)
	switch {
	case ok:
		return refused.status
	case errors.As(err, new(*ratelimit.TuningError)):
		return http.StatusUnprocessableEntity
	case errors.Is(err, ratelimit.ErrNotShared):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func errorText(err error) string { return ui.Escaped(err.Error()) }

// readJSON reads one flat object: keys and values, and "for".
func readJSON(r *http.Request) (order, error) {
	o := order{values: map[string]string{}}
	dec := json.NewDecoder(r.Body)
	dec.UseNumber()
	begin, err := dec.Token()
	if errors.Is(err, io.EOF) {
		return o, nil
	}
	seen := map[string]bool{}
	for err == nil && begin == json.Delim('{') && dec.More() {
		var field json.Token
		var value any
		if field, err = dec.Token(); err != nil {
			break
		}
		if err = dec.Decode(&value); err != nil {
			break
		}
		key, _ := field.(string)
		if seen[key] {
			return o, refuse(http.StatusUnprocessableEntity, "%s: is named twice", ui.Escaped(key))
		}
		seen[key] = true
		text := ""
		switch v := value.(type) {
		case string:
			text = v
		case json.Number:
			text = v.String()
		case nil:
		default:
			return o, refuse(http.StatusUnprocessableEntity, "%s: must be a number or a text; null ends a change", ui.Escaped(key))
		}
		if key == "for" {
			o.lasts = text
		} else {
			o.values[key] = strings.TrimSpace(text)
		}
	}
	if err == nil {
		_, err = dec.Token()
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return o, refuse(http.StatusRequestEntityTooLarge, "the body is too large")
	case err != nil || begin != json.Delim('{') || dec.More():
		return o, refuse(http.StatusBadRequest, `the body must be one JSON object, such as {"rate_base":10,"for":"1h"}`)
	}
	return o, nil
}

// readForm reads the fields of a form. An empty one is left as it is; the one that "end" names is reset.
func readForm(r *http.Request) (order, error) {
	o := order{values: map[string]string{}}
	if err := r.ParseForm(); err != nil {
		return o, refuse(http.StatusBadRequest, "the form can't be read")
	}
	for key, values := range r.PostForm {
		switch value := strings.TrimSpace(values[0]); {
		case key == "for":
			o.lasts = value
		case key == "end":
			for _, ended := range values {
				o.values[ended] = ""
			}
		case value != "":
			o.values[key] = value
		}
	}
	return o, nil
}

// period reads "for"; 0 is always.
func (o order) period() (time.Duration, error) {
	text := cmp.Or(o.lasts, "1h")
	if text == "always" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, refuse(http.StatusUnprocessableEntity, "for: must be a time such as 30m or 8h, or always")
	}
	return d, nil
}

// without refuses values where there are none to change.
func (o order) without() error {
	for key := range o.values {
		return refuse(http.StatusUnprocessableEntity, "%s: nothing but \"for\" can be said here", ui.Escaped(key))
	}
	return nil
}

// split returns what is set and what is ended.
func (o order) split() (set map[string]string, ended []string) {
	set = map[string]string{}
	for key, value := range o.values {
		if value == "" {
			ended = append(ended, key)
		} else {
			set[key] = value
		}
	}
	slices.Sort(ended)
	return set, ended
}

func lastsText(d time.Duration) string {
	if d == 0 {
		return "always"
	}
	return ui.Period(d)
}

// change obeys an order and logs what has changed.
func (s *Server) change(r *http.Request, c changeKind, who string, o order) (Answer, error) {
	a, err := c.do(s, r, o)
	if err != nil {
		return Answer{}, err
	}
	account := r.PathValue("name")
	for _, v := range a.Changed {
		attrs := []slog.Attr{slog.String("who", who), slog.String("what", v.Key), slog.String("from", v.From), slog.String("to", v.To)}
		if account != "" {
			attrs = append(attrs, slog.String("account", account))
		}
		if a.For != "" {
			attrs = append(attrs, slog.String("for", a.For))
		}
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "admin_change", attrs...)
	}
	return a, nil
}

func (s *Server) operator() ratelimit.Operator { return ratelimit.Operator{Store: s.gateway.Store()} }

// tuneLimiter changes settings of all processes.
func (s *Server) tuneLimiter(r *http.Request, o order) (Answer, error) {
	lasts, err := o.period()
	if err != nil {
		return Answer{}, err
	}
	set, ended := o.split()
	if len(set)+len(ended) == 0 {
		return Answer{}, refuse(http.StatusUnprocessableEntity, "nothing is named that should change")
	}
	for _, key := range ended {
		if _, ok := ratelimit.FieldByKey(key); !ok {
			return Answer{}, refuse(http.StatusUnprocessableEntity, "%s: is not a setting of the limiter", ui.Escaped(key))
		}
	}
	before, err := s.gateway.Limiter().Status(r.Context())
	if err == nil {
		err = app.CheckTuned(r.Context(), s.gateway.Store(), s.gateway.Config().Tuning, set)
	}
	if err == nil && len(set) > 0 {
		err = s.operator().Tune(r.Context(), set, lasts)
	}
	if err == nil && len(ended) > 0 {
		err = s.operator().ResetTuning(r.Context(), ended...)
	}
	if err != nil {
		return Answer{}, err
	}
	after, err := s.gateway.Limiter().Status(r.Context())
	a := Answer{Changed: []Changed{}}
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		f, _ := ratelimit.FieldByKey(key)
		a.Changed = append(a.Changed, Changed{key, f.Get(before.Tuning), f.Get(after.Tuning)})
	}
	if len(set) > 0 {
		a.For = lastsText(lasts)
	}
	return a, err
}

// cacheOnly stops all requests of all processes. Without a time they stay so until somebody resumes.
func (s *Server) cacheOnly(r *http.Request, o order) (Answer, error) {
	o.lasts = cmp.Or(o.lasts, "always")
	return s.steer(r, o, func(lasts time.Duration) error {
		_, _, err := s.operator().ForceCacheOnly(r.Context(), lasts)
		return err
	})
}

// resume ends CacheOnly.
func (s *Server) resume(r *http.Request, o order) (Answer, error) {
	a, err := s.steer(r, o, func(time.Duration) error {
		_, _, err := s.operator().Resume(r.Context())
		return err
	})
	a.For = ""
	return a, err
}

// steer brings the limiter into another state.
func (s *Server) steer(r *http.Request, o order, do func(time.Duration) error) (Answer, error) {
	err := o.without()
	if err != nil {
		return Answer{}, err
	}
	lasts, err := o.period()
	if err != nil {
		return Answer{}, err
	}
	before, err := s.gateway.Limiter().Status(r.Context())
	if err == nil {
		err = do(lasts)
	}
	if err != nil {
		return Answer{}, err
	}
	after, err := s.gateway.Limiter().Status(r.Context())
	return Answer{[]Changed{{"state", before.State.String(), after.State.String()}}, lastsText(lasts)}, err
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // plain values
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // whoever has gone needs no answer
}
