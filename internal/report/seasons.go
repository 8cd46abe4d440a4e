package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// seasonTable prints one line for all files of a season. Below it, each file that needs attention has its own line, as
// in table. A season stays open until a folder of another entry begins, so it has one line even if each episode has its
// own folder.
type seasonTable struct {
	*table
	lastDir      string // the folder of the last file
	showSkipped  bool   // list skipped files too
	openSeasons  []*seasonRow
	pendingLines strings.Builder // lines of single files, written after the open seasons
	lastBlock    blockKind       // the kind of the last line written
}

type blockKind uint8

const (
	noBlock blockKind = iota
	seasonBlock
	fileBlock
)

type seasonRow struct {
	key           seasonKey
	title         string
	episodes      []int
	files         int
	minConfidence float64
}

type seasonKey struct {
	kind       string
	id         int
	season     int // -1 if there is none
	sourceNote lang.Text
}

const maxOpenSeasons = 64

const (
	titleCol  = 60 // maximum width of a title, in cells
	placesCol = 18 // "S01 1-12,14-24,26"
	filesCol  = 10 // "1234 files"
)

func (s *seasonTable) Match(r Record) error {
	if r.Status == Skipped && !s.showSkipped {
		return nil
	}
	s.updateWidth()
	dir, name := r.SplitPath()
	if s.lastDir != dir && !s.continuesSeason(&r) || len(s.openSeasons) >= maxOpenSeasons {
		if err := s.writePending(); err != nil {
			return err
		}
	}
	s.lastDir = dir
	if r.Status == Matched && !r.LacksEpisode() {
		s.addToSeason(&r)
	} else {
		s.writeRecord(&s.pendingLines, r, dir, name)
	}
	return nil
}

func (s *seasonTable) Close(Summary) error {
	if err := s.writePending(); err != nil {
		return err
	}
	return s.Flush()
}

func (s *seasonTable) continuesSeason(r *Record) bool {
	return r.Status == Matched && s.pendingLines.Len() == 0 && slices.ContainsFunc(s.openSeasons, func(h *seasonRow) bool {
		return h.key.kind == r.Kind && h.key.id == r.TMDBID
	})
}

func (s *seasonTable) addToSeason(r *Record) {
	key := seasonKey{kind: r.Kind, id: r.TMDBID, season: -1, sourceNote: r.SourceNote()}
	if r.Season != nil {
		key.season = *r.Season
	}
	i := slices.IndexFunc(s.openSeasons, func(h *seasonRow) bool { return h.key == key })
	if i < 0 {
		i = len(s.openSeasons)
		s.openSeasons = append(s.openSeasons, &seasonRow{key: key, title: strings.Clone(r.Entry()), minConfidence: 1})
	}
	h := s.openSeasons[i]
	h.files++
	h.episodes = append(h.episodes, r.Episodes...)
	for _, least := range []*float64{r.Confidence, r.EpisodeConfidence} {
		if least != nil {
			h.minConfidence = min(h.minConfidence, *least)
		}
	}
}

func (s *seasonTable) writePending() error {
	var b strings.Builder
	if len(s.openSeasons) > 0 && s.lastBlock == fileBlock {
		b.WriteByte('\n')
	}
	slices.SortStableFunc(s.openSeasons, func(a, b *seasonRow) int { // the files' names may mix the seasons of a series
		return cmp.Or(strings.Compare(a.title, b.title), a.key.id-b.key.id, a.key.season-b.key.season)
	})
	for _, h := range s.openSeasons {
		s.lastBlock = seasonBlock
		s.writeSeason(&b, h)
	}
	if s.pendingLines.Len() > 0 {
		if s.lastBlock != noBlock {
			b.WriteByte('\n')
		}
		s.lastBlock = fileBlock
		b.WriteString(s.pendingLines.String())
	}
	s.openSeasons, s.started = nil, false
	s.pendingLines.Reset()
	return s.write([]byte(b.String()))
}

func (s *seasonTable) writeSeason(b *strings.Builder, h *seasonRow) {
	title, places, files := ui.Printable(h.title), lang.Say(h.episodeRanges()), lang.Say(lang.Count(h.files, "file"))
	width := s.opts.Width
	if width > 0 {
		files = strings.Repeat(" ", max(filesCol-ui.Width(files), 0)) + files
	}
	rest, age := fmt.Sprintf("  %s %*s", files, percentCol, Percent(h.minConfidence)), ""
	if h.key.sourceNote != "" {
		age = "  [" + lang.Say(h.key.sourceNote) + "]"
	}
	if width > 0 { // if there is no room, first cut the title, then the source note
		at := min(placesCol, max((width-ui.Width(rest))/3, 8))
		room := width - 2 - at - ui.Width(rest)
		room = min(max(room-ui.Width(age), min(room, 12)), titleCol)
		title, places = ui.Pad(ui.Cut(title, room), room), ui.Pad(ui.Cut(places, at), at)
		age = ui.Cut(age, max(width-room-2-at-ui.Width(rest), 1))
	}
	rest += age
	b.WriteString(ui.Style(s.opts.Color, ui.Bold, title) + "  " + ui.Style(s.opts.Color, ui.Green, places))
	s.writeLine(b, ui.Dim, rest)
}

func (h *seasonRow) episodeRanges() string {
	switch {
	case h.key.kind == "movie":
		return "movie"
	case h.key.season < 0:
		return "extras"
	}
	slices.Sort(h.episodes)
	return strings.TrimSuffix(fmt.Sprintf("S%02d %s", h.key.season, FormatRanges("%d", slices.Compact(h.episodes))), " ")
}
