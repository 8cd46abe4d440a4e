package release

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"github.com/anivault/anivault/internal/title"
)

// transformation writes a name in another way that says the same. It returns the name as it was where it has nothing to
// change, and takes the name without its extension.
type transformation struct {
	name      string
	tolerance float64 // the share of names that may be read otherwise, in percent
	apply     func(name string, r Release) string
}

// usual is the tolerance where there is no reason for a larger one.
const usual = 0.5

var transformations = []transformation{
	{"underscores for spaces", usual, func(s string, _ Release) string {
		if strings.ContainsAny(s, "_/\\") {
			return s
		}
		return strings.ReplaceAll(s, " ", "_")
	}},
	// A dot also stands in decimals, dates and addresses.
	{"dots for spaces", 1.2, func(s string, _ Release) string {
		if strings.ContainsAny(s, "._/\\") {
			return s
		}
		return strings.ReplaceAll(s, " ", ".")
	}},
	{"spaces for dots", 2.0, func(s string, _ Release) string {
		if strings.ContainsAny(s, " _/\\") {
			return s
		}
		return decimal.ReplaceAllString(strings.ReplaceAll(decimal.ReplaceAllString(s, "$1\x00$2"), ".", " "), "$1.$2")
	}},
	// Only capitals, where other words have none, tell the country US from us, and the tags DC and FRENCH from words.
	{"small letters", 1.6, func(s string, _ Release) string { return strings.ToLower(s) }},
	{"capitals", 0.7, func(s string, _ Release) string { return strings.ToUpper(s) }},
	{"full width", usual, func(s string, _ Release) string { return strings.Map(widen, s) }},
	{"half width", usual, func(s string, _ Release) string { return halve(s) }},
	{"decomposed", usual, func(s string, _ Release) string { return norm.NFD.String(s) }},
	{"resolution added", usual, withTag("[1080p]")},
	{"codecs added", usual, withTag("[x265 10bit FLAC]")},
	{"checksum added", usual, withTag("[89ABCDEF]")},
	{"languages added", usual, withTag("[Multi-Subs]")},
	{"Chinese subtitles added", usual, withTag("[简繁内封字幕]")},
	// After a group a number is more often an episode, and a name that begins with its number does not any longer.
	{"group added", 1.6, func(s string, r Release) string {
		if r.Group != "" || strings.ContainsAny(s[:1], "[【(") || bare(s, r) {
			return s
		}
		return "[Quiet] " + s
	}},
	{"in a folder", usual, func(s string, r Release) string {
		if strings.ContainsAny(s, "/\\") {
			return s
		}
		return "/mnt/anime/" + s
	}},
	{"in a folder of its title", usual, func(s string, r Release) string {
		if strings.ContainsAny(s, "/\\") || r.Title == "" || strings.ContainsAny(r.Title, "/\\") {
			return s
		}
		return "/mnt/anime/" + r.Title + "/" + s
	}},
	{"markers spaced", usual, func(s string, _ Release) string { return replaceAll(s, spaced) }},
	// Few names have such a marker: two of them are the share.
	{"markers glued", 0.8, func(s string, _ Release) string { return replaceAll(s, glued) }},
}

// decimal is a number with one digit after its dot.
var decimal = regexp.MustCompile(`(\d)\.(\d)`)

type replacement struct {
	from *regexp.Regexp
	to   string
}

var (
	spaced = []replacement{
		{regexp.MustCompile(`(?i)\b(S\d{1,2})(EP?\d{1,3})\b`), "$1 $2"},
		{regexp.MustCompile(`(?i)\b(Season|Saison|Staffel|Temporada|Episode)(\d{1,2})\b`), "$1 $2"},
		{regexp.MustCompile(`([第제])(\d{1,4})([季期话話集回화회기])`), "$1 $2 $3"},
	}
	glued = []replacement{
		{regexp.MustCompile(`(?i)\b(S\d{1,2})[ ._](EP?\d{1,3})\b`), "$1$2"},
		{regexp.MustCompile(`(?i)\b(Season|Saison|Staffel|Temporada|Episode)[ ._](\d{1,2})\b`), "$1$2"},
		{regexp.MustCompile(`([第제]) (\d{1,4}) ?([季期话話集回화회기])`), "$1$2$3"},
	}
)

func replaceAll(s string, list []replacement) string {
	for _, r := range list {
		s = r.from.ReplaceAllString(s, r.to)
	}
	return s
}

// withTag adds a tag at the end of a name that has tags already, or says which episode it is.
func withTag(tag string) func(string, Release) string {
	return func(s string, r Release) string {
		if r.Resolution == "" && r.Source == "" && r.Video == "" && len(r.Seasons) == 0 || bare(s, r) {
			return s
		}
		return s + " " + tag
	}
}

// bare reports whether a name stands in folders, or says no title: a tag changes what is asked of the folders.
func bare(s string, r Release) bool { return r.Title == "" || strings.ContainsAny(s, "/\\") }

// widen returns the full-width form of a letter, a digit, or a sign that structures a name.
func widen(r rune) rune {
	if r == ' ' {
		return '　'
	}
	if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("[]_.-", r)) {
		return r + 0xFEE0
	}
	return r
}

