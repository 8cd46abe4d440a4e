package report

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// ErrorFunc returns the code and the message, without secrets, of an error from the matcher.
type ErrorFunc func(error) (Code, lang.Text)

// FromDecision returns the record of one file. code classifies d.Err, and its result decides whether the file is
// pending or in error. An ambiguous file gets no entry, because a script could take the guess for a match.
func FromDecision(path string, rel release.Release, d match.Decision, code ErrorFunc) Record {
	parsed := ParsedOf(rel)
	r := Record{
		Path: path, Status: Status(d.Status), Reason: toOneLine(d.Reason), Parsed: &parsed,
		Candidates: candidateRows(d.Candidates), Steps: stepRows(d.Steps),
	}
	switch d.Status {
	case match.Matched:
		r.setEntry(d)
		r.Confidence = new(roundConfidence(d.Confidence))
		r.setSource(d)
	case match.Ambiguous:
		r.Confidence = new(roundConfidence(d.Confidence))
		r.setSource(d)
	case match.Unmatched:
		r.setSource(d)
	case match.Skipped:
	case match.Pending, match.Failed:
		r.setEntry(d)
		r.Fail(d.Err, code)
	default:
		r.Fail(lang.Error("no decision was made"), nil)
	}
	return r
}

// ParsedOf returns what was read from a name.
func ParsedOf(rel release.Release) Parsed {
	p := Parsed{
		Title: rel.Title, Titles: slicesx.Map(rel.Titles, func(t release.Title) string { return t.Text }),
		Seasons: rel.Seasons, Episodes: rel.Episodes, Absolute: rel.Absolute, Part: rel.Part,
		Special: rel.Special, EpisodeTitle: rel.EpisodeTitle, Year: rel.Year, IDs: idsOf(rel.IDs), Group: rel.Group,
		Resolution: rel.Resolution, Version: rel.Version, Checksum: rel.Checksum, Kind: rel.Kind.String(),
		Source: rel.Source, Video: rel.Video, Audio: rel.Audio, Edition: rel.Edition, Extension: rel.Extension,
	}
	if len(rel.Seasons) == 1 {
		p.Season = &rel.Seasons[0]
	}
	return p
}

func idsOf(list []release.ID) *IDs {
	if len(list) == 0 {
		return nil
	}
	var ids IDs
	for _, id := range list {
		n, err := strconv.Atoi(id.Value)
		switch {
		case id.Source == "imdb":
			ids.IMDB = cmp.Or(ids.IMDB, id.Value)
		case err != nil: // more digits than an id can have
		case id.Source == "tmdb":
			ids.TMDB = cmp.Or(ids.TMDB, n)
		case id.Source == "tvdb":
			ids.TVDB = cmp.Or(ids.TVDB, n)
		case id.Source == "anidb":
			ids.AniDB = cmp.Or(ids.AniDB, n)
		}
	}
	if ids == (IDs{}) {
		return nil
	}
	return &ids
}

func (r *Record) setEntry(d match.Decision) {
	if d.ID == 0 {
		return
	}
	r.Kind, r.TMDBID, r.Title, r.Year = string(d.Kind), d.ID, d.Title, d.Year
	r.OriginalTitle, r.Season, r.Episodes, r.EpisodeTitles = d.OriginalTitle, d.Season, d.Episodes, d.EpisodeTitles
	r.AirDate, r.Orders = d.AirDate, d.Orders
	if d.EpisodeConfidence != nil {
		r.EpisodeConfidence = new(roundConfidence(*d.EpisodeConfidence))
	}
	if d.IDs != (match.IDs{}) {
		r.IDs = &WorkIDs{IMDB: d.IDs.IMDb, TVDB: d.IDs.TVDB, AniDB: d.IDs.AniDB, AniList: d.IDs.AniList, MAL: d.IDs.MAL}
	}
}

