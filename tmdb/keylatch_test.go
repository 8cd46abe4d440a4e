package tmdb

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// upstream answers each request by its credential.
type upstream struct {
	sent    int
	respond func(r *http.Request) (*http.Response, error)
}

func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	u.sent++
	return u.respond(r)
}

func refused401(r *http.Request) (*http.Response, error) {
	return answer(r, 401, jsonType, `{"status_code":7,"status_message":"Invalid API key.","success":false}`), nil
}

func okay(r *http.Request) (*http.Response, error) { return answer(r, 200, jsonType, good), nil }

func request(t *testing.T, token string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.org/3/tv/9000001", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestARefusedKeyIsNotUsedAgain(t *testing.T) {
	replies := map[string]func(*http.Request) (*http.Response, error){
		"refused": refused401,
		"suspended": func(r *http.Request) (*http.Response, error) {
			return answer(r, 403, jsonType, `{"status_code":45,"status_message":"suspended","success":false}`), nil
		},
		"with 200": func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, jsonType, `{"status_code":7,"status_message":"no","success":false}`), nil
		},
		"known below": func(*http.Request) (*http.Response, error) {
			return nil, &UnauthorizedError{Cause: &Error{HTTPStatus: 401, Code: 7}, WasSent: true}
		},
	}
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			u := &upstream{respond: reply}
			l := NewKeyLatch(u)
			for i := range 3 {
				refusal, ok := errors.AsType[*UnauthorizedError](roundTripOf(l, request(t, "token")).err)
				if !ok || refusal.Cause == nil || refusal.WasSent != (i == 0) || u.sent != 1 {
					t.Fatalf("request %d: %v, %d sent", i, refusal, u.sent)
				}
			}
		})
	}
}

// An answer that says nothing about the key lets the next request go, and each key counts separately.
func TestOnlyARefusalLatchesAndOnlyItsKey(t *testing.T) {
	replies := map[string]func(*http.Request) (*http.Response, error){
		"good":    okay,
		"network": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"server":  func(r *http.Request) (*http.Response, error) { return answer(r, 500, jsonType, `{}`), nil },
		"limit": func(r *http.Request) (*http.Response, error) {
			return answer(r, 429, jsonType, `{"status_code":25}`), nil
		},
		"a portal's page": func(r *http.Request) (*http.Response, error) {
			return answer(r, 401, "text/html", `<html>log in</html>`), nil
		},
		"an edge's block": func(r *http.Request) (*http.Response, error) {
			return answer(r, 403, jsonType, `{"message":"blocked"}`), nil
		},
	}
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			u := &upstream{respond: func(r *http.Request) (*http.Response, error) {
				if strings.Contains(r.Header.Get("Authorization"), "bad") {
					return refused401(r)
				}
				return reply(r)
			}}
			l := NewKeyLatch(u)
			for range 2 {
				if refusal := errors.As(roundTripOf(l, request(t, "bad")).err, new(*UnauthorizedError)); !refusal {
					t.Error("the bad key was not refused")
				}
				roundTripOf(l, request(t, "token"))
				roundTripOf(l, request(t, ""))
			}
			if u.sent != 5 {
				t.Errorf("%d requests were sent", u.sent)
			}
		})
	}
}

// A 401 that is about a private list or a session says nothing about the key.
func TestAnUnrelated401RefusesNoKey(t *testing.T) {
	u := &upstream{respond: func(r *http.Request) (*http.Response, error) {
		return answer(r, 401, jsonType, `{"status_code":39,"status_message":"This resource is private."}`), nil
	}}
	l := NewKeyLatch(u)
	for range 2 {
		if got := roundTripOf(l, request(t, "token")); got.err != nil || got.resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%v, %v", got.resp, got.err)
		}
	}
	if u.sent != 2 {
		t.Errorf("%d requests were sent", u.sent)
	}
}

// A body is passed on whole, and one that breaks off is an error where it would be an answer.
func TestTheLatchPassesBodiesOn(t *testing.T) {
	l := NewKeyLatch(&upstream{respond: okay})
	if got := roundTripOf(l, request(t, "token")); got.err != nil || string(got.body) != good {
		t.Errorf("%s, %v", got.body, got.err)
	}
	for status, fails := range map[int]bool{200: true, 500: false} {
		l := NewKeyLatch(&upstream{respond: func(r *http.Request) (*http.Response, error) {
			resp := answer(r, status, jsonType, "")
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":`), errReader{}))
			return resp, nil
		}})
		if got := roundTripOf(l, request(t, "token")); (got.err != nil) != fails {
			t.Errorf("status %d: %v", status, got.err)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
