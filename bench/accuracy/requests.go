package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// asked is a request as the journal keeps it.
type asked struct {
	Path  string `json:"path"`
	Query string `json:"query"`
}

// journal returns all requests since the start.
func (s *stand) journal() ([]asked, error) {
	resp, err := http.Get("http://" + s.admin + "/__fake/journal")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var entries []asked
	return entries, json.NewDecoder(resp.Body).Decode(&entries)
}

// requestReasons are the lines of the table of what requests were for, in its order.
var requestReasons = []string{
	"search", "search without the year", "search for the other kind", "search, further page",
	"details of a work asked for", "details of another", "names of seasons in another language", "episode group", "other",
}

// printRequests prints what requests were for, each line also per work.
func printRequests(list []asked, works map[string]bool) {
	counts := map[string]int{}
	before := map[string]map[string]bool{} // text -> kind and year it was asked with
	for _, a := range list {
		counts[reasonOf(a, works, before)]++
	}
	for _, r := range requestReasons {
		if counts[r] > 0 {
			fmt.Printf("%7d  %5.3f  %s\n", counts[r], float64(counts[r])/float64(len(works)), r)
		}
	}
	fmt.Printf("%d requests for %d works: %.2f each\n", len(list), len(works), float64(len(list))/float64(len(works)))
}

func reasonOf(a asked, works map[string]bool, before map[string]map[string]bool) string {
	q, err := url.ParseQuery(a.Query)
	if err != nil {
		return "other"
	}
	parts := strings.Split(strings.TrimPrefix(a.Path, "/3/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "search":
		text, kind := q.Get("query"), parts[1]
		year := q.Get("year")
		seen := before[text]
		if seen == nil {
			seen = map[string]bool{}
			before[text] = seen
		}
		again := len(seen) > 0
		same := seen[kind]
		seen[kind] = true
		switch {
		case q.Get("page") != "" && q.Get("page") != "1":
			return "search, further page"
		case again && same && year == "":
			return "search without the year"
		case again && !same:
			return "search for the other kind"
		}
		return "search"
	case strings.Contains(a.Path, "/episode_group/"):
		return "episode group"
	case len(parts) == 2 && q.Get("append_to_response") == "":
		return "names of seasons in another language"
	case len(parts) == 2 && works[parts[0]+"/"+parts[1]]:
		return "details of a work asked for"
	case len(parts) == 2:
		return "details of another"
	}
	return "other"
}
