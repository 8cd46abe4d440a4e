package organize

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

// SetSources sets the source roots. It is needed if they were not yet known for Options.
func (p *Planner) SetSources(sources []RootInfo) { p.opts.Sources = sources }

// Add adds a record. It copies what it needs, because the caller reuses the memory of the record.
func (p *Planner) Add(r *report.Record) {
	v := &video{}
	v.recordDir, v.name = path.Split(r.Path)
	p.allFiles = append(p.allFiles, v)
	v.code, v.why = p.opts.skipReason(r)
	if p.opts.PlaceExtras && v.code == CodeExtra && library.IsExtra(v.why) && !library.IsSample(r.Path) {
		v.kind, v.code, v.why = kindExtra, "", ""
	}
	if v.code != "" {
		return
	}
	if v.kind == kindVideo {
		p.readRecord(v, r)
	}
	p.locate(v)
	if v.code == "" {
		p.videos = append(p.videos, v)
	}
}

func (p *Planner) readRecord(v *video, r *report.Record) {
	v.target = p.opts.MovieTarget
	if r.Kind == "tv" {
		v.target = p.opts.TVTarget
	}
	n := &p.namers[0] // the replacements are the same for all targets
	of := workFacts{title: r.Title, originalTitle: r.OriginalTitle, year: r.Year}
	if r.IDs != nil {
		of.ids = *r.IDs
	}
	if of != p.lastFacts { // records of the same work follow one another
		p.lastFacts, p.lastCleaned = of, n.cleanFacts(of)
	}
	v.facts = p.lastCleaned
	if q := r.Parsed; q != nil {
		v.titleInName = q.Title
		v.episodesInName = slices.Clone(q.Episodes)
		if q.Season != nil && r.Season != nil && 0 < *r.Season && *r.Season < *q.Season {
			v.seasonInName = *q.Season
		}
		read := releaseTags{
			part: q.Part, version: q.Version, resolution: q.Resolution, source: q.Source, video: q.Video, audio: q.Audio,
			group: q.Group, edition: q.Edition, crc: q.Checksum,
		}
		if q.Absolute {
			read.absolute = ui.Numbers(q.Episodes, "-") // such as "12.5", or "3-4" for several
		}
		if read != p.lastTags { // those of a release's files are equal
			p.lastTags, p.lastCleanTags = read, n.cleanTags(read)
		}
		v.tags = p.lastCleanTags
	}
	v.work = Work{Entry: Entry{Kind: r.Kind, ID: r.TMDBID}, Confidence: lowestConfidence(r)}
	v.order = cmp.Or(r.Order, orders.TMDB)
	if all := r.Orders; all != nil {
		v.orders = &report.Orders{Absolute: all.Absolute, TVDB: all.TVDB, AniDB: all.AniDB}
	}
	if r.Season != nil {
		v.named = orders.Place{Season: *r.Season, Episodes: slices.Clone(r.Episodes)}
	}
	v.work.Season, v.work.Episodes = v.named.Season, v.named.Episodes
	if v.order != orders.TMDB && r.Kind == "tv" {
		v.work.Season, v.work.Episodes = r.Orders.TMDB.Season, slices.Clone(r.Orders.TMDB.Episodes)
		v.orders.TMDB = &orders.Place{Season: v.work.Season, Episodes: v.work.Episodes}
	}
	v.episodeTitles = episodeTitle(r.EpisodeTitles, len(r.Episodes))
}

func (n *namer) cleanFacts(f workFacts) *workFacts {
	f.title, f.originalTitle, f.ids.IMDB = n.clean(f.title), n.clean(f.originalTitle), n.clean(f.ids.IMDB)
	if year := " (" + ui.Number(f.year) + ")"; f.year > 0 { // some TMDB titles end with the year, but templates add it
		f.title, f.originalTitle = strings.TrimSuffix(f.title, year), strings.TrimSuffix(f.originalTitle, year)
	}
	return &f
}

func (n *namer) cleanTags(t releaseTags) *releaseTags {
	for _, text := range []*string{&t.edition, &t.resolution, &t.source, &t.video, &t.audio, &t.group, &t.crc} {
		*text = n.clean(*text)
	}
	return &t
}

func lowestConfidence(r *report.Record) float64 {
	c := 1.0
	for _, estimate := range []*float64{r.Confidence, r.EpisodeConfidence} {
		if estimate != nil {
			c = min(c, *estimate)
		}
	}
	return c
}