// Renumber replaces season and episodes with the numbers of another order. If place is nil, the numbers in that order
// are not known, and the record loses its season and episodes.
func (r *Record) Renumber(order string, place *orders.Place) {
	r.Order = order
	if place != nil {
		r.Season, r.Episodes = new(place.Season), place.Episodes
		return
	}
	r.Reason = lang.Textf("TMDB's %s is not known in the order %s", r.Place(), order)
	r.Season, r.Episodes, r.EpisodeTitles, r.AirDate = nil, nil, nil, ""
}

func (r *Record) setSource(d match.Decision) {
	r.Source, r.CachedAt = d.Source(), d.Origin.FetchedAt
}

// Fail sets the record's error and the status that goes with it. If code is nil, the error's code is CodeInternal.
func (r *Record) Fail(err error, code ErrorFunc) {
	c, message := CodeInternal, lang.Text("no cause was given")
	if err != nil {
		message = lang.TextOf(err)
		if code != nil {
			c, message = code(err)
		}
	}
	r.Status = c.Info().Status
	r.Error = &Error{Code: c, Message: toOneLine(message)}
}

func toOneLine(text lang.Text) lang.Text {
	english := text.String()
	if one := ui.OneLine(english); one != english {
		return lang.Text(one)
	}
	return text
}

func roundConfidence(c float64) float64 { return min(1, max(0, roundFinite(c))) }

func candidateRows(in []match.Candidate) []Candidate {
	out := slices.Grow([]Candidate(nil), len(in))
	for _, c := range in {
		row := Candidate{string(c.Kind), c.ID, c.Title, c.Year, roundConfidence(c.Confidence), roundFinite(c.Score), nil}
		row.Reasons = slices.Grow(row.Reasons, len(c.Reasons))
		for _, x := range c.Reasons {
			row.Reasons = append(row.Reasons, Reason{Name: x.Name, Weight: roundFinite(x.Weight), Detail: x.Detail})
		}
		out = append(out, row)
	}
	return out
}

func roundFinite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return math.Round(x*1e4) / 1e4
}

func stepRows(in []match.Step) []Step {
	out := slices.Grow([]Step(nil), len(in))
	for _, s := range in {
		row := Step{Stage: s.Stage, Detail: s.Detail}
		if s.Origin != nil {
			row.Source = s.Origin.Freshness.String()
			row.CachedAt = ui.Timestamp(s.Origin.FetchedAt)
		}
		out = append(out, row)
	}
	return out
}

// Place formats season and episodes: S01E03, S01E03-E05, S01E03,E07, or "movie".
func (r Record) Place() string {
	if r.Kind == "movie" {
		return "movie"
	}
	season := ""
	if r.Season != nil {
		season = fmt.Sprintf("S%02d", *r.Season)
	}
	return season + FormatRanges("E%02d", r.Episodes)
}

