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

// templates parses the templates on first use: most runs show no page.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"percent": func(f float64) int { return int(f*100 + .5) },
		"when":    formatTime,
	}).Parse(layout))
})

func formatTime(stamp string) string {
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

type pageView struct {
	Name, Title string
	Pages       []page
	Notice      string
	Error       string
	Data        any
	HasAdmin    bool
}

func (s *Server) showPage(w http.ResponseWriter, r *http.Request, p page, status int, failure string) {
	left := s.sessions.takeMessages(s.cookieOf(r))
	v := pageView{
		Name: p.name, Title: p.Title, Pages: pages, Error: cmp.Or(failure, left.failure), Notice: left.notice,
	}
	if left.formValues != nil {
		r.Form = left.formValues
	}
	data, err := p.data(s, r)
	if err != nil {
		v.Error, status = errorText(err), http.StatusInternalServerError
	}
	v.Data = data
	s.render(w, status, v)
}

func (s *Server) render(w http.ResponseWriter, status int, v pageView) {
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

func (s *Server) submitForm(w http.ResponseWriter, r *http.Request, c changeKind, who string) {
	o, err := readForm(r)
	var a ChangeResult
	if err == nil {
		a, err = s.change(r, c, who, o)
	}
	refused := func(x *session) {
		x.failure, x.formValues = errorText(err), r.PostForm
		x.formValues.Set("action", r.URL.Path)
	}
	if err != nil && r.PostForm != nil && s.sessions.update(s.cookieOf(r), refused) {
		http.Redirect(w, r, c.pageLink, http.StatusSeeOther)
		return
	}
	if err != nil {
		i := slices.IndexFunc(pages, func(p page) bool { return p.Link == c.pageLink })
		s.showPage(w, r, pages[i], httpStatusOf(err), errorText(err))
		return
	}
	notice := c.description
	if name := r.PathValue("name"); name != "" {
		notice += " (" + name + ")"
	}
	for _, v := range a.Changed {
		notice += "; " + v.Key + ": " + v.From + " → " + v.To
	}
	if a.For != "" {
		notice += ", for " + a.For
	}
	s.sessions.update(s.cookieOf(r), func(x *session) { x.notice = notice })
	http.Redirect(w, r, c.pageLink, http.StatusSeeOther)
}

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) {
	if _, may := s.identify(r); may == admin {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	s.loginForm(w, http.StatusOK, "")
}

func (s *Server) loginForm(w http.ResponseWriter, status int, failure string) {
	admins := slices.ContainsFunc(s.gateway.Config().Serve.Clients, func(c config.Client) bool { return c.Admin })
	s.render(w, status, pageView{Name: "login", Title: "Log in", HasAdmin: admins, Error: failure})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	hash := config.TokenHash(strings.TrimSpace(r.PostFormValue("token")))
	name, may := s.clientByHash(hash)
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
		w.Header().Set("WWW-Authenticate", challenge)
		s.loginForm(w, http.StatusUnauthorized, "This token is not known.")
	}
}

func (s *Server) refusedLogin(r *http.Request, who string) {
	if count, due := s.warnThrottle.Allow(who, time.Now()); due {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		s.log.Warn("admin_login_refused", slog.String("who", who), slog.String("addr", host), slog.Int("count", count))
	}
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.sessions.end(s.cookieOf(r))
	s.setCookie(w, "")
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// formField is a field of a form. Typed is what the user entered if the form was refused.
type formField struct{ Key, Doc, Value, Allowed, Typed string }

func typedValue(r *http.Request, action, key string) string {
	if r.Form.Get("action") != action {
		return ""
	}
	return r.Form.Get(key)
}

type overviewData struct {
	Status
	Fields []formField
	Charts []drawing
}

// overviewSettings are the settings that can be changed on the overview page. All others can be changed with the API
// and the command.
var overviewSettings = []string{"rate_base", "concurrency_total", "concurrency", "ceiling"}

func (s *Server) overview(r *http.Request) (overviewData, error) {
	st, err := s.status(r.Context())
	d := overviewData{Status: st, Charts: s.overviewCharts()}
	t := s.gateway.Upstream().Limiter().Tuning()
	for _, key := range overviewSettings {
		f, _ := ratelimit.FieldByKey(key)
		d.Fields = append(d.Fields, formField{key, f.Doc, f.Get(t), f.Range(), typedValue(r, "/limiter", key)})
	}
	return d, err
}

type accountData struct {
	Account
	Fields []formField
	Charts []drawing
}

func (s *Server) accountsPage(r *http.Request) ([]accountData, error) {
	list, err := s.accounts(r.Context())
	var out []accountData
	for _, a := range list {
		d := accountData{Account: a, Charts: s.accountCharts(a.Name)}
		for _, f := range ratelimit.AccountFields() {
			d.Fields = append(d.Fields, formField{
				f.Key, f.Doc, operate.LimitText(a.AccountView, f.Key), f.Allowed, typedValue(r, "/accounts/"+a.Name, f.Key),
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
