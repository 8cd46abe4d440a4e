package organize

import (
	"cmp"
	_ "embed" // for the table of layouts
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/wordlist"
)

type entryKey struct {
	Entry
	anime  int
	target int
}

// plannedEntry is a series, an anime of AniDB, or a film edition, with its target folder.
type plannedEntry struct {
	order      string        // the order of the numbers in the folder
	folder     *targetFolder // the target folder
	exists     bool          // the folder already exists, perhaps under another name
	code       Code
	why        lang.Text
	folders    []*targetFolder       // the folder and those in it; nil until they are listed
	numbers    map[int][]float64     // see numbersBySeason
	seasons    map[int]*targetFolder // the folders of its seasons, once they are known
	videos     []*video
	filmVideos []*video // all files of the film, including editions in other folders
}

func (p *Planner) nameVideos() {
	var order []*plannedEntry
	entries := map[entryKey]*plannedEntry{}
	p.chooseAnime()
	for _, v := range p.videos {
		key := entryKey{v.work.Entry, v.anime, v.target}
		if v.entry = entries[key]; v.entry == nil {
			v.entry = &plannedEntry{seasons: map[int]*targetFolder{}}
			entries[key] = v.entry
			order = append(order, v.entry)
		}
		v.entry.videos = append(v.entry.videos, v)
	}
	for _, e := range order {
		if e.videos[0].work.Kind == "movie" {
			p.nameFilms(e.videos)
			continue
		}
		var planned string
		if e.order = e.videos[0].order; e.videos[0].anime > 0 {
			e.order = orders.AniDB
		}
		if e.order == orders.TVDB && e.videos[0].facts.ids.TVDB == 0 {
			e.code, e.why = CodeNoOrder, "its TVDB id is not known"
		} else if planned, e.code = p.renderWork(p.opts.Layout.showTemplate(e.order), e.videos[0], 0); e.code == "" {
			p.findFolder(e, e.videos[0], planned)
		}
		p.numberAsFolder(e)
		for _, v := range e.videos {
			p.nameEpisode(e, v)
		}
	}
}

func (v *video) setTarget(at *targetFolder, stem string) {
	if v.isInPlace {
		return
	}
	ext := path.Ext(v.item.Name)
	v.folder = at
	v.targetPath = joinPath(at.path, CleanName(stem+v.label+ext)) // names in the library may be unclean
	v.stemLength = len(v.targetPath) - len(path.Ext(v.targetPath))
}

// renderWork renders the path of a series' folder or of a film's file.
func (p *Planner) renderWork(t Template, v *video, suffixLen int) (string, Code) {
	if v.facts.title == "" {
		return "", CodeBadName
	}
	values := p.fieldValues(v)
	return p.namers[v.target].renderPath(t, &values, suffixLen)
}

func (p *Planner) nameFilms(work []*video) {
	suffixLen := 0
	for _, v := range work {
		if v.code == "" {
			v.labelSinglePart()
			suffixLen = max(suffixLen, v.suffixLen())
		}
	}
	var entries []*plannedEntry
	for _, v := range work {
		if v.code != "" {
			continue
		}
		planned, code := p.renderWork(p.opts.Layout.Movie, v, suffixLen)
		if v.code = code; code != "" {
			continue
		}
		folder, file := path.Split(planned)
		folder = cmp.Or(strings.TrimSuffix(folder, "/"), ".")
		e := &plannedEntry{filmVideos: work}
		p.findFolder(e, v, folder)
		if i := slices.IndexFunc(entries, func(other *plannedEntry) bool { return other.folder == e.folder }); i >= 0 {
			e = entries[i]
		} else {
			entries = append(entries, e)
		}
		e.videos = append(e.videos, v)
		if v.entry = e; e.code != "" {
			v.skip(e.code, e.why)
			continue
		}
		if e.exists && path.Base(folder) == file {
			if file = path.Base(e.folder.path); len(file)+suffixLen > p.namers[v.target].maxName {
				v.skip(CodeNameTooLong, "")
				continue
			}
		}
		v.setTarget(e.folder, file)
	}
}

