package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// secondAddress returns a stand-in with the URLs of both its addresses.
func secondAddress(t *testing.T) (f *tmdbfake.Fake, api, adm string) {
	t.Helper()
	f, err := tmdbfake.New(tmdbfake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := httptest.NewServer(f), httptest.NewServer(admin(f))
	t.Cleanup(first.Close)
	t.Cleanup(second.Close)
	return f, first.URL, second.URL
}

// ask sends a GET with a good token.
func ask(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer any.token")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp
}

// call talks to the second address.
func call(t *testing.T, method, url, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestAdminJournalAndReset(t *testing.T) {
	_, api, adm := secondAddress(t)
	for _, p := range []string{"/3/tv/1396", "/3/nothing"} {
		ask(t, api+p)
	}
	_, body := call(t, "GET", adm+"/__fake/journal", "")
	var entries []tmdbfake.Entry
	if err := json.Unmarshal([]byte(body), &entries); err != nil || len(entries) != 2 || entries[1].Status != 404 {
		t.Errorf("journal %s: %v", body, err)
	}
	_, body = call(t, "GET", adm+"/__fake/journal?format=ndjson", "")
	if n := strings.Count(body, "\n"); n != 2 || !strings.HasPrefix(body, `{"seq":1,`) {
		t.Errorf("ndjson %q", body)
	}
	var st tmdbfake.State
	_, body = call(t, "GET", adm+"/__fake/state", "")
	if err := json.Unmarshal([]byte(body), &st); err != nil || st.Requests != 2 || st.Statuses["200"] != 1 ||
		st.Statuses["404"] != 1 || st.Works == 0 {
		t.Errorf("state %s: %v", body, err)
	}
	if status, _ := call(t, "POST", adm+"/__fake/reset", ""); status != 200 {
		t.Errorf("reset: %d", status)
	}
	if _, body = call(t, "GET", adm+"/__fake/journal", ""); strings.TrimSpace(body) != "[]" {
		t.Errorf("journal after reset: %q", body)
	}
}

func TestAdminScenarioAndClock(t *testing.T) {
	f, api, adm := secondAddress(t)
	status := func() int { return ask(t, api+"/3/configuration").StatusCode }
	if code, body := call(t, "POST", adm+"/__fake/scenario",
		`{"name":"down","faults":[{"to":"10m","do":{"kind":"status","status":503,"code":9}}]}`); code != 200 ||
		!strings.Contains(body, `"down"`) {
		t.Errorf("scenario: %d %s", code, body)
	}
	if got := status(); got != 503 {
		t.Errorf("within the outage: %d", got)
	}
	if code, body := call(t, "POST", adm+"/__fake/clock", `{"advance":"10m","skew":"1h"}`); code != 200 ||
		!strings.Contains(body, `"skew": "1h0m0s"`) {
		t.Errorf("clock: %d %s", code, body)
	}
	r := ask(t, api+"/3/configuration")
	date, err := http.ParseTime(r.Header.Get("Date"))
	if ahead := date.Sub(f.Now()).Round(time.Minute); err != nil || r.StatusCode != http.StatusOK || ahead != time.Hour {
		t.Errorf("after the outage: %d, Date ahead by %s, %v", r.StatusCode, ahead, err)
	}
	if code, _ := call(t, "POST", adm+"/__fake/scenario?preset=maintenance-20m", ""); code != 200 || status() != 503 {
		t.Errorf("preset: %d", code)
	}
	for path, body := range map[string]string{
		"/__fake/scenario":            `{"faults":[{"do":{"kind":"sneeze"}}]}`,
		"/__fake/scenario?preset=sun": "",
		"/__fake/clock":               `{"advance":"-1s"}`,
		"/__fake/clock?":              `{"later":"1s"}`,
	} {
		t.Run(path, func(t *testing.T) {
			if code, answer := call(t, "POST", adm+path, body); code != 400 || !strings.Contains(answer, `"error"`) {
				t.Errorf("%s %s: %d %s", path, body, code, answer)
			}
		})
	}
	if status() != 503 {
		t.Error("a refused scenario changed the one in force")
	}
	if code, _ := call(t, "GET", adm+"/3/configuration", ""); code != 404 {
		t.Errorf("the API on the second address: %d", code)
	}
	if _, body := call(t, "GET", adm+"/__fake/clock", ""); !strings.Contains(body, `"advanced": "10m0s"`) {
		t.Errorf("clock: %s", body)
	}
	if code, body := call(t, "POST", adm+"/__fake/renumber", ""); code != 200 ||
		!strings.Contains(body, `"renumbered": true`) {
		t.Errorf("renumber: %d %s", code, body)
	}
}

func TestAdminStormChangesTheLimit(t *testing.T) {
	_, api, adm := secondAddress(t)
	if code, body := call(t, "POST", adm+"/__fake/scenario?preset=storm", ""); code != 200 ||
		!strings.Contains(body, "penalty=5/30s") {
		t.Fatalf("storm: %d %s", code, body)
	}
	limited := 0
	var last *http.Response
	for range 30 {
		r := ask(t, api+"/3/configuration")
		if r.StatusCode == http.StatusTooManyRequests {
			limited, last = limited+1, r
		}
	}
	if limited < 20 || last == nil || last.Header.Get("Retry-After") != "30" {
		t.Errorf("%d of 30 were refused, the last: %+v", limited, last)
	}
}
