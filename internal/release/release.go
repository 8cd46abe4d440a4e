// Package release reads what a file name says about the film or episode in the file.
//
// Parse has no side effects and accepts any bytes; it takes time in proportion to the length of the name. It returns
// what the name says, not what the work is: a season in a name is a hint, and a number without a marker is an episode
// number as written. The matcher decides what both mean.
//
// The last element of a path and each folder are read in the stages of stages.go. To change how names are read, add a
// row to one of these tables. Each row has an example in testdata/rules.txt, which is its test: a name that is read
// wrongly without the row.
//
//   - a word, or a tag of two words: words.txt; a tag with a number in it: tagForms; a folder's name: folders.txt
//   - a marker such as S01E02: markerForms; its exceptions: crossExceptions, seasonWordExceptions,
//     ordinalSeasonExceptions; the end of its list: episodeListEnds, seasonListEnds, rangeEnds; a Chinese, Japanese or
//     Korean counter: cjk.go
//   - the year: yearRules; what is not a group: groupExceptions
//   - an episode number without a marker: numberRules, bracketNumberRules, leadingNumberRules
//   - an extra or special: specialRules
//   - the end of a title: titleEndRules, innerBracketRules, keptTagReasons; two titles in one text: cutRules
//
// The layout of brackets (layout.go) and what folders add to a name (folder.go) are functions. spelling.go normalizes
// a name before it is read.
//
// testdata/names at the root of the repository has made-up names and the expected readings. A test also reads them
// with other separators and in other cases.
package release

// Kind is the sort of file that a name describes; the zero value is Unknown.
type Kind uint8

// The kinds of file a name can describe.
const (
	Unknown Kind = iota // the name does not say
	Episode             // one or a few episodes of a series
	Movie               // a film
	Special             // OVA, OAD, SP, a season 0 episode
	Extra               // creditless openings, trailers, menus: never matched
	Batch               // a whole season, or more of it than one file holds
)

// String returns the name of the kind in machine output, "" for Unknown.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return ""
	}
	return kinds[k]
}

var kinds = [...]string{
	Unknown: "", Episode: "episode", Movie: "movie", Special: "special", Extra: "extra", Batch: "batch",
}

// From is the part of a path that a title was read from.
type From uint8

// The places a title can come from, most trusted first.
const (
	FromName   From = iota // the file's own name
	FromFolder             // the folder that holds it
	FromParent             // the folder above that one (the one below is a season folder)
)

// Title is one candidate for the work's title.
type Title struct {
	Text string // as written, separators made spaces, without season words, year or tags
	Lang string // "ja", "ko", "zh", "ru", "latin", or "" if there are no letters
	From From   // the part of the path it was read from
}

// ID is a catalogue id that the user wrote into the path.
type ID struct {
	Source string // "tmdb", "imdb", "tvdb" or "anidb"
	Kind   string // "tv" or "movie" where the name says, else ""
	Value  string // digits; for imdb with its "tt"
}

// FolderInfo is what the folders above the file say. The other fields of Release already take it into account.
type FolderInfo struct {
	Title   string // title in the nearest folder that has one
	Seasons []int  // seasons that those folders name; "Specials" is season 0
	Special bool   // season 0 is only read from a folder such as "Specials" or "OVA"
	Year    int
	Extra   bool // a folder such as "Extras", "NCOP", "Trailers"
	Live    bool // a folder such as "Dramas", in which nothing is animation
}

// Release is what was read from a name and its folders. Missing text is "", a missing number is 0 and a missing list
// is nil. In a list, 0 is a real season or episode.
type Release struct {
	Path string // the input, unchanged
	Name string // its last element, unchanged

	Title  string  // the best of Titles, "" if there is none
	Titles []Title // all candidates, best first, no two alike

	Seasons  []int     // in ascending order, ranges filled
	Episodes []float64 // in ascending order, ranges filled; 12.5 is an episode
	Absolute bool      // there are episodes but no season, so they may count from the start of the show
	Overall  []float64 // if the name has both numbers, Episodes counted from the show's start: 38 in "38 (S02E14)"

	Year          int    // four digits, 0 if the name has none
	Date          string // YYYY-MM-DD, "" if the name has none that can be read in one way only
	Group         string // the release group
	Resolution    string // as "1080p", "2160p", "1080i"
	Source        string // "BluRay", "WEB-DL", "HDTV", ...
	Video         string // "H.264", "H.265", "AV1", ...
	Audio         string // "AAC", "FLAC", ...
	Edition       string // "Director's Cut", "Extended", ...; several are separated by spaces
	Checksum      string // eight hexadecimal digits, upper case
	Extension     string // lower case, without the dot
	Version       int    // 2 for "v2", 0 if the name has none
	Kind          Kind
	Part          int        // part or cour, 0 if the name has none
	PartOfEpisode bool       // Part is a part of the episode, not of the season: "S02E08.part2"
	EpisodeTitle  string     // the text after the episode number
	Special       string     // "OVA", "OAD", "SP", "NCOP", "PV", ... in upper case
	IDs           []ID       // in the order of the path
	Extra         bool       // an extra and not the work itself: a creditless opening, trailer, menu or sample
	Folder        FolderInfo // read from the folders alone
}

// SeasonPart returns the part or cour of a season, or 0.
func (r Release) SeasonPart() int {
	if r.PartOfEpisode {
		return 0
	}
	return r.Part
}

// Season returns the season if the name has exactly one.
func (r Release) Season() (int, bool) {
	if len(r.Seasons) != 1 {
		return 0, false
	}
	return r.Seasons[0], true
}
