package admin

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/config"
)

const (
	sessionLasts = 12 * time.Hour
	mostSessions = 64
)

// session is a login by the form. It ends with its token and with the process.
type session struct {
	id      string // hash of the cookie
	hash    string // of the token that logged in
	expires time.Time
	notice  string // for the next page
}

// sessions are those that have logged in, the oldest first.
type sessions struct {
	mu   sync.Mutex
	list []session
}

// begin returns the cookie of a new session.
func (s *sessions) begin(tokenHash string, now time.Time) string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
	cookie := base64.RawURLEncoding.EncodeToString(secret[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == mostSessions {
		s.list = slices.Delete(s.list, 0, 1)
	}
	s.list = append(s.list, session{id: config.TokenHash(cookie), hash: tokenHash, expires: now.Add(sessionLasts)})
	return cookie
}

// find returns the session of a cookie. Those that are over are forgotten.
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

// note leaves a sentence for the session's next page, and take returns it once.
func (s *sessions) note(cookie, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(cookie); i >= 0 {
		s.list[i].notice = text
	}
}

func (s *sessions) take(cookie string) (text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(cookie); i >= 0 {
		text, s.list[i].notice = s.list[i].notice, ""
	}
	return text
}

// cookieName is the name of the cookie. Cookies know no ports, so the port is in it.
func (s *Server) cookieName() string {
	name := "anivault-" + s.port
	if s.secure {
		name = "__Host-" + name
	}
	return name
}

func (s *Server) cookieOf(r *http.Request) string {
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

func (s *Server) setCookie(w http.ResponseWriter, value string) {
	c := &http.Cookie{
		Name: s.cookieName(), Value: value, Path: "/", HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteStrictMode,
		MaxAge: int(sessionLasts / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// standing is what a request may do.
type standing uint8

const (
	stranger standing = iota
	clientOnly
	admin
)

// who returns the name of who asks, and what they may do. A token in the header counts before a cookie.
func (s *Server) who(r *http.Request) (string, standing) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return s.byHash(config.TokenHash(strings.TrimSpace(token)))
	}
	if x, ok := s.sessions.find(s.cookieOf(r), time.Now()); ok {
		return s.byHash(x.hash)
	}
	return "", stranger
}

func (s *Server) byHash(hash string) (string, standing) {
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

func (s *Server) hasAdmin() bool {
	for _, c := range s.gateway.Config().Serve.Clients {
		if c.Admin {
			return true
		}
	}
	return false
}
