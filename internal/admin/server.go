// Package admin shows and changes a running gateway. It has an API for programs, and pages that work without scripts.
// Both require the token of a client made with --admin.
//
//	server.go     the listener, the routes, logins and their cookies
//	view.go       the values shown, the last log lines too
//	change.go     changes, by the API and the pages' forms; package operate makes them
//	pages.go      the pages
//	charts.go     the history and its charts
package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/logging"
	"github.com/anivault/anivault/internal/schema"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/version"
)

//go:embed style.css script.js
var files embed.FS

// Server serves a gateway's admin pages and API on a separate address.
type Server struct {
	gateway      Gateway
	events       *Events
	log          *slog.Logger
	sessions     sessions
	warnThrottle logging.LineLimiter
	histories    *histories
	listener     net.Listener
	httpServer   *http.Server
	port         string
	secure       bool // it uses TLS
}

// Listen opens the address and returns a server for it. conf is nil for plain HTTP.
func Listen(addr string, conf *tls.Config, g Gateway, events *Events) (*Server, error) {
	l, err := net.Listen(config.ListenNetwork(addr), addr)
	if err != nil {
		return nil, err
	}
	s := &Server{
		gateway: g, events: events, histories: &histories{byAccount: map[string]*history{}},
		log:      slog.New(events.Handler()).With(slog.String("comp", "gateway")),
		listener: g.LimitAdminConns(l), secure: conf != nil,
	}
	_, s.port, _ = net.SplitHostPort(l.Addr().String())
	s.httpServer = &http.Server{
		Handler: s.Handler(), TLSConfig: conf, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 60 * time.Second,
		IdleTimeout:  120 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// URL returns the URL at which the server listens.
func (s *Server) URL() string {
	return map[bool]string{true: "https://", false: "http://"}[s.secure] + s.listener.Addr().String()
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() { s.histories.run(ctx, s.gateway) })
	running.Go(func() {
		<-ctx.Done()
		shutdownCtx, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		if s.httpServer.Shutdown(shutdownCtx) != nil {
			_ = s.httpServer.Close()
		}
	})
	var err error
	if s.secure {
		err = s.httpServer.ServeTLS(s.listener, "", "")
	} else {
		err = s.httpServer.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the admin page on %s: %w", s.listener.Addr(), err)
}

type readKind struct {
	schema.Operation
	answer func(*Server, *http.Request) (any, error)
}

var reads []readKind

func init() { // openAPI needs the table itself
	reads = []readKind{
		{
			schema.Get("/api/v1/status", "the limiter, for all accounts together", Status{}),
			func(s *Server, r *http.Request) (any, error) { return s.status(r.Context()) },
		},
		{
			schema.Get("/api/v1/accounts", "each account", []Account{}),
			func(s *Server, r *http.Request) (any, error) { return s.accounts(r.Context()) },
		},
		{
			schema.Get("/api/v1/clients", "each client", []Client{}),
			func(s *Server, _ *http.Request) (any, error) { return s.clients(), nil },
		},
		{
			schema.Get("/api/v1/log", "the newest events", []Event{}, "account", "event"),
			func(s *Server, r *http.Request) (any, error) {
				return s.events.Last(r.FormValue("account"), r.FormValue("event")), nil
			},
		},
		{
			schema.Get("/openapi.json", "this document", nil),
			func(*Server, *http.Request) (any, error) { return openAPI(), nil },
		},
	}
}

func openAPI() schema.Schema {
	list := slicesx.Map(reads, func(read readKind) schema.Operation { return read.Operation })
	for _, c := range changes {
		list = append(list, schema.Operation{
			Method: c.method, Path: "/api/v1" + c.path, Summary: "what the log calls: " + c.description, Answer: ChangeResult{},
			Body: schema.Schema{"type": "object", "description": "new values by key; for: how long"},
		})
	}
	return schema.OpenAPI("anivault admin", version.Get().Version, "", errorBody{}, list)
}

// Handler returns the handler of all pages and of the API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, name := range []string{"style.css", "script.js"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, name) })
	}
	mux.HandleFunc("GET /favicon.ico",
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /login", s.loginPage)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	for _, p := range pages {
		pattern := "GET " + p.Link
		if p.Link == "/" {
			pattern += "{$}" // only this path
		}
		mux.Handle(pattern,
			s.pageHandler(func(w http.ResponseWriter, r *http.Request, _ string) { s.showPage(w, r, p, http.StatusOK, "") }))
	}
	for _, read := range reads {
		mux.Handle("GET "+read.Path, s.jsonHandler(func(r *http.Request, _ string) (any, error) { return read.answer(s, r) }))
	}
	for _, c := range changes {
		mux.Handle(c.method+" /api/v1"+c.path, s.jsonHandler(func(r *http.Request, who string) (any, error) {
			o, err := readJSON(r)
			if err != nil {
				return nil, err
			}
			return s.change(r, c, who, o)
		}))
		mux.Handle("POST "+c.path,
			s.pageHandler(func(w http.ResponseWriter, r *http.Request, who string) { s.submitForm(w, r, c, who) }))
	}
	return withSecurityHeaders(http.NewCrossOriginProtection().Handler(mux))
}

