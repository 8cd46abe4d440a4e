package admin

import (
	"cmp"
	"context"
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

	"github.com/anivault/anivault/internal/operate"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

type changeRequest struct {
	values   map[string]string // new values by key; "" resets a setting
	duration string            // the value of "for": a duration, "always", or "" for one hour
}

// ChangeResult lists the values that changed.
type ChangeResult struct {
	Changed []operate.ChangedValue `json:"changed" doc:"values before and now"`
	For     string                 `json:"for,omitempty" doc:"how long the change lasts: a time, or always"`
}

type errorBody struct {
	Error string `json:"error" doc:"what is wrong"`
}

type changeKind struct {
	method, path string // of the API; the pages' forms post to the same path
	pageLink     string // link of the page that shows the result
	description  string // for the notice on that page
	apply        func(*Server, *http.Request, changeRequest) (ChangeResult, error)
}

var changes = []changeKind{
	{"PATCH", "/limiter", "/", "tuned the limiter", (*Server).tune},
	{"POST", "/limiter/cache-only", "/", "stopped all requests", (*Server).cacheOnly},
	{"POST", "/limiter/resume", "/", "resumed", (*Server).resume},
	{"PATCH", "/accounts/{name}", "/accounts", "tuned an account", (*Server).tune},
	{"POST", "/accounts/{name}/enable", "/accounts", "enabled an account", setAccountEnabled(true)},
	{"POST", "/accounts/{name}/disable", "/accounts", "disabled an account", setAccountEnabled(false)},
	{"POST", "/accounts/{name}/test", "/accounts", "tested an account", (*Server).testAccount},
}

type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &refusedError{status, fmt.Sprintf(format, args...)}
}