// FormatRanges formats sorted numbers with ranges: "1-12,14".
func FormatRanges(format string, n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		last := i
		for last+1 < len(n) && n[last+1] == n[last]+1 {
			last++
		}
		part := fmt.Sprintf(format, n[i])
		if last > i {
			part += "-" + fmt.Sprintf(format, n[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}

// Entry returns the TMDB entry as "Title (1999)", or its reference if it has no title.
func (r Record) Entry() string { return entryText(r.Kind, r.TMDBID, r.Title, r.Year) }

// OtherTitle returns the original title; "" if it is the same as the title, apart from case.
func (r Record) OtherTitle() string {
	if strings.EqualFold(r.Title, r.OriginalTitle) {
		return ""
	}
	return r.OriginalTitle
}

// Ref returns the short reference of the entry: "tv/26209".
func (r Record) Ref() string { return entryRef(r.Kind, r.TMDBID) }

func entryRef(kind string, id int) string { return kind + "/" + strconv.Itoa(id) }

func entryText(kind string, id int, name string, year int) string {
	if name == "" {
		return entryRef(kind, id)
	}
	return title.WithYear(name, year)
}

// Entry returns the candidate as "Title (1999)", or its reference if it has no title.
func (c Candidate) Entry() string { return entryText(c.Kind, c.TMDBID, c.Title, c.Year) }

// Ref returns the candidate's short reference: "tv/26209".
func (c Candidate) Ref() string { return entryRef(c.Kind, c.TMDBID) }

// Text formats a reason and its weight for people: "title +0.62 (equals the original title)".
func (x Reason) Text() string {
	text := fmt.Sprintf("%s %+.2f", lang.Say(x.Name), x.Weight)
	if x.Detail != "" {
		text += " (" + lang.Say(x.Detail) + ")"
	}
	return text
}

// Percent formats a confidence in whole percent, rounded down: 79.9 % is not 80 %.
func Percent(c float64) string { return strconv.Itoa(int(math.Floor(c*100+1e-9))) + " %" }

// LacksEpisode reports whether the series is known but not the episode. It is false for extras, such as trailers.
func (r Record) LacksEpisode() bool {
	extra := r.Parsed != nil && r.Parsed.Kind == "extra"
	return r.Status == Matched && r.Kind != "movie" && len(r.Episodes) == 0 && !extra
}

// Why explains in one line why a file is not matched to an episode or film. It returns "" for one that is.
func (r Record) Why() lang.Text {
	switch r.Status {
	case Ambiguous:
		if len(r.Candidates) == 0 {
			return r.Reason
		}
		text := lang.Textf("could be %s", lang.Join(r.likelyCandidates(), ", "))
		if r.Reason == "" || r.hasRival() { // the reason would only name the two again
			return text
		}
		return lang.Textf("%s; %s", text, r.Reason)
	case Pending, Failed:
		if r.Error != nil {
			return r.Error.Message
		}
	case Matched:
		if r.Kind == "movie" || len(r.Episodes) > 0 {
			return ""
		}
		if r.Reason == "" {
			return "its episode is not known"
		}
		return lang.Textf("no episode: %s", r.Reason)
	case Unmatched, Skipped:
	}
	return r.Reason
}

// improbable is the confidence below which people need not see a candidate. The JSON has them all.
const improbable = 0.01

func (r Record) hasRival() bool {
	return len(r.Candidates) > 1 && r.Candidates[1].Confidence >= improbable
}

// likelyCandidates returns the likeliest candidates. A single candidate gets no percentage, because the file's line
// already shows that of the record, which may be lower.
func (r Record) likelyCandidates() []lang.Text {
	var list []lang.Text
	for i, c := range r.Candidates {
		if i == 3 || i > 0 && c.Confidence < improbable {
			break
		}
		text := c.Entry()
		if c.Title != "" {
			text += " " + c.Ref()
		}
		if sure := c.Confidence; r.hasRival() {
			if r.Confidence != nil {
				sure = min(sure, *r.Confidence)
			}
			text += " " + Percent(sure)
		}
		list = append(list, lang.Textf("%s", text))
	}
	if more := len(r.Candidates) - len(list); more > 0 && r.hasRival() {
		list = append(list, lang.Textf("%d more", more))
	}
	return list
}

// SourceNote returns a note if the decision used a stale answer, the title index or a pin, otherwise "".
func (r Record) SourceNote() lang.Text {
	switch r.Source {
	case "stale":
		if r.CachedAt.IsZero() {
			return "stale"
		}
		return lang.Textf("stale, as of %s", r.CachedAt.Format("2006-01-02"))
	case "index":
		return "from the title index"
	case "pin":
		return "pinned"
	}
	return ""
}

// SplitPath splits the path into folder and name. The folder has no trailing separator unless it is the root.
func (r Record) SplitPath() (dir, name string) {
	dir, name = filepath.Split(r.Path)
	if name == "" { // "/" or "dir/"
		return "", r.Path
	}
	if end := len(dir) - 1; end > 0 && !strings.HasSuffix(dir[:end], ":") {
		dir = dir[:end]
	}
	return dir, name
}
