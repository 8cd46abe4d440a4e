package admin

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/operate"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

//go:embed page.gohtml
var layout string

// templates are parsed when they are first needed: most runs show no page.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"percent": func(f float64) int { return int(f*100 + .5) },
		"when":    when,
	}).Parse(layout))
})

func when(stamp string) string {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return stamp
	}
	return ui.Clock(t)
}

type page struct {
	Link, name, Title string
	data              func(*Server, *http.Request) (any, error)
}

var pages = []page{
	{"/", "overview", "Overview", func(s *Server, r *http.Request) (any, error) { return s.overview(r) }},
	{"/accounts", "accounts", "Accounts", func(s *Server, r *http.Request) (any, error) { return s.accountsPage(r) }},
	{"/clients", "clients", "Clients", func(s *Server, _ *http.Request) (any, error) { return s.clients(), nil }},
	{"/log", "log", "Log", func(s *Server, r *http.Request) (any, error) { return s.logPage(r), nil }},
}

type shown struct {
	Name, Title string
	Pages       []page
	Notice      string
	Error       string
	Data        any
	HasAdmin    bool
}

func (s *Server) show(w http.ResponseWriter, r *http.Request, p page, status int, failure string) {
	left := s.sessions.take(s.cookieOf(r))
	v := shown{
		Name: p.name, Title: p.Title, Pages: pages, Error: cmp.Or(failure, left.failure), Notice: left.notice,
	}
	if left.typed != nil {
		r.Form = left.typed
	}
	data, err := p.data(s, r)
	if err != nil {
		v.Error, status = errorText(err), http.StatusInternalServerError
	}
	v.Data = data
	s.render(w, status, v)
}

func (s *Server) render(w http.ResponseWriter, status int, v shown) {
	var b bytes.Buffer
	if err := templates().Execute(&b, v); err != nil {
		s.log.Error("admin_page", slog.Any("error", err))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the client may be gone
}

func (s *Server) submit(w http.ResponseWriter, r *http.Request, c changeKind, who string) {
	o, err := readForm(r)
	var a Answer
	if err == nil {
		a, err = s.change(r, c, who, o)
	}
	refused := func(x *session) {
		x.failure, x.typed = errorText(err), r.PostForm
		x.typed.Set("action", r.URL.Path)
	}
	if err != nil && r.PostForm != nil && s.sessions.note(s.cookieOf(r), refused) {
		http.Redirect(w, r, c.back, http.StatusSeeOther)
		return
	}
	if err != nil {
		i := slices.IndexFunc(pages, func(p page) bool { return p.Link == c.back })
		s.show(w, r, pages[i], statusOf(err), errorText(err))
		return
	}
	notice := c.what
	if name := r.PathValue("name"); name != "" {
		notice += " (" + name + ")"
	}
	for _, v := range a.Changed {
		notice += "; " + v.Key + ": " + v.From + " → " + v.To
	}
	if a.For != "" {
		notice += ", for " + a.For
	}
	s.sessions.note(s.cookieOf(r), func(x *session) { x.notice = notice })
	http.Redirect(w, r, c.back, http.StatusSeeOther)
}

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) {
	if _, may := s.who(r); may == admin {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.loginForm(w, http.StatusOK, "")
}

func (s *Server) loginForm(w http.ResponseWriter, status int, failure string) {
	admins := slices.ContainsFunc(s.gateway.Config().Serve.Clients, func(c config.Client) bool { return c.Admin })
	s.render(w, status, shown{Name: "login", Title: "Log in", HasAdmin: admins, Error: failure})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	hash := config.TokenHash(strings.TrimSpace(r.PostFormValue("token")))
	name, may := s.byHash(hash)
	switch may {
	case admin:
		s.setCookie(w, s.sessions.begin(hash, time.Now()))
		s.log.Info("admin_login", slog.String("who", name))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case clientOnly:
		s.refusedLogin(r, name)
		s.loginForm(w, http.StatusForbidden, "This client is no admin.")
	case stranger:
		s.refusedLogin(r, "-")
		challenge(w)
		s.loginForm(w, http.StatusUnauthorized, "This token is not known.")
	}
}

func (s *Server) refusedLogin(r *http.Request, who string) {
	if count, due := s.seldom.Due(who, time.Now()); due {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		s.log.Warn("admin_login_refused", slog.String("who", who), slog.String("addr", host),
			slog.Int("count", count))
	}
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.sessions.end(s.cookieOf(r))
	s.setCookie(w, "")
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// knob is a field of a form. Typed is its text when the form was refused.
type knob struct{ Key, Doc, Value, Allowed, Typed string }

func typed(r *http.Request, action, key string) string {
	if r.Form.Get("action") != action {
		return ""
	}
	return r.Form.Get(key)
}

type overviewData struct {
	Status
	Knobs  []knob
	Charts []template.HTML
}

// tuned are the settings that the overview has fields for. All others are the API's and the command's.
var tuned = []string{"rate_base", "concurrency_total", "concurrency", "ceiling"}

func (s *Server) overview(r *http.Request) (overviewData, error) {
	st, err := s.status(r.Context())
	d := overviewData{Status: st, Charts: s.addressCharts()}
	t := s.gateway.Upstream().Limiter().Tuning()
	for _, key := range tuned {
		f, _ := ratelimit.FieldByKey(key)
		d.Knobs = append(d.Knobs, knob{key, f.Doc, f.Get(t), f.Range(), typed(r, "/limiter", key)})
	}
	return d, err
}

type accountData struct {
	Account
	Knobs  []knob
	Charts []template.HTML
}

func (s *Server) accountsPage(r *http.Request) ([]accountData, error) {
	list, err := s.accounts(r.Context())
	var out []accountData
	for _, a := range list {
		d := accountData{Account: a, Charts: s.accountCharts(a.Name)}
		for _, f := range ratelimit.AccountFields() {
			d.Knobs = append(d.Knobs, knob{
				f.Key, f.Doc, operate.Limit(a.AccountView, f.Key), f.Allowed, typed(r, "/accounts/"+a.Name, f.Key),
			})
		}
		out = append(out, d)
	}
	return out, err
}

type logData struct {
	Lines          []Event
	Account, Event string
	Accounts       []string
	Events         []string
}

func (s *Server) logPage(r *http.Request) logData {
	d := logData{Account: r.FormValue("account"), Event: r.FormValue("event")}
	d.Lines = s.events.Last(d.Account, d.Event)
	for _, l := range s.events.Last("", "") {
		if l.Account != "" && !slices.Contains(d.Accounts, l.Account) {
			d.Accounts = append(d.Accounts, l.Account)
		}
		if !slices.Contains(d.Events, l.Event) {
			d.Events = append(d.Events, l.Event)
		}
	}
	slices.Sort(d.Accounts)
	slices.Sort(d.Events)
	return d
}
