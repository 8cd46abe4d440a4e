package tmdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordedDir holds bodies that TMDB sent; they are not part of this repository.
var recordedDir = filepath.Join("..", "..", "shared", "tmdb", "recorded")

func TestRecordedBodiesDecode(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(recordedDir, "*.json"))
	if len(files) == 0 {
		t.Skip("no recorded bodies beside the repository (shared/tmdb/recorded)")
	}
	kinds := []struct{ part, path string }{ // {id} is the body's own
		{"_search_tv_", "search/tv"},
		{"_search_movie_", "search/movie"},
		{"_search_multi_", "search/multi"},
		{"_episode_groups_", "tv/{id}/episode_groups"},
		{"_episode_group_", "tv/episode_group/{id}"},
		{"_season_", "tv/1396/season/1"},
		{"_episode_", "tv/1396/season/1/episode/1"},
		{"_tv_alternative_titles", "tv/{id}/alternative_titles"},
		{"_tv_translations", "tv/{id}/translations"},
		{"_tv_changes", "tv/changes"},
		{"_genre_tv_list", "genre/tv/list"},
		{"_configuration", "configuration"},
		{"_find_", "find/81189"},
		{"_tv_", "tv/{id}"},
	}
	decoded := 0
	for _, file := range files {
		name := filepath.Base(file)
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(name, "_errors"):
			recordedErrors(t, body)
			continue
		case strings.Contains(name, "_tv_anime_details"):
			var shows []json.RawMessage
			if err := json.Unmarshal(body, &shows); err != nil || len(shows) == 0 {
				t.Fatalf("%s: %v", name, err)
			}
			for _, show := range shows {
				v, err := recorded("tv/{id}", show)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				} else if d := v.(*TVDetails); d.Name == "" || d.OriginalName == "" || len(
					d.Seasons,
				) == 0 || d.Seasons[0].EpisodeCount == 0 {
					t.Errorf("%s: %s has gaps", name, d.Name)
				}
			}
			decoded++
			continue
		}
		for _, k := range kinds {
			if strings.Contains(name, k.part) {
				v, err := recorded(k.path, body)
				if err != nil {
					t.Errorf("%s as %s: %v", name, k.path, err)
				} else {
					recordedValue(t, name, v)
				}
				decoded++
				break
			}
		}
	}
	if decoded != len(files)-1 { // one file holds errors
		t.Errorf("%d of %d bodies decoded", decoded, len(files))
	}
}

// recorded decodes a body as the answer to path.
func recorded(path string, body []byte) (any, error) {
	var entry struct {
		ID any `json:"id"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&entry); err != nil {
		return nil, err
	}
	path = strings.ReplaceAll(path, "{id}", fmt.Sprint(entry.ID))
	req := httptest.NewRequest(http.MethodGet, "/3/"+path, nil)
	return readResponse(req, &http.Response{StatusCode: http.StatusOK}, body)
}

// recordedValue looks for what each kind must hold.
func recordedValue(t *testing.T, name string, v any) {
	t.Helper()
	bad := false
	switch v := v.(type) {
	case *SearchTVPage:
		bad = v.TotalPages < 1 || v.TotalResults < len(v.Results)
		for _, r := range v.Results {
			bad = bad || r.ID == 0 || r.Name == "" || r.OriginalName == ""
		}
	case *SearchMoviePage:
		bad = len(v.Results) == 0
		for _, r := range v.Results {
			bad = bad || r.ID == 0 || r.Title == ""
		}
	case *SearchMultiPage:
		bad = len(v.Results) == 0 || v.Results[0].MediaType == ""
	case *TVDetails:
		bad = v.Name == "" || len(v.Seasons) == 0 || v.NumberOfEpisodes == 0
		if strings.Contains(name, "with_append") {
			bad = bad || v.AlternativeTitles == nil || v.Translations == nil || v.ExternalIDs == nil || v.EpisodeGroups == nil ||
				v.ExternalIDs.IMDbID == "" || v.Translations.Translations[0].Data.Label() == ""
		}
	case *Season:
		bad = len(v.Episodes) == 0 || v.Episodes[0].EpisodeType == "" || v.Episodes[0].Runtime == 0
	case *Episode:
		bad = v.Name == "" || v.EpisodeNumber != 1
	case *EpisodeGroups:
		bad = len(v.Results) == 0 || v.Results[0].Type == 0
	case *EpisodeGroup:
		bad = len(v.Groups) == 0 || len(v.Groups[0].Episodes) == 0 || v.Groups[0].Episodes[0].EpisodeNumber == 0
	case *AlternativeTitles:
		bad = len(v.Results) < 20
	case *Translations:
		bad = len(v.Translations) < 60
	case *FindResults:
		bad = len(v.TV) != 1 || len(v.Movies) != 0
	case *Configuration:
		bad = v.Images.SecureBaseURL == ""
	case *GenreList:
		bad = len(v.Genres) == 0
	case *ChangesPage:
		bad = len(v.Results) == 0
	}
	if bad {
		t.Errorf("%s: a field that must hold something is empty: %+v", name, v)
	}
}

// recordedErrors decodes the error bodies with their statuses.
func recordedErrors(t *testing.T, file []byte) {
	t.Helper()
	var rows []struct {
		HTTP int             `json:"http"`
		Body json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(file, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("errors: %v", err)
	}
	for _, row := range rows {
		c := clientFor(t, Options{Token: "t"}, func(r *http.Request) (*http.Response, error) {
			return answer(r, row.HTTP, jsonType, string(row.Body)), nil
		})
		_, _, err := c.TV(t.Context(), 9000001, DetailOptions{})
		var e *Error
		if !errors.As(err, &e) || e.HTTPStatus != row.HTTP || e.Message == "" || e.Code == 0 && row.HTTP != 422 {
			t.Errorf("%d %s: got %+v", row.HTTP, row.Body, e)
		}
		var refused *UnauthorizedError
		if errors.As(err, &refused) != (row.HTTP == 401 && !slices.Contains([]int{17, 30, 39}, e.Code)) {
			t.Errorf("%d %s: got %v", row.HTTP, row.Body, err)
		}
		if errors.Is(err, ErrNotFound) != (row.HTTP == 404) {
			t.Errorf("%d %s: ErrNotFound is wrong", row.HTTP, row.Body)
		}
	}
}
