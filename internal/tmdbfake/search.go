package tmdbfake

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/upstream"
)

// Rank is the order of search results.
type Rank string

// The rank modes. Mixed is nearest to what TMDB's recorded pages show; a
// matcher that needs a certain order fails in one of the others.
const (
	RankMixed      Rank = "mixed"      // tier, length and popularity
	RankPopularity Rank = "popularity" // popularity alone
	RankText       Rank = "text"       // tier and length
	RankDecoy      Rank = "decoy"      // mixed, with an unpopular namesake of the first row at rank 2
	RankShuffled   Rank = "shuffled"   // by chance within a tier
	// mixed, with an older animation of the same titles and two episodes beside every work
	RankNamesake Rank = "namesake"
)

// Ranks lists the rank modes.
func Ranks() []Rank {
	return []Rank{RankMixed, RankPopularity, RankText, RankDecoy, RankShuffled, RankNamesake}
}

// ParseRank reads a rank mode; "" is RankMixed.
func ParseRank(s string) (Rank, error) {
	if s == "" {
		return RankMixed, nil
	}
	if r := Rank(s); slices.Contains(Ranks(), r) {
		return r, nil
	}
	return "", fmt.Errorf("rank mode %q is unknown: use one of %v", s, Ranks())
}

// MaxID is the largest id of a work. A namesake has the id of its work added to it.
const MaxID = 900_000_000

// decoyRank is the place of the namesake, counted from 0.
const decoyRank = 1

// Filter narrows a search. Zero fields do not filter.
type Filter struct {
	Year      int // TV: any episode; movie: any release
	FirstYear int // TV: first_air_date_year; movie: primary_release_year
	Adult     bool
	Finds     Finds  // the titles that are looked into
	Language  string // of the names that are shown; matters for FindsShown
}

type hit struct {
	work  *Work
	tier  float64
	text  float64 // tier and length
	score float64
	luck  uint64
}

// Search returns the works of a kind that match the query, in rank order. The
// same arguments give the same list.
func (c *Catalogue) Search(kind Kind, query string, f Filter, rank Rank, seed uint64) []*Work {
	q := Tokens(query)
	hits := c.hits(kind, q, f, rank, seed)
	out := make([]*Work, 0, len(hits)+1)
	for _, h := range hits {
		out = append(out, h.work)
	}
	if rank == RankDecoy && len(out) > 0 {
		if d := decoy(out[0]); f.passes(d) {
			out = slices.Insert(out, min(decoyRank, len(out)), d)
		}
	}
	return out
}

// hits returns what a query finds, in order.
func (c *Catalogue) hits(kind Kind, q []string, f Filter, rank Rank, seed uint64) []hit {
	text := strings.Join(q, " ")
	length := utf8.RuneCountInString(text)
	best := map[*Work]int{}
	var hits []hit
	c.index[kind].candidates(q, func(fd *field) {
		if !f.passes(fd.work) || !f.looksInto(fd, text) {
			return
		}
		tier := tierOf(fd.phrase, text)
		t := tier + 10*math.Min(1, float64(length)/float64(fd.length))
		if at, ok := best[fd.work]; ok {
			if t > hits[at].text {
				hits[at].tier, hits[at].text = tier, t
			}
			return
		}
		best[fd.work] = len(hits)
		hits = append(hits, hit{work: fd.work, tier: tier, text: t})
	})
	for i := range hits {
		h := &hits[i]
		switch rank {
		case RankPopularity:
			h.score = h.work.Popularity
		case RankText:
			h.score = h.text
		case RankShuffled:
			h.score = h.tier
			h.luck = upstream.Hash(seed, text, h.work.ID)
		case RankMixed, RankDecoy, RankNamesake:
			h.score = h.text + 10*math.Log10(1+h.work.Popularity)
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.luck, b.luck), cmp.Compare(a.work.ID, b.work.ID))
	})
	return hits
}

// tierOf rates how a title contains a query. Both are tokens with spaces between.
func tierOf(title, query string) float64 {
	switch {
	case title == query:
		return 40
	case strings.HasPrefix(title, query):
		return 30
	case strings.Contains(title, query):
		return 20
	default:
		return 10
	}
}

func (f Filter) passes(w *Work) bool {
	if w.Adult && !f.Adult {
		return false
	}
	if f.FirstYear != 0 && w.Date.Year() != f.FirstYear {
		return false
	}
	return f.Year == 0 || slices.Contains(w.years, f.Year)
}

// decoy returns an unpopular namesake of a work: the same title, another year, not
// animated, two episodes.
func decoy(w *Work) *Work {
	d := older(w, namesakeAge)
	d.Name, d.Original, d.Language, d.Country = w.shownName("en", "US"), w.shownName("en", "US"), "en", "US"
	d.Genres, d.Popularity, d.Votes, d.Runtime = []int{18}, 0.5, 1, 44
	d.finish()
	return &d
}

// work returns a work or, in decoy mode, a namesake; nil if there is neither.
func (c *Catalogue) work(kind Kind, id int, rank Rank) *Work {
	if rank == RankDecoy && id > MaxID {
		if w := c.byID[kind][id-MaxID]; w != nil {
			return decoy(w)
		}
	}
	return c.byID[kind][id]
}
