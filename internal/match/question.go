package match

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// reading is one title of a name, prepared for comparison.
type reading struct {
	release.Title
	norm   string
	base   string // norm without its sequel marker
	seq    Sequel
	head   string // norm without its subtitle, "" if it has none
	film   filmForm
	weight float64 // how far it is trusted
}

// filmForm is a reading without words for a film, where the name says that it is one.
type filmForm struct {
	bare string // "" where it has none
	base string // bare without its sequel marker
	seq  Sequel
	head string // what stands before the word, "" where that is nothing
}

// question is a series with its titles prepared: as read, without the bracket at their end, and followed by the number
// of a special as films are called.
type question struct {
	Series
	read, bracketless, numbered []reading
}

func ask(s Series) question {
	prepare := func(titles []release.Title) []reading {
		out := make([]reading, len(titles))
		for i, t := range titles {
			r := reading{Title: t, norm: title.Normalize(t.Text), head: title.Normalize(withoutSubtitle(t.Text))}
			r.base, r.seq = splitSequel(r.norm)
			if s.Want == WantMovie {
				r.film = filmForm{bare: withoutFilmWords(t.Text), head: beforeFilmWord(t.Text)}
				r.film.base, r.film.seq = splitSequel(r.film.bare)
			}
			r.weight = r.weightBeside(title.Normalize(s.Title()))
			out[i] = r
		}
		return out
	}
	q := question{s, prepare(s.Titles), prepare(bracketless(s.Titles)[len(s.Titles):]), prepare(s.numbered())}
	if len(q.read) > 0 && q.read[0].From == release.FromName {
		q.read[0].weight = 1
	}
	return q
}

// norm is the likeliest reading, normalised; "" where there is none.
func (q question) norm() string {
	if len(q.read) == 0 {
		return ""
	}
	return q.read[0].norm
}

// numbered returns the readings followed by the number of a special, as films are called: "Title 2", "Title OVA 2".
func (s Series) numbered() []release.Title {
	if s.Want == WantMovie || s.Episodes != 1 || s.LastEpisode == 0 {
		return nil
	}
	n := " " + strconv.Itoa(int(s.LastEpisode))
	var out []release.Title
	for _, t := range s.Titles {
		out = append(out, release.Title{Text: t.Text + n, Lang: t.Lang, From: t.From})
		if s.Special != "" {
			out = append(out, release.Title{Text: t.Text + " " + s.Special + n, Lang: t.Lang, From: t.From})
		}
	}
	return out
}

// weightBeside returns how far a reading is trusted beside the chosen one, which is trusted wholly: those of folders
// less, a small fragment of the chosen one least: "SOS" out of a long title is the title of something else.
func (r reading) weightBeside(chosen string) float64 {
	switch {
	case r.From == release.FromParent:
		return 0.95
	case r.From == release.FromFolder:
		return 0.97
	case goesOn(r.norm, chosen):
		return 1 // the name itself, or more of it
	}
	first, part := strings.ReplaceAll(chosen, " ", ""), strings.ReplaceAll(r.norm, " ", "")
	if strings.Contains(first, part) && letters(part)*3 < letters(first) {
		return 0.85
	}
	return 0.98
}

// letters measures a text in Latin letters: a character of a script without spaces says as much as a few of them.
func letters(s string) int {
	n := 0
	for _, r := range s {
		n++
		if scriptClass(r) == 1 {
			n++
		}
	}
	return n
}

// bracketless adds the readings that end in a bracket without it: "Title (Uncut)", "標題（僅限…）". What stands in it may be
// part of the title or a remark.
func bracketless(readings []release.Title) []release.Title {
	out := readings
	for _, r := range readings {
		i := strings.LastIndexAny(r.Text, "(（[［")
		if t := strings.TrimSpace(r.Text); i > 0 && strings.LastIndexAny(t, ")）]］") > i &&
			strings.TrimSpace(r.Text[:i]) != "" {
			out = append(slices.Clip(out), release.Title{Text: r.Text[:i], Lang: r.Lang, From: r.From})
		}
	}
	return out
}
