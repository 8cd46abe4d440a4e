package match

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// Queries lists the searches for a series, the most promising first. If the name does not show the kind, it has
// searches for films and series alike. Otherwise, those for the other kind come late, in case the name is wrong.
func Queries(s Series, want Kind) []Query {
	first, second := kindsToSearch(s.Want)
	if len(first) > 1 && s.LikelierKind() != first[0] {
		slices.Reverse(first)
	}
	if want != "" {
		first, second = []Kind{want}, nil
	}
	l := queryList{seen: map[Query]bool{}}
	whole, bases, parts, pieces := searchTexts(s.Titles)
	sortByLikelihood(whole, s.NotInIndex && s.Want != WantWork)
	n := min(len(whole), 2)
	if n > 1 && len(parts) > 1 && len(splitByScript(s.Titles[0].Text)) == 2 {
		n, bases = 1, slices.Concat(parts[:2], bases) // "기생충 Parasite": either, before the folder's name
	}
	l.add(first, whole[:n], s.Year, 0)
	l.add(first, bases, 0)
	if len(whole) > 0 {
		l.add(second, []string{whole[0], s.broaderFilmText()}, 0)
	}
	l.add(first, whole[n:], s.Year, 0)
	if s.Want == WantWork {
		return l.list // a part of the title is not certain enough for an extra
	}
	l.add(first, parts, 0)
	if s.Want == WantMovie && s.Year != 0 && len(s.Titles) > 0 {
		l.add(first, []string{searchText(beforeFilmWord(s.Titles[0].Text))}, s.Year)
	}
	l.add(first[:min(len(first), 1)], pieces, 0)
	return l.list
}

// broaderFilmText returns the search text for the series that a film without a year may belong to, "" for none.
func (s Series) broaderFilmText() string {
	if s.Want != WantMovie || s.Year != 0 {
		return ""
	}
	if i := slices.IndexFunc(s.Titles, func(t release.Title) bool { return t.From != release.FromName }); i >= 0 {
		return searchText(s.Titles[i].Text)
	}
	return searchText(withoutSubtitle(s.Titles[0].Text))
}

type queryList struct {
	list []Query
	seen map[Query]bool
}

// add adds searches for each text, in each of the years, of each kind; the year 0 is none.
func (l *queryList) add(kinds []Kind, texts []string, years ...int) {
	for _, text := range texts {
		for _, year := range years {
			for _, k := range kinds {
				q := Query{Kind: k, Text: text, Year: year}
				key := q
				key.Text = strings.ToLower(text)
				if text != "" && !l.seen[key] {
					l.seen[key] = true
					l.list = append(l.list, q)
				}
			}
		}
	}
}

// kindsToSearch returns the kinds to search for first, and those to try if that finds nothing.
func kindsToSearch(w Want) (first, second []Kind) {
	switch w {
	case WantMovie:
		return []Kind{Movie}, []Kind{TV}
	case WantAny:
		return []Kind{TV, Movie}, nil
	case WantNothing:
		return nil, nil
	default:
		return []Kind{TV}, []Kind{Movie}
	}
}

// ShorterTitles returns the titles without their sequel number, bracketed remark, subtitle or second script.
func (s Series) ShorterTitles() []string {
	_, bases, parts, _ := searchTexts(s.Titles)
	return slices.Concat(bases, parts)
}

// LikelierKind returns the kind to search for first, "" for none. If the name does not show the kind, a single media
// file is probably a film.
func (s Series) LikelierKind() Kind {
	first, _ := kindsToSearch(s.Want)
	if s.Want == WantAny && len(s.Files) == 1 && s.Files[0].Release.Extension != "" {
		return Movie
	}
	if len(first) == 0 {
		return ""
	}
	return first[0]
}

// searchTexts returns search texts for the titles: whole titles; bases, without sequel words or brackets; parts,
// without subtitle or in one script; pieces, which are first words or titles without spaces.
func searchTexts(titles []release.Title) (whole, bases, parts, pieces []string) {
	var out []string
	seen := map[string]bool{}
	add := func(t string) {
		t = searchText(t)
		long := utf8.RuneCountInString(t) >= 2 ||
			strings.ContainsFunc(t, func(r rune) bool { return r > unicode.MaxLatin1 }) // one Han character may be a word
		if k := strings.ToLower(t); t != "" && !seen[k] && (long || len(titles) == 1 && len(out) == 0) {
			seen[k] = true
			out = append(out, t)
		}
	}
	for i, t := range titles {
		if !IsPieceOfTitle(titles, i) {
			add(t.Text)
		}
	}
	n := len(out)
	for _, t := range titles {
		if base, seq := splitSequel(title.Normalize(t.Text)); !seq.IsZero() {
			add(base)
		}
	}
	for _, t := range addVariants(titles)[len(titles):] {
		add(t.Text)
	}
	m := len(out)
	for i, t := range titles {
		if IsPieceOfTitle(titles, i) {
			add(t.Text)
		}
	}
	for _, t := range titles {
		for _, part := range splitByScript(t.Text) {
			add(part)
		}
		add(withoutSubtitle(t.Text))
		add(withoutFilmWords(t.Text))
	}
	k := len(out)
	for _, t := range titles {
		add(firstWords(t.Text))
	}
	for _, t := range titles {
		add(title.RestoreUmlauts(t.Text))
		if text := searchText(t.Text); strings.Count(text, " ") < maxJoinedSpaces {
			add(strings.ReplaceAll(text, " ", ""))
		}
	}
	return out[:n], out[n:m], out[m:k], out[k:]
}

