package tmdb

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/anivault/anivault/cache"
)

func TestClassComesFromThePath(t *testing.T) {
	rows := []struct {
		method, path string
		want         cache.Class
	}{
		{"GET", "/3/search/tv", cache.Search},
		{"", "/3/search/movie", cache.Search},
		{"GET", "/3/search/multi", cache.Search},
		{"GET", "/3/find/tt0903747", cache.Search},
		{"GET", "/3/tv/1396", cache.TVDetails},
		{"GET", "/prefix/3/tv/1396", cache.TVDetails},
		{"GET", "/3/tv/1396/season/0", cache.SeasonDetails},
		{"GET", "/3/tv/1396/season/1/episode/2", cache.SeasonDetails},
		{"GET", "/3/tv/1396/episode_groups", cache.EpisodeGroups},
		{"GET", "/3/tv/episode_group/5acf93e60e0a26346d0000ce", cache.EpisodeGroups},
		{"GET", "/3/tv/1396/alternative_titles", cache.Titles},
		{"GET", "/3/movie/550/external_ids", cache.Titles},
		{"GET", "/3/movie/550", cache.MovieDetails},
		{"GET", "/3/configuration", cache.Reference},
		{"GET", "/3/genre/tv/list", cache.Reference},
		{"GET", "/3/tv/3", cache.TVDetails},
		{"GET", "/3/tv/changes", cache.Uncached},
		{"GET", "/3/tv/popular", cache.Lists},
		{"GET", "/3/discover/tv", cache.Lists},
		{"GET", "/3/discover/person", cache.Uncached},
		{"GET", "/3/trending/all/day", cache.Lists},
		{"GET", "/3/search/person", cache.Lists},
		{"GET", "/3/movie/550/images", cache.Extras},
		{"GET", "/3/movie/550/watch/providers", cache.Extras},
		{"GET", "/3/tv/1396/season/1/episode/2/credits", cache.Extras},
		{"GET", "/3/person/7/combined_credits", cache.Extras},
		{"GET", "/3/person/7/external_ids", cache.Uncached},
		{"GET", "/3/person/7", cache.People},
		{"GET", "/3/collection/7", cache.People},
		{"GET", "/3/person/popular", cache.Lists},
		{"GET", "/3/person/latest", cache.Uncached},
		{"GET", "/3/configuration/languages", cache.Reference},
		{"GET", "/3/movie/550/lists", cache.Uncached},
		{"GET", "/4/list/1", cache.Uncached},
		{"GET", "/", cache.Uncached},
		{"POST", "/3/tv/1396", cache.Uncached},
		{"HEAD", "/3/tv/1396", cache.Uncached},
	}
	for _, r := range rows {
		req := &http.Request{Method: r.method, URL: &url.URL{Path: r.path}}
		if got := ClassOf(req); got != r.want {
			t.Errorf("%s %s: %v, want %v", r.method, r.path, got, r.want)
		}
	}
}

func TestAPathWithoutItsVersionIsRecognised(t *testing.T) {
	for path, want := range map[string]bool{
		"/tv/1": true, "/movie/now_playing": true, "/person/7": true, "/trending/all/day": true, "/configuration": true,
		"/3/tv/1": false, "/": false, "": false, "/4/list/1": false, "/tvs/1": false, "/keyword/1": false,
	} {
		if got := IsPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
