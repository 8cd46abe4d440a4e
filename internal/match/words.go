package match

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/wordlist"
)

//go:embed words.txt
var wordsText string

// vocabulary is words.txt as it is looked up.
type vocabulary struct {
	numbers, han                                       map[string]int
	alone, ordinals, whole, pieces, specials, common   map[string]bool
	seasonBehind, seasonBefore, partBehind, partBefore map[string]bool
	films, arcs                                        []string // as they stand in a title: with a blank before Latin ones
	filmsOrSpecials                                    map[string]bool
	filmsOrSpecialsWithin                              []string // in scripts without spaces
	season, episode                                    string   // alternatives of a regular expression
}

// words reads words.txt when the first title is compared.
var words = sync.OnceValue(func() *vocabulary {
	list := wordlist.Parse(wordsText)
	v := &vocabulary{
		numbers: list.Numbers("number"), han: list.Numbers("han"),
		alone: list.Set("alone"), ordinals: list.Set("ordinal"), whole: list.Set("whole"), pieces: list.Set("piece"),
		specials: list.Set("special"), common: list.Set("common"), seasonBehind: list.Set("seasonbehind"),
		seasonBefore: list.Set("seasonbefore"), partBehind: list.Set("partbehind"), partBefore: list.Set("partbefore"),
		filmsOrSpecials: list.Set("filmorspecial"),
		season:          strings.Join(list.Words("season"), "|"), episode: strings.Join(list.Words("episode"), "|"),
	}
	for _, w := range list.Words("film") {
		if !spaceless(w) {
			w = " " + w + " "
		}
		v.films = append(v.films, w)
	}
	for _, w := range list.Words("arc") {
		if !spaceless(w) {
			w = " " + w
		}
		v.arcs = append(v.arcs, w)
	}
	for w := range v.filmsOrSpecials {
		if spaceless(w) {
			v.filmsOrSpecialsWithin = append(v.filmsOrSpecialsWithin, title.Normalize(w))
		}
	}
	return v
})
