package report

import (
	"cmp"
	"math"
	"strconv"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/ui"
)

// ErrorFunc returns what an error of a Source means: a code, and a message for people, without secrets.
type ErrorFunc func(error) (Code, lang.Text)

// FromDecision returns the record of one file: path as it was given (any bytes), what was read from it, and what was
// decided. For a file that is pending or in error, code explains d.Err, and the code's row decides which of the two it
// is; a nil code or Err makes it internal. An ambiguous file has candidates but no entry: a script must not take a
// guess for a match.
func FromDecision(path string, rel release.Release, d match.Decision, code ErrorFunc) Record {
	parsed := ParsedOf(rel)
	r := Record{
		Path: path, Status: Status(d.Status), Reason: oneLine(d.Reason), Parsed: &parsed,
		Candidates: candidates(d.Candidates), Steps: steps(d.Steps),
	}
	switch d.Status {
	case match.Matched:
		r.place(d)
		r.Confidence = new(round4(d.Confidence))
		r.origin(d)
	case match.Ambiguous:
		r.Confidence = new(round4(d.Confidence))
		r.origin(d)
	case match.Unmatched:
		r.origin(d)
	case match.Skipped:
	case match.Pending, match.Failed:
		r.place(d)
		r.fail(d.Err, code)
	default:
		r.fail(lang.Error("no decision was made"), nil)
	}
	return r
}

// ParsedOf returns what was read from a name.
func ParsedOf(rel release.Release) Parsed {
	p := Parsed{
		Title: rel.Title, Seasons: rel.Seasons, Episodes: rel.Episodes, Absolute: rel.Absolute, Part: rel.Part,
		Special: rel.Special, EpisodeTitle: rel.EpisodeTitle, Year: rel.Year, IDs: idsOf(rel.IDs), Group: rel.Group,
		Resolution: rel.Resolution, Version: rel.Version, Checksum: rel.Checksum, Kind: rel.Kind.String(),
		Source: rel.Source, Video: rel.Video, Audio: rel.Audio, Edition: rel.Edition, Extension: rel.Extension,
	}
	if len(rel.Titles) > 0 {
		p.Titles = make([]string, len(rel.Titles))
	}
	for i, t := range rel.Titles {
		p.Titles[i] = t.Text
	}
	if len(rel.Seasons) == 1 {
		p.Season = &rel.Seasons[0]
	}
	return p
}

// idsOf returns the ids of a path, the first of each kind; nil where there are none.
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

// place fills in which entry, season and episodes the file is.
func (r *Record) place(d match.Decision) {
	if d.ID == 0 {
		return
	}
	r.Kind, r.TMDBID, r.Title, r.Year = string(d.Kind), d.ID, d.Title, d.Year
	r.OriginalTitle, r.Season, r.Episodes, r.EpisodeTitles = d.OriginalTitle, d.Season, d.Episodes, d.EpisodeTitles
	r.AirDate = d.AirDate
	if d.EpisodeConfidence != nil {
		r.EpisodeConfidence = new(round4(*d.EpisodeConfidence))
	}
	if d.IDs != (match.IDs{}) {
		r.IDs = &WorkIDs{IMDB: d.IDs.IMDb, TVDB: d.IDs.TVDB, AniDB: d.IDs.AniDB, AniList: d.IDs.AniList, MAL: d.IDs.MAL}
	}
}

// origin fills in who decided, and when the oldest cached answer that the decision stands on was fetched.
func (r *Record) origin(d match.Decision) {
	r.Source, r.CachedAt = d.Source(), d.Origin.FetchedAt
}

func (r *Record) fail(err error, code ErrorFunc) {
	c, message := CodeInternal, lang.Text("no cause was given")
	if err != nil {
		message = lang.TextOf(err)
		if code != nil {
			c, message = code(err)
		}
	}
	r.Status = c.Info().Status
	r.Error = &Error{Code: c, Message: oneLine(message)}
}

// oneLine is the text if it is on one line, else its English on one.
func oneLine(text lang.Text) lang.Text {
	english := text.String()
	if one := ui.OneLine(english); one != english {
		return lang.Text(one)
	}
	return text
}

// round4 rounds a confidence to four digits and keeps it within 0 to 1: a record never claims NaN.
func round4(c float64) float64 {
	return min(1, max(0, finite(c)))
}

func candidates(in []match.Candidate) []Candidate {
	var out []Candidate
	for _, c := range in {
		row := Candidate{string(c.Kind), c.ID, c.Title, c.Year, round4(c.Confidence), finite(c.Score), nil}
		for _, x := range c.Reasons {
			row.Reasons = append(row.Reasons, Reason{Name: x.Name, Weight: finite(x.Weight), Detail: x.Detail})
		}
		out = append(out, row)
	}
	return out
}

// finite rounds a score to four digits; JSON has no NaN and no infinity, so these become 0.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return math.Round(x*1e4) / 1e4
}

func steps(in []match.Step) []Step {
	var out []Step
	for _, s := range in {
		row := Step{Stage: s.Stage, Detail: s.Detail}
		if s.Origin != nil {
			row.Source = s.Origin.From.String()
			row.CachedAt = ui.Stamp(s.Origin.FetchedAt)
		}
		out = append(out, row)
	}
	return out
}
