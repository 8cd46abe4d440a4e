package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// titleIndex reads the imported title index. It opens the index for each series and closes it afterwards, so an import
// can replace it during a run. A nil *titleIndex has no titles.
type titleIndex struct {
	dir    string
	warn   func(error)
	warned sync.Once
}

func openIndex(dir string, warn func(error)) *titleIndex {
	own, wrong, err := index.LoadMappings(dir)
	if err != nil {
		wrong = append(wrong, err)
	}
	for _, err := range wrong {
		warn(err)
	}
	if index.Digest(dir) == "" {
		if len(own) > 0 {
			warn(lang.Error("%s has no effect without a title index: anivault index update", index.MappingsFile))
		}
		return nil
	}
	return &titleIndex{dir: dir, warn: warn}
}

func (t *titleIndex) digest() string {
	if t == nil {
		return ""
	}
	return index.Digest(t.dir)
}

func (t *titleIndex) withIndex(do func(*index.Index) error) {
	if t == nil {
		return
	}
	x, err := index.Open(t.dir)
	if errors.Is(err, index.ErrNoIndex) {
		return
	}
	if err == nil {
		err = errors.Join(do(x), x.Close())
	}
	if err != nil {
		t.warned.Do(func() { t.warn(lang.Error("%w (mend it with: anivault index import)", err)) })
	}
}

type indexResult struct {
	candidates []index.Candidate
	siblings   map[int][]index.Candidate // by the TMDB id of each series
}

// find looks up titles with a year, special or season first, such as "Title 2nd Season", then the plain titles.
func (t *titleIndex) find(s match.Series) indexResult {
	out := indexResult{siblings: map[int][]index.Candidate{}}
	if t == nil || s.Want == match.WantNothing {
		return out
	}
	t.withIndex(func(x *index.Index) error {
		sequels, sequel, plain := sequelTitles(s), s.HasSeason && s.Season != 1 || s.Part > 1, plainTitles(s)
		if s.Want == match.WantTV { // "Title (TV)" is how AniDB writes a series that shares its title with another work
			for _, text := range plainTitles(s) {
				plain = append(plain, text+" (TV)")
			}
		}
		for _, texts := range [][]string{qualifiedTitles(s), sequels, plain} {
			for _, text := range texts {
				found, err := x.Lookup(text)
				if err != nil {
					return err
				}
				for _, c := range found {
					if sequel && !slices.Contains(sequels, text) || lacksSequelMarks(c, text, s) {
						c.Numbering = orders.Numbering{}
					}
					out.add(c, s.Special == "")
				}
			}
			// "Title 2" may be a work of that name or the second season of "Title": then both are candidates.
			if len(out.candidates) > 0 && !slices.Equal(texts, sequelTitles(s)) {
				break
			}
		}
		if err := out.addLooseMatches(x, s); err != nil {
			return err
		}
		for _, c := range out.candidates {
			if c.Kind != match.TV || c.AniDBID == 0 {
				continue
			}
			of, err := x.Siblings(c.ID)
			if err != nil {
				return err
			}
			out.siblings[c.ID] = of
		}
		return nil
	})
	return out
}

// lacksSequelMarks reports whether a file's title has sequel marks that the listed one lacks: "Title +" is not "Title".
func lacksSequelMarks(c index.Candidate, text string, s match.Series) bool {
	if len(s.Titles) > 0 && strings.Contains(title.Compact(s.Titles[0].Text), title.Compact(text)) {
		text = s.Titles[0].Text
	}
	own := title.SequelSigns(text)
	return own != "" && own != title.SequelSigns(c.Text)
}

func (i *indexResult) addLooseMatches(x *index.Index, s match.Series) error {
	if s.Want == match.WantWork || s.Want == match.WantSpecial {
		return nil
	}
	for _, by := range []struct {
		texts []string
		look  func(string) ([]index.Candidate, error)
	}{{plainTitles(s), x.LookupLoosely}, {s.ShorterTitles(), x.Lookup}, {s.ShorterTitles(), x.LookupLoosely}} {
		for _, text := range by.texts {
			if len(i.candidates) > 0 {
				return nil
			}
			found, err := by.look(text)
			if err != nil {
				return err
			}
			for _, c := range found {
				c.Numbering = orders.Numbering{}
				i.add(c, true)
			}
		}
	}
	return nil
}

