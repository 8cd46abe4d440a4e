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

// tag is the meaning of a word that is not, or not only, part of a title.
type tag uint8

const (
	noTag tag = iota
	tagResolution
	tagSource
	tagVideo
	tagAudio
	tagTech     // bit depth, frame rate, HDR, size, channels
	tagService  // the streaming service or station
	tagLanguage // a language of the sound or the subtitles
	tagSubtitle // subtitled, dubbed
	tagEdition  // extended, uncut, remastered
	tagOther    // proper, internal, sample
	tagContainer
	tagYear
	tagDate
	tagSeason
	tagEpisode
	tagOverall // the number of the episode, counted from the show's start
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
	tagPromo // remarks that are neither a group nor a title: "10月新番", "国漫"
	tagCountry
)

type wordInfo struct {
	tag    tag
	value  string // the name of the value in the output, such as "BluRay"
	weak   bool   // it may be part of a title; it is a tag only next to other tags
	common bool   // titles often have it; it is a tag only in capitals or next to a tag of the same kind
	role   role
}

// role is what a word means in a marker of several words, such as "Season 2".
type role uint8

const (
	noRole role = iota
	seasonWord
	seasonsWord // plural; a list of seasons follows
	seriesWord  // "series", which means a season in British English but is also a word of titles
	episodeWord
	unitWord // a word that counts the episodes of some works, such as "Session"
	partWord
	volumeWord
	ofWord
	toWord // joins the two numbers of a range
	andWord
	monthWord
	akaWord
)

//go:embed words.txt
var wordsText string

// wordLists holds the contents of words.txt.
type wordLists struct {
	words      map[string]wordInfo
	pairs      map[string][]wordPair // the key is the first word
	innerWords map[rune][]innerWord  // CJK words; the key is the first character, the longest word comes first

	romans, ordinals, cardinals     map[string]int
	hanDigits                       map[rune]int
	partCounters, translatorEndings []string
	remarkEndings                   map[rune][]string // the key is the last character
}

// wordPair is the second word of a tag of two words, and the entry of both.
type wordPair struct {
	second string
	info   wordInfo
}

// innerWord is a word in CJK, where no spaces separate words.
type innerWord struct {
	text     string
	wholeRun bool // it must be a whole run of CJK
	season   int  // the season it means, -1 if none
	wordInfo
}

// wordSets has the words of words.txt without further meaning, by kind.
var wordSets = wordlist.Sets(wordsText)

var lists = sync.OnceValue(func() *wordLists {
	list := wordlist.Parse(wordsText)
	v := &wordLists{
		words: map[string]wordInfo{}, pairs: map[string][]wordPair{}, innerWords: map[rune][]innerWord{},
		hanDigits: map[rune]int{}, remarkEndings: map[rune][]string{},
		romans: list.Numbers("roman"), ordinals: list.Numbers("ordinal"), cardinals: list.Numbers("cardinal"),
		partCounters: list.Words("partcounter"), translatorEndings: list.Words("translators"),
	}
	for _, w := range list.Words("remarks") {
		r, _ := utf8.DecodeLastRuneInString(w)
		v.remarkEndings[r] = append(v.remarkEndings[r], w)
	}
	for w, n := range list.Numbers("han") {
		r, _ := utf8.DecodeRuneInString(w)
		v.hanDigits[r] = n
	}
	for _, s := range list {
		if t, r := tagNames[s.Kind], roleNames[s.Kind]; t != noTag || r != noRole || s.HasFlag("within") {
			v.add(s, wordInfo{tag: t, value: s.Value, weak: s.HasFlag("weak"), common: s.HasFlag("common"), role: r})
		}
	}
	for r := range v.innerWords {
		slices.SortStableFunc(v.innerWords[r], func(a, b innerWord) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return v
})

func (v *wordLists) add(s wordlist.Section, k wordInfo) {
	if s.HasFlag("season") { // "se"
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
		case s.HasFlag("within"):
			v.innerWords[r] = append(v.innerWords[r], innerWord{w, s.HasFlag("alone"), season, k})
		case two:
			v.pairs[head] = append(v.pairs[head], wordPair{tail, k})
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

// ordinal returns the value of an ordinal in lower case: "2nd", "second", "10º".
func ordinal(w string) (int, bool) {
	switch n := leadingDigits(w); n {
	case 0:
		v, ok := lists().ordinals[w]
		return v, ok
	case 1, 2:
		if wordSets()["ending"][w[n:]] {
			return atoi(w[:n]), true
		}
	}
	return 0, false
}

// hanNumber reads a Han numeral at the start of s. It returns the value and the length in bytes.
func hanNumber(s string) (value, size int) {
	total, last := 0, 0
	for total <= 999 {
		r, n := utf8.DecodeRuneInString(s[size:])
		d, ok := lists().hanDigits[r]
		if !ok {
			break
		}
		if d >= 10 {
			total += max(last, 1) * d
			d = 0
		}
		last, size = d, size+n
	}
	return total + last, size
}
