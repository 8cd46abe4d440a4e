package tmdbfake

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// token is a bearer of the right shape.
const token = "a.read.token"

// v3 is an api_key of the right shape.
const v3 = "0123456789abcdef0123456789abcdef"

func newFake(t testing.TB, cfg Config) *Fake {
	t.Helper()
	f, err := New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return f
}

// start listens in memory until the test ends.
func start(t testing.TB, f *Fake) *Server {
	t.Helper()
	s := f.ListenMem()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// clientOf returns a client of a server, which it leaves without idle connections.
func clientOf(t testing.TB, s *Server) *http.Client {
	t.Helper()
	tr := s.Transport()
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// reply is an answer that was read to its end.
type reply struct {
	*http.Response
	body []byte
}

// ask sends a GET with a good token.
func ask(c *http.Client, url string, header ...string) (reply, error) {
	return send(c, http.MethodGet, url, append([]string{"Authorization", "Bearer " + token}, header...)...)
}

func send(c *http.Client, method, url string, header ...string) (reply, error) {
	r, err := http.NewRequest(method, url, http.NoBody)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return reply{resp, body}, err
}

// decode reads a JSON object.
func decode(t testing.TB, body []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("body %.80q: %v", body, err)
	}
	return v
}

// rows returns the ids of a result list.
func rows(t testing.TB, body []byte) []int {
	t.Helper()
	var v struct {
		Results []struct {
			ID int `json:"id"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("body %.80q: %v", body, err)
	}
	ids := make([]int, 0, len(v.Results))
	for _, r := range v.Results {
		ids = append(ids, r.ID)
	}
	return ids
}
