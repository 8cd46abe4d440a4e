package nfo

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lazyregexp"
)

// Root returns the name of an XML text's root element, "" where it is none.
func Root(text []byte) string {
	s := strings.TrimPrefix(string(text), "\ufeff")
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		var end string
		switch {
		case strings.HasPrefix(s, "<!--"):
			end = "-->"
		case strings.HasPrefix(s, "<?"):
			end = "?>"
		case strings.HasPrefix(s, "<!"):
			end = ">"
		case strings.HasPrefix(s, "<"):
			name := s[1:]
			if i := strings.IndexAny(name, " \t\r\n/>"); i >= 0 {
				return name[:i]
			}
			return ""
		default:
			return ""
		}
		_, rest, found := strings.Cut(s, end)
		if !found {
			return ""
		}
		s = rest
	}
}

// forms are how an NFO names its TMDB id, the surest first: an element of today, that of older servers, an address.
var forms = []func() *regexp.Regexp{
	lazyregexp.New(`(?i)<uniqueid\s[^>]*type=["']tmdb["'][^>]*>\s*(\d{1,9})\s*<`),
	lazyregexp.New(`(?i)<tmdbid>\s*(\d{1,9})\s*<`),
	lazyregexp.New(`(?i)themoviedb\.org/(?:tv|movie)/(\d{1,9})`),
}

// IsAbout reports whether an NFO that somebody has written is about an entry: it names the entry's TMDB id, which is returned, 0
// where it names none. One of an episode names that of the episode, by which nothing can be told.
func IsAbout(text []byte, kind string, id int) (about bool, named int) {
	root := Root(text)
	if root == "episodedetails" {
		return kind == "tv", 0
	}
	for _, form := range forms {
		if m := form().FindSubmatch(text); m != nil {
			named, _ = strconv.Atoi(string(m[1]))
			break
		}
	}
	return named == id && (root == "" || root == rootOf(kind)), named
}
