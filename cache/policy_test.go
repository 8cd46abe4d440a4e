package cache

import (
	"testing"
	"time"
)

func TestPolicyIsTheTableOfTheDocs(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const h = time.Hour
	rows := []struct {
		name   string
		class  Class
		status int
		body   string
		want   time.Duration
	}{
		{"search with results", Search, 200, `{"results":[{"id":1}]}`, day},
		{"empty search", Search, 200, `{"page":1,"results":[],"total_results":0}`, 8 * h},
		{"find with one", Search, 200, `{"movie_results":[],"tv_results":[{"id":1}]}`, day},
		{"empty find", Search, 200, `{"movie_results":[],"tv_results":[]}`, 8 * h},
		{"404 of a search", Search, 404, `{"status_code":34}`, 0},
		{"returning series", TVDetails, 200, `{"status":"Returning Series"}`, day},
		{"planned series", TVDetails, 200, `{"status":"Planned"}`, day},
		{"status null", TVDetails, 200, `{"status":null}`, day},
		{"status is no text", TVDetails, 200, `{"status":7}`, day},
		{"ended series", TVDetails, 200, `{"status":"Ended"}`, 14 * day},
		{"canceled series", TVDetails, 200, `{"status":"Canceled"}`, 14 * day},
		{"no such series", TVDetails, 404, `{"status_code":34}`, 7 * day},
		{"season of 59 days ago", SeasonDetails, 200, `{"air_date":"2026-09-23"}`, day},
		{"season of 61 days ago", SeasonDetails, 200, `{"air_date":"2026-09-21"}`, 14 * day},
		{"season to come", SeasonDetails, 200, `{"air_date":"2027-01-01"}`, day},
		{
			"old season with a new episode", SeasonDetails, 200,
			`{"air_date":"2020-01-01","episodes":[{"air_date":"2026-11-01"}]}`, day,
		},
		{
			"old season, season date null", SeasonDetails, 200, `{"air_date":null,"episodes":[{"air_date":"2020-01-01"}]}`,
			14 * day,
		},
		{"an episode to come", SeasonDetails, 200, `{"air_date":"2020-01-01","episodes":[{"air_date":null}]}`, day},
		{"season without dates", SeasonDetails, 200, `{"episodes":[]}`, day},
		{"movie", MovieDetails, 200, `{"id":1}`, 14 * day},
		{"titles", Titles, 200, `{"results":[]}`, 14 * day},
		{"groups", EpisodeGroups, 200, `{"results":[]}`, 14 * day},
		{"no such group", EpisodeGroups, 404, `{"status_code":34}`, 7 * day},
		{"configuration", Reference, 200, `{"images":{}}`, 30 * day},
		{"404 of configuration", Reference, 404, `{}`, 0},
		{"configuration's lists", Reference, 200, `[{"iso_639_1":"ja"}]`, 30 * day},
		{"person", People, 200, `{"id":1}`, 14 * day},
		{"no such person", People, 404, `{"status_code":34}`, 7 * day},
		{"credits", Extras, 200, `{"cast":[]}`, day},
		{"credits of nobody", Extras, 404, `{"status_code":34}`, day},
		{"popular", Lists, 200, `{"results":[{"id":1}]}`, 6 * h},
		{"nothing popular", Lists, 200, `{"results":[]}`, h},
		{"redirect", MovieDetails, 301, ``, 0},
		{"unauthorized", MovieDetails, 401, `{"status_code":7}`, 0},
		{"uncached", Uncached, 200, `{"a":1}`, 0},
		{"class of the future", Class(99), 200, `{"a":1}`, 0},
	}
	p := DefaultPolicy()
	for _, r := range rows {
		if got := p.Fresh(r.class, r.status, []byte(r.body), now); got != r.want {
			t.Errorf("%s: %v, want %v", r.name, got, r.want)
		}
	}
	for c := Search; c <= Reference; c++ {
		if p.Keep(c) != 180*day {
			t.Errorf("%v is kept for %v", c, p.Keep(c))
		}
		if c.String() == "" || c.String() == "unknown" {
			t.Errorf("class %d has no name", c)
		}
	}
	p[Search].Keep = 1000 * day
	if p.Keep(Search) != KeepLimit {
		t.Error("a policy may not keep anything for more than 180 days")
	}
}

func TestOnlyJSONObjectsAndArraysPass(t *testing.T) {
	rows := map[string]bool{
		`{"a":1}`:                          true,
		" \n{\"a\":null}\t":                true,
		``:                                 false,
		` `:                                false,
		`{}`:                               false,
		`{ }`:                              false,
		`[]`:                               true,
		` [{"a":1}]`:                       true,
		`[{"a":1}`:                         false,
		`"text"`:                           false,
		`null`:                             false,
		`1`:                                false,
		`{"a":1`:                           false,
		`{"a":1}{"b":2}`:                   false,
		`<html><body>502</body></html>`:    false,
		"\x1f\x8b\x08\x00compressed":       false,
		`{"a":"` + string([]byte{0}) + `"`: false,
	}
	for body, ok := range rows {
		if err := checkBody([]byte(body)); (err == nil) != ok {
			t.Errorf("%q: %v", body, err)
		}
	}
}