func (i *indexResult) add(c index.Candidate, regular bool) {
	k := slices.IndexFunc(i.candidates, func(o index.Candidate) bool { return o.Kind == c.Kind && o.ID == c.ID })
	switch {
	case k < 0:
		i.candidates = append(i.candidates, c)
	case regular && mapsToSpecials(i.candidates[k]) && !mapsToSpecials(c):
		i.candidates[k] = c
	}
}

func mapsToSpecials(c index.Candidate) bool { return c.Season != nil && *c.Season == 0 }

// maxRivals is how many entries of the index with the same title are compared without a search.
const maxRivals = 3

// sufficientCandidates returns the candidates that make a search unnecessary. An abbreviation is enough only if the
// file name is in fansub style and no other entry has the same abbreviation.
func (i *indexResult) sufficientCandidates(s match.Series) []index.Candidate {
	var known, others, short []index.Candidate
	for _, c := range i.candidates {
		switch {
		case s.Want == match.WantTV && c.Kind != match.TV, s.Want == match.WantMovie && c.Kind != match.Movie:
		case c.Abbreviation:
			short = append(short, c)
		case c.AniDBID != 0:
			known = append(known, c)
		default:
			others = append(others, c)
		}
	}
	switch {
	case len(known) > 0 && len(known) <= maxRivals && (len(others) == 0 || s.FansubStyle):
		return known
	case len(known) == 0 && len(others) == 1 && len(short) == 0:
		return others
	case len(known)+len(others) == 0 && len(short) == 1 && s.FansubStyle:
		return short
	}
	return nil
}

// hasYearNearby is hasYear with a tolerance of one year, because file names and countries often differ by one.
func hasYearNearby(e *match.Entry, year int) bool {
	return year == 0 || hasYear(e, year-1) || hasYear(e, year) || hasYear(e, year+1)
}

// hasYear reports whether an entry or one of its seasons is of the year. Year 0 fits every entry.
func hasYear(e *match.Entry, year int) bool {
	ofYear := func(s match.Season) bool { return match.YearOf(s.AirDate) == year }
	return year == 0 || e.Year == year || slices.ContainsFunc(e.Seasons, ofYear)
}

func plainTitles(s match.Series) []string {
	var out []string
	for i, t := range s.Titles {
		if i == 0 || t.From == release.FromName {
			out = append(out, t.Text)
		}
	}
	return out
}

func qualifiedTitles(s match.Series) []string {
	var out []string
	for _, t := range plainTitles(s) {
		if s.Year != 0 {
			out = append(out, fmt.Sprintf("%s (%d)", t, s.Year))
		}
		if s.Special != "" {
			out = append(out, t+" "+s.Special)
			if n := int(s.LastEpisode); n > 0 && s.Episodes == 1 {
				out = append(out, fmt.Sprintf("%s %s %d", t, s.Special, n))
			}
		}
	}
	return out
}

func sequelTitles(s match.Series) []string {
	var out []string
	for _, t := range plainTitles(s) {
		if n := s.Season; s.HasSeason && n > 1 {
			if s.Part > 1 {
				for _, part := range []string{"Part", "Cour"} {
					out = append(out, fmt.Sprintf("%s Season %d %s %d", t, n, part, s.Part),
						fmt.Sprintf("%s %s Season %s %d", t, ordinal(n), part, s.Part))
				}
				continue
			}
			chinese := fmt.Sprint(n)
			if digits := []rune("零一二三四五六七八九十"); n < len(digits) {
				chinese = string(digits[n])
			}
			out = append(out,
				fmt.Sprintf("%s %s Season", t, ordinal(n)), fmt.Sprintf("%s Season %d", t, n), fmt.Sprintf("%s %d", t, n),
				fmt.Sprintf("%s S%d", t, n), fmt.Sprintf("%s 第%d期", t, n), fmt.Sprintf("%s 第%s季", t, chinese),
				fmt.Sprintf("%s %d기", t, n))
			if n <= 5 {
				out = append(out, t+" "+[]string{"", "", "II", "III", "IV", "V"}[n])
			}
			continue
		}
		if s.Part > 1 {
			out = append(out, fmt.Sprintf("%s Part %d", t, s.Part))
		}
	}
	return out
}

func ordinal(n int) string {
	ending := "th"
	if last := n % 10; last >= 1 && last <= 3 && n/10%10 != 1 {
		ending = []string{"st", "nd", "rd"}[last-1]
	}
	return fmt.Sprint(n, ending)
}
