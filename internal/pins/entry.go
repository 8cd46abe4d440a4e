package pins

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/match"
)

// maxID is beyond any id that TMDB has given.
const maxID = 1 << 31

// ParseEntry reads "tv/26209", "movie/129", "tv:26209" or the address of a page on themoviedb.org, such as
// https://www.themoviedb.org/tv/26209-cowboy-bebop/season/1. The error says what is allowed.
func ParseEntry(s string) (match.Kind, int, error) {
	fail := fmt.Errorf("%q is not an entry: write tv/ID or movie/ID, or the address of its page on themoviedb.org", s)
	text := strings.TrimSpace(s)
	if strings.Contains(text, "://") || strings.HasPrefix(text, "www.") || strings.HasPrefix(text, "themoviedb.org/") {
		if !strings.Contains(text, "://") {
			text = "https://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" {
			return "", 0, fail
		}
		if host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www."); host != "themoviedb.org" {
			return "", 0, fail
		}
		parts := strings.Split(strings.Trim(u.Path, "/"), "/")
		if len(parts) < 2 {
			return "", 0, fail
		}
		id, _, _ := strings.Cut(parts[1], "-")
		text = parts[0] + "/" + id
	}
	kind, digits, ok := strings.Cut(text, "/")
	if !ok {
		kind, digits, ok = strings.Cut(text, ":")
	}
	k := match.Kind(strings.ToLower(kind))
	if !ok || k != match.TV && k != match.Movie || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", 0, fail
	}
	id, err := strconv.Atoi(digits)
	if err != nil || id <= 0 || id > maxID {
		return "", 0, fail
	}
	return k, id, nil
}
