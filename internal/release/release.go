// Package release reads what a file name says about the work it holds.
//
// Parse is pure and total: any bytes in, a Release out, in time that grows
// with the length of the name only. It answers "what does the name say", never
// "what is it": a season in a name is a hint about the work, and a bare number
// is an episode as written, not a place in a catalogue. The matcher decides
// what both mean.
//
// A path's last element and its folders are each read in stages;
// stages.go shows what each stage knows. To change what is read, add a row to
// the table that decides it. Each row has a name that needs it, which is its
// test:
//
//   - a word, or a tag of two words: words.txt; a tag with a number in it:
//     tagForms; a folder's name: folders.txt
//   - a marker such as S01E02: markForms; what is not a marker after all:
//     notCrosses, notSeasons, notOrdinals; where its list ends: episodeListEnds,
//     seasonListEnds, rangeEnds; a counter of Chinese, Japanese or Korean: cjk.go
//   - which number is the year: yearRules; what is not a group: notGroups
//   - which number is an episode: numberRules, bracketRules, leads
//   - what says extra or special: specialRules
//   - where a title ends: titleEnds, innerBrackets, staysInTitle; where one
//     text holds two: cutRules
//
// The layout of brackets (layout.go) and what folders add to a name (folder.go)
// are functions. spelling.go brings a name into the one form that is read.
//
// testdata/names at the root of the repository has made-up names by kind with
// what is to be read of them; a test also reads them, and the development
// corpora where they are, in other separators, widths and cases.
package release

// Kind says what sort of file a name describes. The zero value claims nothing.
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

// String returns the name of the kind as machine output has it; "" for Unknown.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return ""
	}
	return kinds[k]
}

var kinds = [...]string{
	Unknown: "", Episode: "episode", Movie: "movie", Special: "special", Extra: "extra", Batch: "batch",
}

// From says which part of a path a title was read from.
type From uint8

// The places a title can come from, most trusted first.
const (
	FromName   From = iota // the file's own name
	FromFolder             // the folder that holds it
	FromParent             // the folder above that one (the one below is a season folder)
)

// String returns "name", "folder" or "parent".
func (f From) String() string {
	switch f {
	case FromFolder:
		return "folder"
	case FromParent:
		return "parent"
	default:
		return "name"
	}
}

// Title is one candidate for the work's title.
type Title struct {
	Text string // as written, separators made spaces, without season words, year or tags
	Lang string // "ja", "ko", "zh", "ru", "latin", or "" when no letter says
	From From   // where in the path it stood
}

// ID is a catalogue id that the user wrote into the path.
type ID struct {
	Source string // "tmdb", "imdb", "tvdb" or "anidb"
	Kind   string // "tv" or "movie" where the name says, else ""
	Value  string // digits; for imdb with its "tt"
}

// FolderInfo is what the folders above the file say, each field empty when
// they do not. Fields of Release already take these into account.
type FolderInfo struct {
	Title   string // title in the nearest folder that has one
	Seasons []int  // seasons those folders name, "Specials" being season 0
	Year    int
	Extra   bool // a folder such as "Extras", "NCOP", "Trailers"
}

// Release is what a name, together with its folders, says. Absent text is "",
// absent numbers 0, absent lists nil; season 0 and episode 0 are values.
type Release struct {
	Path string // the input, unchanged
	Name string // its last element, unchanged

	Title  string  // the best of Titles, "" when nothing reads like one
	Titles []Title // all candidates, best first, no two alike

	Seasons  []int     // in ascending order, ranges filled
	Episodes []float64 // in ascending order, ranges filled; 12.5 is an episode
	Absolute bool      // the episode stood without a season, as counted from the show's start or its season's
	Overall  []float64 // the same episodes counted from the show's start, where the name says both: "38 (S02E14)"

	Year         int    // four digits, 0 when the name has none
	Group        string // who released it
	Resolution   string // as "1080p", "2160p", "1080i"
	Source       string // "BluRay", "WEB-DL", "HDTV", ...
	Video        string // "H.264", "H.265", "AV1", ...
	Audio        string // "AAC", "FLAC", ...
	Edition      string // "Director's Cut", "Extended", ..., of several all with spaces between
	Checksum     string // eight hexadecimal digits, upper case
	Extension    string // lower case, without the dot
	Version      int    // 2 for "v2", 0 when not said
	Kind         Kind
	Part         int        // part or cour, 0 when not said
	OfEpisode    bool       // Part is one of the episode's, not one of the season's: "S02E08.part2"
	EpisodeTitle string     // what comes after the episode number
	Special      string     // "OVA", "OAD", "SP", "NCOP", "PV", ... in upper case
	IDs          []ID       // in the order of the path
	Extra        bool       // not the work itself: creditless, trailer, menu, sample
	Folder       FolderInfo // what the folders alone say
	Left         []string   // what stood in the name and was not understood
}

// SeasonPart returns the part or cour of a season that the name speaks of, 0 for none.
func (r Release) SeasonPart() int {
	if r.OfEpisode {
		return 0
	}
	return r.Part
}

// Season returns the season the name speaks of, and whether it is exactly one.
func (r Release) Season() (int, bool) {
	if len(r.Seasons) != 1 {
		return 0, false
	}
	return r.Seasons[0], true
}
