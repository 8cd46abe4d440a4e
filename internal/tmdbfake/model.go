package tmdbfake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/anivault/anivault/internal/upstream"
)

// Model is a guess at what TMDB finds and how it names things. Nobody knows that
// for certain, so there are several: what holds in one alone holds by luck. The
// zero value finds by every title, names what the catalogue names and lacks
// nothing.
type Model struct {
	Rank          Rank  // the order of search results; "": RankMixed
	Finds         Finds // the titles that a search looks into; "": FindsAll
	MaxRows       int   // rows of a search, on all pages; 0: all that were found
	PlainSeasons  bool  // every season is called "Season N"
	PlainSpecials bool  // every special is called "Episode N"
	Without       Share // works that TMDB lacks
}

// Finds says which titles a search looks into.
type Finds string

// The ways to find a work.
const (
	FindsAll    Finds = "all"    // every title
	FindsShown  Finds = "shown"  // the name in the language of the request, and the original one
	FindsPrefix Finds = "prefix" // every title that begins with the query
)

// ParseFinds reads a way to find works; "" is FindsAll.
func ParseFinds(s string) (Finds, error) {
	all := []Finds{FindsAll, FindsShown, FindsPrefix}
	if s == "" {
		return FindsAll, nil
	}
	if f := Finds(s); slices.Contains(all, f) {
		return f, nil
	}
	return "", fmt.Errorf("way to find works %q is unknown: use one of %v", s, all)
}

// Share is one of several parts of the works, by a hash of kind and id. The zero
// value is none of them.
type Share struct{ Part, Of int }

// ParseShare reads "3/8": part 3 of 8, counted from 1. "" is no part.
func ParseShare(s string) (Share, error) {
	if s == "" {
		return Share{}, nil
	}
	part, of, ok := strings.Cut(s, "/")
	p, err := strconv.Atoi(part)
	n, err2 := strconv.Atoi(of)
	if !ok || err != nil || err2 != nil || p < 1 || p > n {
		return Share{}, fmt.Errorf("share %q: want a part and the number of parts, such as 3/8", s)
	}
	return Share{p, n}, nil
}

// Has reports whether a work belongs to the share.
func (s Share) Has(kind Kind, id int) bool {
	return s.Of > 0 && int(upstream.Hash(1, "share", kind, id)%uint64(s.Of)) == s.Part-1
}

func (m Model) apply(c *Catalogue) (*Catalogue, error) {
	if m.Without.Of == 0 && m.Rank != RankNamesake {
		return c, nil
	}
	var works []Work
	for _, w := range c.works {
		if m.Without.Has(w.Kind, w.ID) {
			continue
		}
		works = append(works, *w)
		if m.Rank == RankNamesake && w.ID <= MaxID {
			works = append(works, namesake(w))
		}
	}
	return NewCatalogue(works)
}

// The namesake of a work is older, and better known than most.
const (
	namesakeAge        = 17
	namesakePopularity = 50
)

// namesake returns another animation of exactly a work's titles: the romanised one
// is its name, the original one and the work's name are its others. It has two
// episodes.
func namesake(w *Work) Work {
	name := w.Name
	for _, a := range w.Alt {
		if a.Country == w.Country && latin(a.Title) {
			name = a.Title
			break
		}
	}
	n := older(w, namesakeAge)
	n.Name, n.Original, n.Language, n.Country = name, w.Original, w.Language, w.Country
	n.Genres, n.Popularity, n.Votes, n.Runtime = []int{16}, namesakePopularity, 900, w.Runtime
	n.Alt = []AltTitle{{Country: "US", Title: w.Name}}
	return n
}

// older returns a work of two episodes, or a film, that began years before another
// one.
func older(w *Work, years int) Work {
	o := Work{
		Kind: w.Kind, ID: MaxID + w.ID, Date: MakeDay(max(1950, w.Date.Year()-years), 3, 4), Status: "Ended",
		Type: "Scripted",
	}
	if w.Kind == TV {
		o.Seasons = []Season{{Number: 1, Runs: []Run{{First: 1, Last: 2, Start: o.Date}}}}
	} else {
		o.Status = "Released"
	}
	return o
}

// latin reports whether all letters of a text are Latin, and there are some.
func latin(text string) bool {
	some := false
	for _, r := range text {
		if unicode.IsLetter(r) {
			some = true
			if !unicode.Is(unicode.Latin, r) {
				return false
			}
		}
	}
	return some
}

func (f Filter) looksInto(fd *field, query string) bool {
	switch f.Finds {
	case FindsShown:
		language, country := SplitLocale(f.Language)
		return fd.phrase == phraseOf(fd.work.Original) || fd.phrase == phraseOf(fd.work.shownName(language, country))
	case FindsPrefix:
		return strings.HasPrefix(fd.phrase, query)
	case FindsAll:
	}
	return true
}

func phraseOf(title string) string { return strings.Join(Tokens(title), " ") }