func (p *Planner) findFolder(e *plannedEntry, v *video, planned string) {
	if planned == "." {
		e.folder = p.folders.chooseTarget(v.target, planned)
		return
	}
	parent := p.folders.chooseTarget(v.target, path.Dir(planned))
	if e.code, e.why = parent.code, parent.why; e.code != "" {
		return
	}
	template := p.opts.Layout.Movie
	if v.work.Kind == "tv" {
		template = p.opts.Layout.Show
	}
	byTitle := !p.opts.renamesInPlace(v)
	if template.hasField(fieldTMDB) || byTitle && p.opts.Layout.hasOwnFolder(v.work.Kind) {
		edition, in := parseFolderName(path.Base(planned)).edition, p.folders.contents(v.target, parent)
		var known []string
		if byTitle && v.tags != nil && v.tags.edition != edition { // its folder of Plex serves other layouts, too
			known = p.folders.findWorkFolders(in, v, v.tags.edition, byTitle)
		}
		if len(known) == 0 {
			known = p.folders.findWorkFolders(in, v, edition, byTitle)
		}
		if p.opts.Renumber {
			known = slices.DeleteFunc(known, func(name string) bool { return orderOfFolder(name, v.order) != v.order })
		}
		switch len(known) {
		case 0:
		case 1:
			e.order = orderOfFolder(known[0], v.order)
			e.exists, planned = true, path.Join(parent.path, known[0])
			p.nfos.warnOfOtherNFO(v, joinPath(p.opts.Targets[v.target].Path, planned))
		default:
			e.code, e.why = CodeTwoFolders, lang.Textf("%s", strings.Join(known, " and "))
			return
		}
	}
	e.folder = p.folders.chooseTarget(v.target, planned)
	if e.code, e.why = e.folder.code, e.folder.why; e.exists && e.code == "" {
		p.keepStatedOrder(e, joinPath(p.opts.Targets[v.target].Path, e.folder.path))
	}
}

func (p *Planner) nameEpisode(e *plannedEntry, v *video) {
	if e.code != "" && v.code == "" {
		v.skip(e.code, e.why)
	}
	if v.code != "" {
		return
	}
	v.labelSinglePart()
	n := &p.namers[v.target]
	values := p.fieldValues(v)
	file, code := n.renderPath(p.opts.Layout.Episode, &values, v.suffixLen())
	inPlace := p.opts.renamesInPlace(v)
	if in := e.seasons[v.named.Season]; in != nil && code == "" && !inPlace {
		v.setTarget(in, file)
		return
	}
	season, seasonCode := n.renderPath(p.opts.Layout.Season, &values, 0)
	v.code = cmp.Or(seasonCode, code)
	if folder, name := path.Split(file); folder != "" {
		season, file = joinPath(season, strings.TrimSuffix(folder, "/")), name
	}
	if !inPlace && v.code == "" {
		season, v.code, v.why = p.folders.findSeasonFolder(p.folders.contents(v.target, e.folder), season, v.named.Season)
	}
	if v.code != "" {
		return
	}
	in := p.folders.chooseTarget(v.target, joinPath(e.folder.path, season))
	if v.code, v.why = in.code, in.why; v.code != "" {
		return
	}
	if p.opts.Layout.Name != CustomLayout && !inPlace { // other templates may have more fields than the season
		e.seasons[v.named.Season] = in
	}
	v.setTarget(in, file)
}

func (v *video) suffixLen() int {
	suffixLen := max(len(path.Ext(v.item.Name)), len(".nfo"))
	for i := range v.sidecars {
		suffixLen = max(suffixLen, len(v.sidecars[i].suffix))
	}
	return suffixLen + len(v.label)
}