// contentPolicy lets a page load only our own styles and scripts.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func withSecurityHeaders(next http.Handler) http.Handler {
	const mostBody = 64 << 10
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		next.ServeHTTP(w, r)
	})
}

const notAdminText = "this client is no admin"

func (s *Server) pageHandler(next func(http.ResponseWriter, *http.Request, string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, may := s.identify(r)
		switch may {
		case admin:
			next(w, r, name)
		case clientOnly:
			http.Error(w, notAdminText, http.StatusForbidden)
		case stranger:
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		}
	})
}

// challenge is the WWW-Authenticate of a 401. Browsers show no dialog for Bearer.
const challenge = `Bearer realm="anivault admin"`

func (s *Server) jsonHandler(next func(*http.Request, string) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, may := s.identify(r)
		switch may {
		case admin:
			value, err := next(r, name)
			if err != nil {
				writeJSON(w, httpStatusOf(err), errorBody{errorText(err)})
				return
			}
			writeJSON(w, http.StatusOK, value)
		case clientOnly:
			writeJSON(w, http.StatusForbidden, errorBody{notAdminText})
		case stranger:
			w.Header().Set("WWW-Authenticate", challenge)
			writeJSON(w, http.StatusUnauthorized,
				errorBody{"the token of an admin is needed: anivault serve token new NAME --admin"})
		}
	})
}

// Gateway is the gateway that is shown and changed.
type Gateway interface {
	// Config returns the current configuration.
	Config() *config.Config
	// Upstream returns its path to TMDB, with limiter, accounts and metrics.
	Upstream() *app.Gateway
	// ClientUse returns how many questions of a client are waiting, and when its last request came; zero: never.
	ClientUse(name string) (waiting int, last time.Time)
	// BeginChange marks the start of a change that this process makes; the caller calls done at its end.
	BeginChange() (done func(context.Context))
	// LimitAdminConns limits the number of a listener's connections.
	LimitAdminConns(l net.Listener) net.Listener
}

const (
	sessionLifetime = 12 * time.Hour
	maxSessions     = 64
)

type session struct {
	id         string // hash of the session cookie
	tokenHash  string // hash of the token used to log in
	expires    time.Time
	notice     string     // message for the next page
	failure    string     // error message for the next page, about a submitted form
	formValues url.Values // the values of that form, and its address as "action"
}

type sessions struct {
	mu   sync.Mutex
	list []session
}

func (s *sessions) begin(tokenHash string, now time.Time) string {
	cookie := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := session{id: config.TokenHash(cookie), tokenHash: tokenHash, expires: now.Add(sessionLifetime)}
	s.list = appendNewest(s.list, begun, maxSessions)
	return cookie
}

// find returns the session of a cookie. It also removes expired sessions.
func (s *sessions) find(cookie string, now time.Time) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(x session) bool { return !now.Before(x.expires) })
	i := s.index(cookie)
	if i < 0 {
		return session{}, false
	}
	return s.list[i], true
}

func (s *sessions) index(cookie string) int {
	id := config.TokenHash(cookie)
	return slices.IndexFunc(s.list, func(x session) bool { return x.id == id })
}

func (s *sessions) end(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(cookie); i >= 0 {
		s.list = slices.Delete(s.list, i, i+1)
	}
}

// update changes a session, to keep messages for its next page. takeMessages returns and clears them.
func (s *sessions) update(cookie string, leave func(*session)) (found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(cookie)
	if i >= 0 {
		leave(&s.list[i])
	}
	return i >= 0
}

func (s *sessions) takeMessages(cookie string) (left session) {
	s.update(cookie, func(x *session) {
		left = *x
		x.notice, x.failure, x.formValues = "", "", nil
	})
	return left
}

// cookieName returns the name of the session cookie. It contains the port, because browsers share cookies between the
// ports of a host.
func (s *Server) cookieName() string {
	name := "anivault-" + s.port
	if s.secure {
		name = "__Host-" + name
	}
	return name
}

func (s *Server) cookieOf(r *http.Request) string {
	c, _ := r.Cookie(s.cookieName())
	return cmp.Or(c, new(http.Cookie)).Value
}

func (s *Server) setCookie(w http.ResponseWriter, value string) {
	c := &http.Cookie{
		Name: s.cookieName(), Value: value, Path: "/", HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteStrictMode,
		MaxAge: int(sessionLifetime / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

type role uint8

const (
	stranger role = iota
	clientOnly
	admin
)

func (s *Server) identify(r *http.Request) (string, role) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return s.clientByHash(config.TokenHash(strings.TrimSpace(token)))
	}
	if x, ok := s.sessions.find(s.cookieOf(r), time.Now()); ok {
		return s.clientByHash(x.tokenHash)
	}
	return "", stranger
}

func (s *Server) clientByHash(hash string) (string, role) {
	for _, c := range s.gateway.Config().Serve.Clients {
		switch {
		case c.TokenSHA256 != hash:
		case c.Admin:
			return c.Name, admin
		default:
			return c.Name, clientOnly
		}
	}
	return "", stranger
}
