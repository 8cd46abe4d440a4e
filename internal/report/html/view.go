package html

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/ui"
)

// A card with at most maxOpenFiles files is open at first. In a page of manyFiles or more, only cards that need
// attention are, because browsers are slow to lay out 100,000 open rows.
const (
	maxOpenFiles = 12
	manyFiles    = 600
)

type view struct {
	Heading  string
	When     string
	Version  string
	Facts    []fact
	Filters  []filter
	Cards    []*card
	Gaps     [][]report.Gap
	Timeline *chart.Timeline
}

type fact struct{ Name, Value string }

type filter struct {
	Show  string
	Label string
	Count int
}

type card struct {
	Title     string
	Original  string
	Ref       string
	URL       string
	Note      string // "12 files, 97 % to 100 %"
	Age       string
	IsProblem bool
	IsOpen    bool
	Files     []*file
}

type file struct {
	Status      string
	Also        string // "no-episode" if the match has none: a second word for filters
	Label       string // season and episodes, or the status
	Percent     string
	Confidence  float64
	Name        string
	Folder      string // the folder, if it differs from that of the row above
	Titles      string
	Why         string
	Weighed     []report.Candidate
	Steps       []string
	PinSubjects string // what a pin command for a candidate names: folders, titles or paths, one per line

	record *report.Record
}

func newView(p Page) view {
	gaps, missing := shownGaps(p.Gaps)
	v := view{
		When: p.Started.Format("2006-01-02 15:04"), Version: strings.TrimSuffix(" "+p.Version, " "),
		Facts: facts(p.Summary), Filters: filters(p, missing, gaps != nil), Cards: cards(p), Gaps: gaps,
		Timeline: chart.NewTimeline(p.Timeline),
	}
	roots := slicesx.Map(p.Arguments, ui.Printable)
	v.Heading = cmp.Or(strings.Join(roots, ", "), "anivault")
	return v
}

func facts(s report.Summary) []fact {
	hits, all := lang.Number(s.CacheHits), lang.Number(s.CacheHits+s.CacheMisses)
	f := []fact{
		{"files", fmt.Sprint(lang.Number(s.Files))},
		{"requests to TMDB", fmt.Sprint(lang.Number(s.Requests))},
		{"answers from the cache", lang.Sprintf("%d of %d", hits, all)},
		{"slowed down by TMDB (429)", fmt.Sprint(lang.Number(s.HTTP429))},
		{"retries", fmt.Sprint(lang.Number(s.Retries))},
		{"time", lang.Say(ui.Duration(time.Duration(s.ElapsedMS) * time.Millisecond))},
	}
	if s.LimiterState != "" {
		f = append(f, fact{"limiter at the end", lang.Say(s.LimiterState)})
	}
	for i := range f {
		f[i].Name = lang.Say(f[i].Name)
	}
	return f
}

func filters(p Page, missing int, gaps bool) []filter {
	s := p.Summary
	lacking := slicesx.Count(p.Records, func(r report.Record) bool { return r.LacksEpisode() })
	var shown []filter
	add := func(f filter, show bool) {
		if show {
			f.Label = lang.Say(f.Label)
			shown = append(shown, f)
		}
	}
	add(filter{"", "all", s.Files}, true)
	add(filter{string(report.Matched), "matched", s.Matched}, true)
	add(filter{report.NoEpisode, "no episode", lacking}, lacking > 0)
	add(filter{missingFilter, "missing", missing}, gaps)
	add(filter{string(report.Ambiguous), "ambiguous", s.Ambiguous}, true)
	add(filter{string(report.Unmatched), "unmatched", s.Unmatched}, true)
	add(filter{string(report.Pending), "pending", s.Pending}, true)
	add(filter{string(report.Failed), "errors", s.Errors}, s.Errors > 0)
	add(filter{string(report.Skipped), "skipped", s.Skipped}, s.Skipped > 0)
	return shown
}