func (p *Planner) fieldValues(v *video) fieldValues {
	n, w, f := &p.namers[v.target], &v.work, v.facts
	out := fieldValues{
		fieldTitle: f.title, fieldOriginalTitle: f.originalTitle,
		fieldYear: ui.Number(f.year), fieldTMDB: ui.Number(w.ID),
	}
	l := &p.opts.Layout
	if w.Kind == "tv" {
		out[fieldSeason], out[fieldEpisode] = strconv.Itoa(v.named.Season), l.formatEpisodes(v.named.Episodes)
		out[fieldEpisodeTitle], out[fieldOrder] = n.clean(v.episodeTitles), n.clean(v.entry.order)
	}
	if l.Name == CustomLayout { // only custom layouts use these fields
		out[fieldName] = n.clean(library.Stem(v.item.Name))
		if at := v.orders.In(orders.TVDB); at != nil {
			out[fieldTVDBSeason], out[fieldTVDBEpisode] = strconv.Itoa(at.Season), l.formatEpisodes(at.Episodes)
		}
		for of, to := range map[string]field{orders.AniDB: fieldAniDBEpisode, orders.Absolute: fieldAbsoluteEpisode} {
			if at := v.orders.In(of); at != nil {
				out[to] = l.formatEpisodes(at.Episodes)
			}
		}
	}
	out[fieldTVDB], out[fieldIMDB] = ui.Number(f.ids.TVDB), f.ids.IMDB
	out[fieldAniDB], out[fieldAniList] = ui.Number(cmp.Or(v.anime, f.ids.AniDB)), ui.Number(f.ids.AniList)
	out[fieldMAL] = ui.Number(f.ids.MAL)
	if t := v.tags; t != nil {
		out[fieldPart], out[fieldVersion] = ui.Number(t.part), ui.Number(t.version)
		out[fieldAbsolute], out[fieldEdition] = t.absolute, t.edition
		out[fieldResolution], out[fieldSource], out[fieldVideo] = t.resolution, t.source, t.video
		out[fieldAudio], out[fieldGroup], out[fieldCRC] = t.audio, t.group, t.crc
	}
	return out
}

// formatEpisodes formats the episodes of a file: "1-E3" for a range, or "1E2E3" for a server that reads lists.
func (l *Layout) formatEpisodes(list []int) string {
	if len(list) == 1 { // a quick way for most files
		return strconv.Itoa(list[0])
	}
	if l.EpisodeSeparator != "E" && len(list) > 1 {
		list = []int{list[0], list[len(list)-1]}
	}
	return ui.Numbers(list, l.EpisodeSeparator)
}

// genericWords are what titles that only number the episode have beside the number: "Episode 5", "第5話".
var genericWords = strings.Split("episode,ep,épisode,episodio,episódio,folge,aflevering,odcinek,bölüm,эпизод,серия,"+
	"エピソード,에피소드,화,회,제화,제회,話,话,集,回,第話,第话,第集,第回", ",")

func isGeneric(title string) bool {
	word := strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789 .", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, title)
	return len(word) < len(title) && slices.Contains(genericWords, word) || word == "tba" || word == "tbd"
}

// episodeTitle joins up to three episode titles. It returns "" if one is missing or generic.
func episodeTitle(titles []string, episodes int) string {
	if len(titles) != episodes || episodes > 3 || slices.Contains(titles, "") || slices.ContainsFunc(titles, isGeneric) {
		return ""
	}
	return strings.Join(titles, " + ")
}

// Layout describes the library of a media server: the templates of its names, and how the server differs from others.
type Layout struct {
	layoutRow
	Show    Template // a show's folder
	Season  Template // a season's folder in it
	Episode Template // an episode's file in the season's folder, without the extension
	Movie   Template // a film's folder and file, without the extension

	movieFolder Template            // the part of Movie before the last slash; empty if films get no folder
	shows       map[string]Template // the templates of a show's folder whose ID is of another catalogue
}

