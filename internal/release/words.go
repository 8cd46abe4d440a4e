package release

import (
	"cmp"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/wordlist"
)

type tag uint8

const (
	none tag = iota
	tagResolution
	tagSource
	tagVideo
	tagAudio
	tagTech     // bit depth, frame rate, HDR, size, channels
	tagService  // the streaming service or station
	tagLanguage // languages of sound or text
	tagSubtitle // subtitled, dubbed
	tagEdition  // extended, uncut, remastered
	tagOther    // proper, internal, sample
	tagContainer
	tagYear
	tagDate
	tagSeason
	tagEpisode
	tagOverall // the episode again, in the count of the whole show
	tagVersion
	tagExtra
	tagSpecial
	tagPart
	tagVolume
	tagEnd // the last episode
	tagBatch
	tagMovie
	tagChecksum
	tagID
	tagSite
	tagPromo // "10月新番", "国漫": what a bracket says that is neither group nor title
	tagCountry
)

type wordInfo struct {
	tag    tag
	value  string // canonical form
	weak   bool   // may be part of a title: a tag only beside tags
	common bool   // titles have it too: a tag only in capitals, or beside another of its kind
	role   role
}

// role is the part a word has in a marker that takes more than one token.
type role uint8

const (
	noRole role = iota
	seasonWord
	seasonsWord // plural: what follows is a list
	seriesWord  // the British season, and a word of titles
	episodeWord
	unitWord // counts the episodes of some works: after a dash
	partWord
	volumeWord
	ofWord
	toWord // to: the numbers beside it are a range
	andWord
	monthWord
	akaWord
)

//go:embed words.txt
var wordsText string

type wordLists struct {
	words  map[string]wordInfo
	pairs  map[string][]pair    // by their first word
	within map[rune][]innerWord // by their first character, longest first

	romans, ordinals, cardinals                    map[string]int
	han                                            map[rune]int
	endings, spacedEndings                         map[string]bool // of ordinals
	counterWords, articles, workKinds, reposters   map[string]bool
	quantities, domains, extensions, recorderMarks map[string]bool
	partCounters, translatorEndings                []string
}

type pair struct {
	tail string
	kw   wordInfo
}

type innerWord struct {
	text  string
	alone bool // only as a run of its own
	num   int  // the season that it says, -1 for none
	wordInfo
}

var lists = sync.OnceValue(func() *wordLists {
	list := wordlist.Parse(wordsText)
	v := &wordLists{
		words: map[string]wordInfo{}, pairs: map[string][]pair{}, within: map[rune][]innerWord{}, han: map[rune]int{},
		romans: list.Numbers("roman"), ordinals: list.Numbers("ordinal"), cardinals: list.Numbers("cardinal"),
		endings: list.Set("ending"), spacedEndings: list.Set("endings"),
		counterWords: list.Set("counted"), articles: list.Set("article"), workKinds: list.Set("work"),
		reposters: list.Set("reposter"), quantities: list.Set("quantity"), domains: list.Set("domain"),
		extensions: list.Set("extension"), recorderMarks: list.Set("recorder"),
		partCounters:      list.Words("partcounter"),
		translatorEndings: list.Words("translators"),
	}
	for w, n := range list.Numbers("han") {
		r, _ := utf8.DecodeRuneInString(w)
		v.han[r] = n
	}
	for _, s := range list {
		if t, r := tagNames[s.Kind], roleNames[s.Kind]; t != none || r != noRole || s.Is("within") {
			v.add(s, wordInfo{tag: t, value: s.Value, weak: s.Is("weak"), common: s.Is("common"), role: r})
		}
	}
	for r := range v.within {
		slices.SortStableFunc(v.within[r], func(a, b innerWord) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return v
})

func (v *wordLists) add(s wordlist.Section, k wordInfo) {
	if s.Is("season") { // "se"
		k.role = seasonWord
	}
	season, err := strconv.Atoi(s.Value)
	if err != nil {
		season = -1
	}
	for _, w := range s.Words {
		head, tail, two := strings.Cut(w, " ")
		r, _ := utf8.DecodeRuneInString(w)
		switch {
		case s.Is("within"):
			v.within[r] = append(v.within[r], innerWord{w, s.Is("alone"), season, k})
		case two:
			v.pairs[head] = append(v.pairs[head], pair{tail, k})
		default:
			v.words[w] = k
		}
	}
}

var tagNames = map[string]tag{
	"resolution": tagResolution, "source": tagSource, "video": tagVideo, "audio": tagAudio, "tech": tagTech,
	"service": tagService, "language": tagLanguage, "subtitle": tagSubtitle, "edition": tagEdition, "other": tagOther,
	"container": tagContainer, "extra": tagExtra, "special": tagSpecial, "batch": tagBatch, "movie": tagMovie,
	"end": tagEnd, "spelled": tagSeason, "promo": tagPromo, "country": tagCountry, "half": tagPart,
}

var roleNames = map[string]role{
	"season": seasonWord, "seasons": seasonsWord, "series": seriesWord, "episode": episodeWord, "unit": unitWord,
	"part": partWord, "volume": volumeWord, "of": ofWord, "to": toWord, "and": andWord, "month": monthWord,
	"aka": akaWord,
}

func isOneOf(w string, words ...string) bool { return slices.Contains(words, w) }

// lookUpWord returns the entry of a lower-case word in words.txt.
func lookUpWord(w string) (wordInfo, bool) {
	k, ok := lists().words[w]
	return k, ok
}

// ordinal returns the value of a lower-case "2nd", "second", "10º".
func ordinal(w string) (int, bool) {
	switch n := leadingDigits(w); n {
	case 0:
		v, ok := lists().ordinals[w]
		return v, ok
	case 1, 2:
		if lists().endings[w[n:]] {
			return atoi(w[:n]), true
		}
	}
	return 0, false
}

// hanNumber reads a Han numeral of up to 999 at the start of s, and returns how many bytes it takes.
func hanNumber(s string) (value, size int) {
	total, last := 0, 0
	for total <= 999 {
		r, n := utf8.DecodeRuneInString(s[size:])
		d := hanDigit(r)
		if d < 0 {
			break
		}
		if d >= 10 {
			total += max(last, 1) * d
			d = 0
		}
		last = d
		size += n
	}
	return total + last, size
}

func hanDigit(r rune) int {
	if n, ok := lists().han[r]; ok {
		return n
	}
	return -1
}