const maxJoinedSpaces = 4 // titles with fewer spaces are also searched without them

// IsPieceOfTitle reports whether title i, as read from the name, is only a piece of the likeliest one.
func IsPieceOfTitle(titles []release.Title, i int) bool {
	return i > 0 && titles[i].From == release.FromName &&
		strings.Contains(title.Compact(titles[0].Text), title.Compact(titles[i].Text))
}

// searchText returns a text in the form for TMDB's search: NFC, with single spaces and without signs. Apostrophes
// inside words stay.
func searchText(s string) string {
	s = norm.NFC.String(s)
	var b strings.Builder
	space, prev := false, ' '
	runes := []rune(s)
	for i, r := range runes {
		keep := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
		if strings.ContainsRune("'’‘`", r) && i+1 < len(runes) && unicode.IsLetter(prev) && unicode.IsLetter(runes[i+1]) {
			r, keep = '\'', true
		}
		prev = r
		if !keep {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// SubtitleMarks are the texts that separate a title from its subtitle.
var SubtitleMarks = []string{": ", "：", " - ", " – ", " — ", "～", "~", " −"}

var subtitleOrRemarkMarks = slices.Concat(SubtitleMarks, []string{"(", "（", "/", "|"})

func withoutSubtitle(s string) string { return TextBefore(s, subtitleOrRemarkMarks) }

// TextBefore returns the text before the first of the marks, "" if there is no mark or no text before it.
func TextBefore(s string, marks []string) string {
	cut := len(s)
	for _, mark := range marks {
		if i := strings.Index(s, mark); i > 0 {
			cut = min(cut, i)
		}
	}
	if cut == len(s) {
		return ""
	}
	return s[:cut]
}

// beforeFilmWord returns the normalised text before the first word for a film, "" if there is none: "silver road" for
// "Silver Road Movie 2 Night Boat".
func beforeFilmWord(s string) string {
	n := " " + title.Normalize(s) + " "
	cut := len(n)
	for _, w := range words().filmWords {
		if i := strings.Index(n, w); i >= 0 {
			cut = min(cut, i)
		}
	}
	if cut == len(n) {
		return ""
	}
	return strings.TrimSpace(n[:cut])
}

// withoutFilmWords returns the normalised title without words for a film, "" if it has none.
func withoutFilmWords(s string) string {
	n := title.Normalize(s)
	cut := " " + n + " "
	for _, w := range words().filmWords {
		cut = strings.ReplaceAll(cut, w, " ")
	}
	if cut = strings.TrimSpace(cut); cut == n {
		return ""
	}
	return cut
}

// firstWords returns the first half of a title of four or more words, or of an East Asian one that ends in an arc. It
// returns "" if that is too short to search for.
func firstWords(s string) string {
	w := strings.Fields(searchText(s))
	if len(w) < 2 || len(w) < 4 && (!hasSpacelessScript(s) || withoutArcWord(w[len(w)-1]) == w[len(w)-1]) {
		return ""
	}
	n, letters := min(max(2, len(w)/2), len(w)-1), 0
	for i, x := range w {
		letters += len(x)
		if i+1 >= n && letters >= 8 {
			return strings.Join(w[:i+1], " ")
		}
	}
	return ""
}

// splitByScript splits a title in two scripts ("葬送 Title") into its parts. It drops parts of one or two characters.
func splitByScript(s string) []string {
	var parts []string
	start, cur := 0, -1
	for i, r := range s {
		k := scriptClass(r)
		if k < 0 || k == cur {
			continue
		}
		if cur >= 0 {
			parts = append(parts, s[start:i])
			start = i
		}
		cur = k
	}
	parts = append(parts, s[start:])
	if len(parts) != 2 {
		return nil
	}
	return slices.DeleteFunc(parts, func(p string) bool { return utf8.RuneCountInString(strings.TrimSpace(p)) < 3 })
}

// scriptClass returns 1 for an East Asian letter, 0 for any other letter, -1 for other characters.
func scriptClass(r rune) int {
	switch {
	case !unicode.IsLetter(r):
		return -1
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 1
	}
	return 0
}

// sortByLikelihood sorts titles by how likely a search is to find them. These come later: Chinese titles, because each
// region has its own; Latin titles that the index lacks, which may be misspelt; and titles with macrons, because "ō"
// does not find "ou".
func sortByLikelihood(texts []string, unlisted bool) {
	rank := func(t string) int {
		script := title.Script(t)
		after := script == "zh"
		if unlisted {
			after = script == "latin" || utf8.RuneCountInString(t) < minPhraseLength
		}
		switch {
		case strings.ContainsAny(t, "āīūēōĀĪŪĒŌ"):
			return 2
		case after:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

// minPhraseLength is the least length, in characters, of an East Asian title that is probably unique. Several works may
// share a shorter one.
const minPhraseLength = 4