func httpStatusOf(err error) int {
	refused, ok := errors.AsType[*refusedError](err)
	switch {
	case ok:
		return refused.status
	case errors.As(err, new(*operate.UnknownAccountError)):
		return http.StatusNotFound
	case errors.As(err, new(*ratelimit.TuningError)):
		return http.StatusUnprocessableEntity
	case errors.Is(err, ratelimit.ErrNotShared):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func errorText(err error) string { return ui.Escaped(err.Error()) }

func readJSON(r *http.Request) (changeRequest, error) {
	o := changeRequest{values: map[string]string{}}
	dec := json.NewDecoder(r.Body)
	dec.UseNumber()
	var fields map[string]any
	err := dec.Decode(&fields)
	switch {
	case errors.Is(err, io.EOF):
		return o, nil
	case errors.As(err, new(*http.MaxBytesError)):
		return o, refuse(http.StatusRequestEntityTooLarge, "the body is too large")
	case err != nil || fields == nil || dec.More():
		return o, refuse(http.StatusBadRequest, `the body must be one JSON object, such as {"rate_base":10,"for":"1h"}`)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		text := ""
		switch v := fields[key].(type) {
		case string:
			text = v
		case json.Number:
			text = v.String()
		case nil:
		default:
			return o, refuse(http.StatusUnprocessableEntity, "%s: must be a number or a text; null ends a change",
				ui.Escaped(key))
		}
		if key == "for" {
			o.duration = text
		} else {
			o.values[key] = strings.TrimSpace(text)
		}
	}
	return o, nil
}

// readForm reads the fields of a form. An empty field changes nothing; the values of "end" are keys to reset.
func readForm(r *http.Request) (changeRequest, error) {
	o := changeRequest{values: map[string]string{}}
	if err := r.ParseForm(); err != nil {
		return o, refuse(http.StatusBadRequest, "the form can't be read")
	}
	for key, values := range r.PostForm {
		switch value := strings.TrimSpace(values[0]); {
		case key == "for":
			o.duration = value
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

func (o changeRequest) parseDuration() (time.Duration, error) {
	d, ok := operate.ParseDuration(cmp.Or(o.duration, "1h"))
	if !ok {
		return 0, refuse(http.StatusUnprocessableEntity, "for: must be a time such as 30m or 8h, or always")
	}
	return d, nil
}

func (o changeRequest) requireNoValues() error {
	for key := range o.values {
		return refuse(http.StatusUnprocessableEntity, "%s: nothing but \"for\" can be said here", ui.Escaped(key))
	}
	return nil
}

func durationText(d time.Duration) string {
	if d == 0 {
		return "always"
	}
	return ui.Period(d)
}

func (s *Server) change(r *http.Request, c changeKind, who string, o changeRequest) (ChangeResult, error) {
	done := s.gateway.BeginChange()
	a, err := c.apply(s, r, o)
	done(r.Context())
	if err != nil {
		return ChangeResult{}, err
	}
	account := r.PathValue("name")
	for _, v := range a.Changed {
		attrs := []slog.Attr{
			slog.String("who", who), slog.String("what", v.Key), slog.String("from", v.From), slog.String("to", v.To),
		}
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

func (s *Server) target(r *http.Request) operate.Target {
	return operate.Target{
		Operator: ratelimit.Operator{Store: s.gateway.Upstream().Store()}, Config: s.gateway.Config(),
		Account: r.PathValue("name"),
	}
}

func (s *Server) tune(r *http.Request, o changeRequest) (a ChangeResult, err error) {
	do := operate.Change{Set: map[string]string{}}
	if do.Duration, err = o.parseDuration(); err != nil {
		return a, err
	}
	for key, value := range o.values {
		if value == "" {
			do.Reset = append(do.Reset, key)
		} else {
			do.Set[key] = value
		}
	}
	if len(o.values) == 0 {
		return a, refuse(http.StatusUnprocessableEntity, "nothing is named that should change")
	}
	if len(do.Set) > 0 {
		a.For = durationText(do.Duration)
	}
	a.Changed, err = s.target(r).Tune(r.Context(), do)
	return a, err
}

func (s *Server) cacheOnly(r *http.Request, o changeRequest) (ChangeResult, error) {
	o.duration = cmp.Or(o.duration, "always")
	return o.apply(r, s.target(r).CacheOnly)
}

func (s *Server) resume(r *http.Request, o changeRequest) (ChangeResult, error) {
	a, err := o.apply(r, func(ctx context.Context, _ time.Duration) (operate.ChangedValue, error) {
		return s.target(r).Resume(ctx)
	})
	a.For = ""
	return a, err
}

func setAccountEnabled(on bool) func(*Server, *http.Request, changeRequest) (ChangeResult, error) {
	return func(s *Server, r *http.Request, o changeRequest) (ChangeResult, error) {
		t := s.target(r)
		a, err := o.apply(r, func(ctx context.Context, lasts time.Duration) (operate.ChangedValue, error) {
			return t.Enable(ctx, on, lasts)
		})
		if t.MatchesConfig(on) { // an override was reset; the configuration applies without a time limit
			a.For = ""
		}
		return a, err
	}
}

func (o changeRequest) apply(
	r *http.Request, do func(context.Context, time.Duration) (operate.ChangedValue, error),
) (ChangeResult, error) {
	if err := o.requireNoValues(); err != nil {
		return ChangeResult{}, err
	}
	lasts, err := o.parseDuration()
	if err != nil {
		return ChangeResult{}, err
	}
	changed, err := do(r.Context(), lasts)
	return ChangeResult{[]operate.ChangedValue{changed}, durationText(lasts)}, err
}

const testTimeout = 10 * time.Second

func (s *Server) testAccount(r *http.Request, o changeRequest) (ChangeResult, error) {
	if err := o.requireNoValues(); err != nil {
		return ChangeResult{}, err
	}
	before, err := s.account(r)
	if err != nil {
		return ChangeResult{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), testTimeout)
	defer cancel()
	var bad []string
	for _, a := range s.gateway.Config().EffectiveAccounts() {
		if a.Name != before.Name {
			continue
		}
		for _, t := range s.gateway.Upstream().TestAccount(ctx, a) {
			if t.Err != nil {
				bad = append(bad, fmt.Sprintf("key %d: %s", t.Number, ui.Escaped(t.Text.String())))
			}
		}
	}
	if len(bad) > 0 {
		return ChangeResult{}, refuse(http.StatusBadGateway, "%s", strings.Join(bad, "; "))
	}
	after, err := s.account(r)
	a := ChangeResult{Changed: []operate.ChangedValue{}}
	for i, k := range after.Keys[:min(len(after.Keys), len(before.Keys))] {
		a.Changed = append(a.Changed,
			operate.ChangedValue{Key: fmt.Sprintf("key %d", k.Number), From: before.Keys[i].Standing, To: k.Standing})
	}
	return a, err
}

func (s *Server) account(r *http.Request) (Account, error) {
	list, err := s.accounts(r.Context())
	if err != nil {
		return Account{}, err
	}
	name := r.PathValue("name")
	i := slices.IndexFunc(list, func(a Account) bool { return a.Name == name })
	if i < 0 {
		return Account{}, &operate.UnknownAccountError{Name: name}
	}
	return list[i], nil
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // impossible: it has only plain values
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may have closed the connection
}