// layoutRow is a row of layouts.json. A film's folder and file have the same name there, because media servers would
// otherwise take versions for separate films.
type layoutRow struct {
	Name             string
	Templates        Templates
	EpisodeSeparator string    // between the numbers of several episodes in one file
	AllowsGaps       bool      // the server understands a file with episodes that are not consecutive
	SupportsVersions bool      // the server supports several versions of an episode
	ExtrasFolder     string    // the name of the folder for extras
	NFOByDefault     bool      // NFO files have the ids, because its names have none
	DisplayOrder     bool      // the server reads a show's order from <displayorder> in tvshow.nfo
	FixedOrders      lang.Text // why the server only takes the numbers of TMDB and TVDB; "" if it takes others
}

// Templates are the four templates of a layout as text.
type Templates struct{ Show, Season, Episode, Movie string }

// Layouts returns the layouts. Custom, the last one, has the defaults for templates that the user sets.
var Layouts = wordlist.Table[layoutRow](layoutsJSON)

//go:embed layouts.json
var layoutsJSON []byte

// CustomLayout is the layout whose templates the user sets.
const CustomLayout = "custom"

// LayoutNames returns the names of the layouts.
func LayoutNames() []string {
	return slicesx.Map(Layouts(), func(row layoutRow) string { return row.Name })
}

// NewLayout returns the layout with the name. For Custom, the non-empty templates in own replace the defaults. If a
// template is invalid, the error is a *TemplateError.
func NewLayout(name string, own Templates) (Layout, error) {
	i := slices.Index(LayoutNames(), name)
	if i < 0 {
		return Layout{}, lang.Error("there is no layout %q: there are %s", name, strings.Join(LayoutNames(), ", "))
	}
	layout := Layout{layoutRow: Layouts()[i]}
	for _, t := range []struct {
		to        *Template
		text, own string
	}{
		{&layout.Show, layout.Templates.Show, own.Show},
		{&layout.Season, layout.Templates.Season, own.Season},
		{&layout.Episode, layout.Templates.Episode, own.Episode},
		{&layout.Movie, layout.Templates.Movie, own.Movie},
	} {
		if name == CustomLayout && t.own != "" {
			t.text = t.own
		}
		var err error
		if *t.to, err = ParseTemplate(t.text); err != nil {
			return Layout{}, err
		}
	}
	layout.shows = map[string]Template{}
	for _, catalogue := range []string{orders.TVDB, orders.AniDB} {
		if name != CustomLayout {
			text := strings.ReplaceAll(layout.Show.text, "[tmdbid-{tmdb}]", "["+catalogue+"id-{"+catalogue+"}]")
			text = strings.ReplaceAll(text, "{{tmdb-{tmdb}}}", "{{"+catalogue+"-{"+catalogue+"}}}")
			layout.shows[catalogue], _ = ParseTemplate(text) // as valid as the layout's own
		}
	}
	if slash := strings.LastIndexByte(layout.Movie.text, '/'); slash >= 0 {
		layout.movieFolder, _ = ParseTemplate(layout.Movie.text[:slash]) // empty if the slash is in an optional piece
	}
	e := layout.Episode
	if !e.hasField(fieldName) && (!e.hasField(fieldSeason) || !e.hasField(fieldEpisode)) {
		return Layout{}, &TemplateError{
			Template: e.text, Position: 1,
			Problem: "the name of an episode needs {season} and {episode}, or {name}: something is missing",
		}
	}
	return layout, nil
}

// showTemplate returns the template of a show's folder with the numbers of an order.
func (l *Layout) showTemplate(order string) Template {
	if t, other := l.shows[order]; other {
		return t
	}
	return l.Show
}

// RefuseOrder returns why the layout's server can't be given the numbers of an order; "" if it can.
func (l *Layout) RefuseOrder(order string) lang.Text {
	if order == "" || order == orders.TMDB || order == orders.TVDB {
		return ""
	}
	return l.FixedOrders
}

func (l *Layout) hasOwnFolder(kind string) bool {
	folder := l.movieFolder
	if kind == "tv" {
		folder = l.Show
	}
	return slices.ContainsFunc([]field{fieldTitle, fieldOriginalTitle, fieldTMDB, fieldTVDB, fieldIMDB}, folder.hasField)
}