// halve returns s with its kana in half width.
func halve(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.In(r, unicode.Katakana) || r == 'ー' {
			b.WriteString(width.Narrow.String(norm.NFD.String(string(r))))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// told is what a name says of the file, in a form in which two ways of writing it are equal.
func told(r Release) string {
	return fmt.Sprint(title.Compact(r.Title), r.Seasons, r.Episodes, r.Year)
}

// otherwise are the names of testdata/names that say something else in a way of writing: what tells there is lost in
// it, as the capitals of a tag that is a word too.
var otherwise = map[string][]string{
	"dots for spaces": {
		"Серебряный путь ТВ-2 05.mkv",
	},
	"spaces for dots": {
		"14.05.11.Silver.Rail.720p.HDTV.x264-QUIET",
		"Silver.Rail.Season.1.3.and.4.1080p",
	},
	"small letters": {
		"B-银色铁道.2019.1080p",
		"C）银色铁道 全24集",
		"D 银色铁道 (2024)",
		"Silver Rail E1.mp4",
		"Silver Rail Season 1 Episode IX",
		"Silver Rail Series 2 Part VII.avi",
		"Silver.Rail.AMZN.WEB-DL.1080p-QUIET",
		"Silver.Rail.DUBBED.GERMAN.DL.2015.1080p.BluRay.x264-QUIET",
		"Silver.Rail.NF.1080p.WEB-DL.DDP5.1.x264-QUIET",
		"Silver.Rail.NORDiC.S02E05.1080p.WEB-DL.x264-QUIET",
		"Silver.Rail.PL.1080p.WEB-DL.x264-QUIET",
		"Silver.Rail.SWEDiSH.S02E05.1080p.WEB-DL.x264-QUIET",
		"Silver.Rail.UNRATED.FRENCH.1991.1080p.BluRay.x264-QUIET",
		"Silver.Rail.iTALiAN.MD.2015.1080p.WEB-DL.x264-QUIET",
		"TVアニメ 銀色鉄道 第12話",
		"[Quiet] Silver Rail - TV (BD 1080p)",
		"銀色鉄道 PV第2弾.mp4",
		"银色电影www.site.com.银色铁道.HD.1080p.国语中字.mkv",
	},
	"capitals": {
		"House Remastered S02E03",
		"Lantern Uncut S01E04 720p",
		"Silver Rail - 12.5v2 [1080p].mkv",
		"Silver Rail Κύκλος 2 Επεισόδιο 5",
		"Silver.Cam.2019.1080p.BluRay",
		"Silver.Rail.AMZN.WEB-DL.1080p-QUIET",
		"Silver.Rail.DUBBED.GERMAN.DL.2015.1080p.BluRay.x264-QUIET",
		"Silver.Rail.Extended.S01E02.1080p.WEB",
		"Silver.Rail.NF.1080p.WEB-DL.DDP5.1.x264-QUIET",
		"Silver.Rail.NORDiC.S02E05.1080p.WEB-DL.x264-QUIET",
		"Silver.Rail.PL.1080p.WEB-DL.x264-QUIET",
		"Silver.Rail.SWEDiSH.S02E05.1080p.WEB-DL.x264-QUIET",
		"Silver.Rail.UNRATED.FRENCH.1991.1080p.BluRay.x264-QUIET",
		"Silver.Rail.iNTERNAL.S02E05.1080p.WEB.x264-QUIET",
		"Silver.Rail.iTALiAN.MD.2015.1080p.WEB-DL.x264-QUIET",
	},
	"full width": {
		"Silver Rail [05/12] [1080p]",
	},
	"codecs added": {
		"site.com_Silver.Rail.2009.1080p.mkv",
	},
	"group added": {
		"1998 - Silver Rail",
		"Silver+Rail+Ep+7",
		"site.com_Silver.Rail.2009.1080p.mkv",
		"银色铁道2019版.第05集",
	},
	"in a folder of its title": {
		"灯塔1949.第05集.mkv",
		"风起1921.S01E03",
	},
	"markers glued": {
		"Silver Rail Deuxième Saison 05 VOSTFR.mkv",
	},
}

// TestOtherWaysOfWritingANameSayTheSame reads each name as it is and in the ways of transformations: of the project's
// own names all but otherwise say the same, and of the development corpora, where they are, but for a share.
func TestOtherWaysOfWritingANameSayTheSame(t *testing.T) {
	names := sampleNames(t)
	for _, tr := range transformations {
		t.Run(tr.name, func(t *testing.T) {
			own := []string{}
			corpora := false
			var changed, all [2]int // of the names that somebody may read, and of those that nobody reads
			for _, name := range names {
				base, ext := splitExtension(name.text)
				was := Parse(name.text)
				other := tr.apply(base, was) + ext
				if other == name.text {
					continue
				}
				of := 0
				if name.unread {
					of = 1
				}
				all[of]++
				corpora = corpora || !name.own
				if got := Parse(other); told(got) != told(was) {
					changed[of]++
					if name.own {
						own = append(own, name.text)
					}
					if !name.unread {
						t.Logf("%s\n\t%s\n\t%s\n\t%s", name.text, other, told(was), told(got))
					}
				}
			}
			share := 100 * float64(changed[0]+changed[1]) / float64(max(all[0]+all[1], 1))
			// bench/accuracy prints these numbers.
			t.Logf("%s: read otherwise are %d of %d read names, %d of %d unread ones", tr.name, changed[0], all[0], changed[1],
				all[1])
			slices.Sort(own)
			if diff := cmp.Diff(append([]string{}, otherwise[tr.name]...), own); diff != "" {
				t.Errorf("the project's names that say something else (-want +got):\n%s", diff)
			}
			if corpora && share > tr.tolerance {
				t.Errorf("%.2f %% of the names are read otherwise, at most %.2f may be", share, tr.tolerance)
			}
		})
	}
}

// splitExtension cuts a name before its extension.
func splitExtension(name string) (base, ext string) {
	base, _ = cutExtension(name)
	return base, name[min(len(base), len(name)):]
}
