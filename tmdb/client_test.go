package tmdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer makes a response the way net/http does.
func answer(req *http.Request, status int, contentType, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {contentType}},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}

// reply is what a transport answers with.
type reply struct {
	status   int
	body     string
	location string
	err      error
	echo     int // a TMDB code: the message repeats the request's credentials
}

func (p reply) send(r *http.Request) (*http.Response, error) {
	if p.err != nil {
		return nil, p.err
	}
	body := p.body
	if p.echo != 0 { // what a careless server would do
		body = fmt.Sprintf(
			`{"success":false,"status_code":%d,"status_message":"refused %s"}`, p.echo,
			strings.Join(requestCredentials(r), " "),
		)
	}
	resp := answer(r, p.status, jsonType, body)
	if p.location != "" {
		resp.Header.Set("Location", p.location+r.URL.RequestURI())
	}
	return resp, nil
}

// exchanged is an exchange with its body read and closed.
type exchanged struct {
	resp *http.Response
	body []byte
	err  error
}

func roundTripOf(rt http.RoundTripper, req *http.Request) exchanged {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return exchanged{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return exchanged{resp: resp, body: body, err: err}
}

const jsonType = "application/json;charset=utf-8"

// clientFor makes a client whose every request is answered by f.
func clientFor(t *testing.T, o Options, f roundTrip) *Client {
	t.Helper()
	o.HTTPClient = &http.Client{Transport: f}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRequestsAreWrittenAsTMDBReadsThem(t *testing.T) {
	page := `{"page":1,"results":[],"total_pages":1,"total_results":0}`
	tests := []struct {
		name string
		base string
		body string
		call func(*Client) error
		want string
	}{
		{"search tv", "", page, func(c *Client) error {
			_, _, err := c.SearchTV(
				t.Context(),
				SearchTVOptions{Query: "葬送の フリーレン & co+", Year: 2023, Language: "ko-KR", Page: 2, IncludeAdult: true},
			)
			return err
		}, "https://api.themoviedb.org/3/search/tv?include_adult=true&language=ko-KR&page=2&" +
			"query=%E8%91%AC%E9%80%81%E3%81%AE+%E3%83%95%E3%83%AA%E3%83%BC%E3%83%AC%E3%83%B3+%26+co%2B&year=2023"},
		{"search tv by first air date", "", page, func(c *Client) error {
			_, _, err := c.SearchTV(t.Context(), SearchTVOptions{Query: "a", FirstAirDateYear: 1999})
			return err
		}, "https://api.themoviedb.org/3/search/tv?first_air_date_year=1999&query=a"},
		{"search movie", "", page, func(c *Client) error {
			_, _, err := c.SearchMovie(
				t.Context(), SearchMovieOptions{Query: "a", Year: 2001, PrimaryReleaseYear: 2000, Region: "JP"},
			)
			return err
		}, "https://api.themoviedb.org/3/search/movie?primary_release_year=2000&query=a&region=JP&year=2001"},
		{"appended items keep slashes and commas", "", `{"id":9000001}`, func(c *Client) error {
			_, _, err := c.TV(
				t.Context(), 9000001,
				DetailOptions{Language: "en-US", Append: []string{AppendSeason(0), AppendSeason(12), AppendTranslations}},
			)
			return err
		}, "https://api.themoviedb.org/3/tv/9000001?append_to_response=season/0,season/12,translations&language=en-US"},
		{"movie", "", `{"id":9000002}`, func(c *Client) error {
			_, _, err := c.Movie(t.Context(), 9000002, DetailOptions{})
			return err
		}, "https://api.themoviedb.org/3/movie/9000002"},
		{"season 0", "", `{"season_number":0,"episodes":[]}`, func(c *Client) error {
			_, _, err := c.Season(t.Context(), 9000001, 0, DetailOptions{})
			return err
		}, "https://api.themoviedb.org/3/tv/9000001/season/0"},
		{"episode group", "", `{"id":"0123456789abcdef01234567","groups":[]}`, func(c *Client) error {
			_, _, err := c.EpisodeGroup(t.Context(), "0123456789abcdef01234567", DetailOptions{})
			return err
		}, "https://api.themoviedb.org/3/tv/episode_group/0123456789abcdef01234567"},
		{"find", "", `{"tv_results":[]}`, func(c *Client) error {
			_, _, err := c.Find(t.Context(), "tt9000001", SourceIMDb, "de-DE")
			return err
		}, "https://api.themoviedb.org/3/find/tt9000001?external_source=imdb_id&language=de-DE"},
		{"configuration", "", `{"images":{"base_url":"http://images.invalid/"}}`, func(c *Client) error {
			_, _, err := c.Configuration(t.Context())
			return err
		}, "https://api.themoviedb.org/3/configuration"},
		{"base URL with /3", "http://127.0.0.1:8080/3", `{"id":9000002}`, movie, "http://127.0.0.1:8080/3/movie/9000002"},
		{"base URL with /3/", "https://EXAMPLE.org/3/", `{"id":9000002}`, movie, "https://example.org/3/movie/9000002"},
		{
			"base URL with a path", "https://example.org/mirror/", `{"id":9000002}`, movie,
			"https://example.org/mirror/3/movie/9000002",
		},
		{
			"base URL with a path and /3", "https://example.org/mirror/3", `{"id":9000002}`, movie,
			"https://example.org/mirror/3/movie/9000002",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got *http.Request
			c := clientFor(t, Options{
				BaseURL: tt.base, Token: "a.b.c", APIKey: "unused",
			}, func(r *http.Request) (*http.Response, error) {
				got = r
				return answer(r, 200, jsonType, tt.body), nil
			})
			if err := tt.call(c); err != nil {
				t.Fatal(err)
			}
			if got.URL.String() != tt.want {
				t.Errorf("asked\n%s, want\n%s", got.URL, tt.want)
			}
			if got.Method != http.MethodGet || got.Header.Get("Authorization") != "Bearer a.b.c" ||
				got.Header.Get("Accept") != "application/json" || got.Header.Get("User-Agent") == "" {
				t.Errorf("%s with %v", got.Method, got.Header)
			}
		})
	}
}

func movie(c *Client) error {
	_, _, err := c.Movie(context.Background(), 9000002, DetailOptions{})
	return err
}

func TestAKeyIsAParameterOnlyWithoutAToken(t *testing.T) {
	var got *http.Request
	c := clientFor(t, Options{
		APIKey: " 0123456789abcdef0123456789abcdef\n",
	}, func(r *http.Request) (*http.Response, error) {
		got = r
		return answer(r, 200, jsonType, `{"id":9000002}`), nil
	})
	_, resp, err := c.Movie(t.Context(), 9000002, DetailOptions{Language: "en-US"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "api_key=0123456789abcdef0123456789abcdef&language=en-US"; got.URL.RawQuery != want {
		t.Errorf("query %q, want %q", got.URL.RawQuery, want)
	}
	if got.Header.Get("Authorization") != "" {
		t.Error("a v3 key was sent as a Bearer token too")
	}
	if want := "language=en-US"; resp.Request.URL.RawQuery != want {
		t.Errorf("the response's request has query %q, want %q", resp.Request.URL.RawQuery, want)
	}
}

func TestCallsThatCannotWorkAreNotSent(t *testing.T) {
	many := make([]string, MaxAppends+1)
	for i := range many {
		many[i] = AppendSeason(i)
	}
	calls := map[string]func(*Client) error{
		"Query": func(c *Client) error {
			_, _, err := c.SearchTV(t.Context(), SearchTVOptions{Query: " "})
			return err
		},
		"Page": func(c *Client) error {
			_, _, err := c.SearchTV(t.Context(), SearchTVOptions{Query: "a", Page: 501})
			return err
		},
		"Year": func(c *Client) error {
			_, _, err := c.SearchMovie(t.Context(), SearchMovieOptions{Query: "a", Year: 99})
			return err
		},
		"Language": func(c *Client) error {
			_, _, err := c.TV(t.Context(), 1, DetailOptions{Language: "en&api_key=x"})
			return err
		},
		"Append": func(c *Client) error {
			_, _, err := c.TV(t.Context(), 1, DetailOptions{Append: many})
			return err
		},
		"Append ": func(c *Client) error {
			_, _, err := c.TV(t.Context(), 1, DetailOptions{Append: []string{"a&b"}})
			return err
		},
		"id": func(c *Client) error {
			_, _, err := c.TV(t.Context(), 0, DetailOptions{})
			return err
		},
		"id ": func(c *Client) error {
			_, _, err := c.EpisodeGroup(t.Context(), "../../movie/1", DetailOptions{})
			return err
		},
		"external id": func(c *Client) error {
			_, _, err := c.Find(t.Context(), "..", SourceIMDb, "")
			return err
		},
		"source": func(c *Client) error {
			_, _, err := c.Find(t.Context(), "tt1", "", "")
			return err
		},
		"season": func(c *Client) error {
			_, _, err := c.Season(t.Context(), 1, -1, DetailOptions{})
			return err
		},
	}
	for field, call := range calls {
		t.Run(field, func(t *testing.T) {
			c := clientFor(t, Options{}, func(r *http.Request) (*http.Response, error) {
				t.Errorf("sent %s", r.URL)
				return answer(r, 200, jsonType, "{}"), nil
			})
			err := call(c)
			var arg *ArgumentError
			if !errors.As(err, &arg) || arg.Field != strings.TrimSpace(field) {
				t.Errorf("got %v, want an ArgumentError for %s", err, field)
			}
		})
	}
}

func TestBaseURLsThatAreRefused(t *testing.T) {
	for _, base := range []string{
		"api.themoviedb.org", "ftp://example.org", "https://", "https://user:canary@example.org",
		"https://example.org/?api_key=canary", "https://example.org/#canary", "https://exa mple.org/canary",
		"://canary", "https://[::1",
	} {
		_, err := New(Options{BaseURL: base})
		var arg *ArgumentError
		if !errors.As(err, &arg) || arg.Field != "BaseURL" {
			t.Errorf("%q: got %v", base, err)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: the error repeats it: %v", base, err)
		}
	}
}

func TestCredentialsThatCannotBeSentAreRefusedWithoutBeingRepeated(t *testing.T) {
	for _, o := range []Options{
		{Token: "canary\r\nX-Evil: 1"},
		{Token: "canary canary"},
		{APIKey: "canary\x00"},
		{APIKey: `"canary"`},
		{Token: "canaryé"},
	} {
		_, err := New(o)
		var arg *ArgumentError
		if !errors.As(err, &arg) || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
	}
}