func (o *Options) skipReason(r *report.Record) (Code, lang.Text) {
	switch r.Status {
	case report.Matched:
	case report.Ambiguous:
		return CodeAmbiguous, r.Why()
	case report.Unmatched:
		return CodeUnmatched, ""
	case report.Pending:
		return CodePending, r.Reason
	case report.Skipped:
		switch r.Reason {
		case library.SkipIrregular:
			return CodeNotRegular, "" // the code says it all
		case library.SkipBrokenLink:
			return CodeNotRegular, r.Reason
		}
		return CodeExtra, r.Reason
	case report.Failed:
		if r.Error != nil && r.Error.Code == report.CodeNotFound {
			return CodeNotFound, r.Error.Message
		}
		return CodeUnreadable, r.Reason
	}
	return o.matchedSkipReason(r)
}

func isPartOfDisc(file string) bool {
	dir, _ := path.Split("/" + file)
	return slices.ContainsFunc([]string{"/BDMV/STREAM/", "/VIDEO_TS/", "/HVDVD_TS/"}, func(end string) bool {
		return strings.EqualFold(dir[max(len(dir)-len(end), 0):], end)
	})
}

func (o *Options) matchedSkipReason(r *report.Record) (Code, lang.Text) {
	switch {
	case r.TMDBID <= 0 || r.Kind != "tv" && r.Kind != "movie":
		return CodeUnmatched, "the record names no entry"
	case o.Mode == ModeMove && isPartOfDisc(r.Path):
		return CodePartOfDisc, ""
	case r.Kind == "tv" && lacksOrder(r):
		return CodeNoOrder, r.Reason
	case r.Kind == "tv" && o.Layout.RefuseOrder(r.Order) != "":
		return CodeNoOrder, o.Layout.RefuseOrder(r.Order)
	case r.Kind == "tv" && (r.Season == nil || len(r.Episodes) == 0 || min(*r.Season, slices.Min(r.Episodes)) < 0):
		return CodeNoEpisode, r.Reason
	case lowestConfidence(r) < o.MinConfidence && r.Source != "pin":
		return CodeLowConfidence, lang.Text(report.Percent(lowestConfidence(r)) + " " + Entry{r.Kind, r.TMDBID}.String())
	case r.Kind == "tv" && !o.Layout.AllowsGaps && !areContiguous(r.Episodes):
		return CodeNotContiguous, lang.Text(ui.Numbers(r.Episodes, ", "))
	}
	return "", ""
}

// lacksOrder reports whether a record has numbers, but not both TMDB's and those of its order.
func lacksOrder(r *report.Record) bool {
	there := r.Orders.In(r.Order) != nil || strings.HasPrefix(r.Order, orders.GroupPrefix)
	return r.Order != "" && (r.Season != nil || r.Orders.In(orders.TMDB) != nil) &&
		(r.Season == nil || r.Orders.In(orders.TMDB) == nil || !there)
}

func areContiguous(episodes []int) bool {
	for i := 1; i < len(episodes); i++ {
		if episodes[i] != episodes[i-1]+1 {
			return false
		}
	}
	return true
}

func (v *video) skip(code Code, why lang.Text) { v.code, v.why = code, why }

func (p *Planner) locate(v *video) {
	at := p.recordFolderOf(v.recordDir)
	if at.err != nil {
		v.skip(CodeUnreadable, lang.TextOf(at.err))
		return
	}
	v.dir, v.item = at.dir, at.dir.find(v.name)
	switch {
	case v.dir.err != nil:
		v.skip(CodeUnreadable, lang.TextOf(v.dir.err))
	case v.item == nil:
		v.skip(CodeUnreadable, "it no longer exists")
	case v.item.Type != TypeRegular:
		v.skip(CodeNotRegular, "")
	default:
		if p.opts.SkipCode != nil && v.kind == kindExtra {
			v.code = p.opts.SkipCode(v.item)
		}
		v.recordDir, v.name = at.recordDir, v.item.Name // drop the references into the record's memory
	}
}

func (p *Planner) recordFolderOf(recordDir string) *recordFolder {
	at, known := p.recordFolders[recordDir]
	if !known {
		at = &recordFolder{recordDir: strings.Clone(recordDir)}
		var real string
		if real, at.err = p.folders.disk.RealPath(cmp.Or(recordDir, ".")); at.err == nil {
			at.dir = p.folders.list(real)
		}
		p.recordFolders[at.recordDir] = at
	}
	return at
}

func (o *Options) sourceIndex(dir string) int {
	best := -1
	for i := range o.Sources {
		root := o.Sources[i].Path
		if IsBelow(dir, root) && (best < 0 || len(root) > len(o.Sources[best].Path)) {
			best = i
		}
	}
	return best
}

// IsBelow reports whether name is the path of the folder or of something inside it.
func IsBelow(name, folder string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

func relativeTo(name, folder string) string {
	rest := strings.TrimPrefix(name[len(strings.TrimSuffix(folder, "/")):], "/")
	return cmp.Or(rest, ".")
}