func cards(p Page) []*card {
	var troubled, found, skipped []*card
	byKey := map[string]*card{}
	group := func(list *[]*card, key string, start func() *card) *card {
		c, ok := byKey[key]
		if !ok {
			c = start()
			byKey[key] = c
			*list = append(*list, c)
		}
		return c
	}
	for i := range p.Records {
		r := &p.Records[i]
		folder, name := r.SplitPath()
		folder = ui.Printable(folder)
		var c *card
		switch r.Status {
		case report.Matched:
			c = group(&found, "entry "+r.Ref(), func() *card {
				return &card{
					Title: r.Entry(), Original: r.OtherTitle(), Ref: r.Ref(), URL: url(r.Kind, r.TMDBID),
					Age: lang.Say(r.SourceNote()),
				}
			})
		case report.Skipped:
			c = group(&skipped, "skipped", func() *card { return &card{Title: lang.Say("Skipped")} })
		default:
			c = group(&troubled, "folder "+folder, func() *card {
				return &card{Title: cmp.Or(folder, lang.Say("To look at")), IsProblem: true}
			})
		}
		c.add(r, folder, name)
	}
	all := append(append(troubled, found...), skipped...)
	folders := newFolderSet(p.Records, p.Arguments)
	for _, c := range all {
		c.setPinArguments(folders, p.NamesOnly)
		c.removeRepeats(len(p.Records) < manyFiles)
	}
	return all
}

func url(kind string, id int) string {
	if kind != "tv" && kind != "movie" || id <= 0 {
		return ""
	}
	return fmt.Sprintf("https://www.themoviedb.org/%s/%d", kind, id)
}

func (c *card) add(r *report.Record, folder, name string) {
	f := &file{
		Status: string(r.Status), Label: string(r.Status), Name: ui.Printable(name), Folder: folder,
		Titles: strings.Join(r.EpisodeTitles, " / "), Weighed: r.Candidates, record: r,
	}
	why := r.Why()
	switch {
	case r.Status != report.Matched:
	case r.LacksEpisode():
		f.Also, f.Label = report.NoEpisode, "no episode"
		why = cmp.Or(r.Reason, why) // the label says that there is no episode
	default:
		f.Label, why = cmp.Or(r.Place(), f.Label), cmp.Or(why, r.Reason)
	}
	if r.Status == report.Ambiguous && len(r.Candidates) > 0 {
		why = r.Reason // without the candidates, which the page lists itself
	}
	f.Label, f.Why = lang.Say(f.Label), lang.Say(why)
	if r.Confidence != nil {
		f.Percent, f.Confidence = report.Percent(*r.Confidence), *r.Confidence
	}
	for _, s := range r.Steps {
		f.Steps = append(f.Steps, lang.Say(s.Stage)+": "+lang.Say(s.Detail))
	}
	c.Files = append(c.Files, f)
}

func (c *card) setPinArguments(all folderSet, namesOnly bool) {
	for from := 0; from < len(c.Files); {
		first := c.Files[from]
		evidence := candidateKey(first.record)
		records := []*report.Record{first.record}
		for from++; from < len(c.Files) && candidateKey(c.Files[from].record) == evidence; from++ {
			records = append(records, c.Files[from].record)
		}
		if len(first.Weighed) > 0 {
			first.PinSubjects = strings.Join(all.pinArguments(records, namesOnly), "\n")
		}
	}
}

func (c *card) removeRepeats(mayOpen bool) {
	lowest, highest, lacking := 2.0, -1.0, 0
	var folder, why, list, steps string
	for i, f := range c.Files {
		if f.Percent != "" {
			lowest, highest = min(lowest, f.Confidence), max(highest, f.Confidence)
		}
		if f.Also != "" {
			lacking++
		}
		if own := f.Folder; c.IsProblem || i > 0 && own == folder {
			f.Folder = ""
		} else {
			folder = own
		}
		if own := f.Why; !c.IsProblem && f.Also == "" && own == why {
			f.Why = ""
		} else {
			why = own
		}
		if own := candidateKey(f.record); i > 0 && own == list {
			f.Weighed = nil
		} else {
			list = own
		}
		if own := strings.Join(f.Steps, "\n"); own == steps {
			f.Steps = nil
		} else {
			steps = own
		}
	}
	c.Note = lang.Say(lang.Count(len(c.Files), "file"))
	if !c.IsProblem && highest >= 0 {
		c.Note += ", " + report.Percent(lowest)
		if high := report.Percent(highest); high != report.Percent(lowest) {
			c.Note = lang.Sprintf("%s to %s", c.Note, high)
		}
	}
	if lacking > 0 {
		c.Note = lang.Sprintf("%s, %d without an episode", c.Note, lang.Number(lacking))
	}
	c.IsOpen = c.IsProblem || mayOpen && c.Ref != "" && len(c.Files) <= maxOpenFiles
}
