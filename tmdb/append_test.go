package tmdb

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// show answers details with the seasons it has; like TMDB it leaves out those it has not, and refuses more than 20
// items.
func show(t *testing.T, seasons []int, asked *[][]string, fail int) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		items := strings.Split(strings.TrimPrefix(r.URL.RawQuery, "append_to_response="), ",")
		*asked = append(*asked, items)
		if len(*asked) == fail {
			return answer(r, 503, jsonType, `{"status_code":46,"status_message":"maintenance"}`), nil
		}
		if len(items) > MaxAppends {
			return answer(r, 400, jsonType, `{"status_code":27}`), nil
		}
		body := map[string]any{"id": 9000001}
		var list []any
		for _, n := range seasons {
			list = append(list, map[string]any{"season_number": n, "episode_count": 1})
			for _, item := range items {
				if item == AppendSeason(n) {
					body[item] = map[string]any{"season_number": n, "episodes": []any{map[string]any{"id": 9100000 + n}}}
				}
			}
		}
		body["seasons"] = list
		for _, item := range items {
			switch item {
			case AppendTranslations:
				body[item] = map[string]any{"translations": []any{}}
			case AppendAlternativeTitles, AppendEpisodeGroups:
				body[item] = map[string]any{"results": []any{}}
			case AppendExternalIDs:
				body[item] = map[string]any{"imdb_id": "tt9000001"}
			}
		}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Error(err)
		}
		return answer(r, 200, jsonType, string(raw)), nil
	}
}

func numbers(from, to int) []int {
	var out []int
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

func TestTVCompleteTakesAsFewRequestsAsItCan(t *testing.T) {
	four := []string{AppendAlternativeTitles, AppendTranslations, AppendEpisodeGroups, AppendExternalIDs}
	tests := []struct {
		name     string
		seasons  []int
		append   []string
		requests int
	}{
		{"no season", nil, four, 1},
		{"one season", []int{1}, four, 1},
		{"specials and 15", numbers(0, 15), four, 1},
		{"specials and 16", numbers(0, 16), four, 2},
		{"23 seasons", numbers(0, 23), four, 2},
		{"nothing else: 20 seasons", numbers(0, 19), nil, 1},
		{"40 seasons", numbers(1, 40), four, 3},
		{"numbered by year", []int{0, 1999, 2000, 2024}, four, 2},
		{"more appended than fit", numbers(0, 2), append(numbersAsSeasons(100, 125), four...), 2},
		{"the same twice", []int{1, 1}, append(four, four...), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var asked [][]string
			c := clientFor(t, Options{}, show(t, tt.seasons, &asked, 0))
			d, responses, err := c.TVComplete(t.Context(), 9000001, DetailOptions{Append: tt.append})
			if err != nil {
				t.Fatal(err)
			}
			if len(asked) != tt.requests || len(responses) != tt.requests {
				t.Errorf("%d requests, %d responses, want %d", len(asked), len(responses), tt.requests)
			}
			seen := map[string]bool{}
			for _, items := range asked {
				for _, item := range items {
					if seen[item] {
						t.Errorf("%s was asked twice", item)
					}
					seen[item] = true
				}
			}
			for _, n := range tt.seasons {
				if d.AppendedSeasons[n] == nil {
					t.Errorf("season %d is missing", n)
				}
			}
			if tt.append != nil && (d.AlternativeTitles == nil || d.Translations == nil ||
				d.EpisodeGroups == nil || d.ExternalIDs == nil) {
				t.Error("something appended is missing")
			}
		})
	}
}

func numbersAsSeasons(from, to int) []string {
	var out []string
	for _, n := range numbers(from, to) {
		out = append(out, AppendSeason(n))
	}
	return out
}

func TestTVCompleteKeepsWhatItHasWhenALaterRequestFails(t *testing.T) {
	var asked [][]string
	c := clientFor(t, Options{}, show(t, numbers(0, 30), &asked, 2))
	d, responses, err := c.TVComplete(t.Context(), 9000001, DetailOptions{})
	var e *Error
	if !errors.As(err, &e) || e.Code != 46 || len(
		responses,
	) != 2 || responses[1].StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("got %v with %d responses", err, len(responses))
	}
	if d == nil || len(d.AppendedSeasons) != 20 {
		t.Errorf("got %+v", d)
	}
}

func TestTVCompleteDoesNotRequestOmittedSeasonsAgain(t *testing.T) {
	requests := 0
	c := clientFor(t, Options{}, func(r *http.Request) (*http.Response, error) {
		requests++
		return answer(r, 200, jsonType, `{"id":9000001,"seasons":[{"season_number":1},{"season_number":-2}]}`), nil
	})
	d, _, err := c.TVComplete(t.Context(), 9000001, DetailOptions{})
	if err != nil || requests != 1 || len(d.AppendedSeasons) != 0 {
		t.Errorf("%v after %d requests", err, requests)
	}
}
