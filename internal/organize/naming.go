package organize

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
)

type entryKey struct {
	Entry
	target int
}

type entry struct {
	at      *folderChoice // its folder
	known   bool          // the folder exists, maybe under another name
	code    Code
	why     lang.Text
	folders []*folderChoice // a series' folder and those of its seasons; nil: not listed yet
	videos  []*video
	work    []*video // all files of a film, including other editions in other folders
}

func (p *Planner) nameAll() {
	var order []*entry
	entries := map[entryKey]*entry{}
	for _, v := range p.videos {
		key := entryKey{v.work.Entry, v.target}
		if v.entry = entries[key]; v.entry == nil {
			v.entry = &entry{}
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
		p.nameShow(e, e.videos[0])
		for _, v := range e.videos {
			p.nameEpisode(e, v)
		}
	}
}

func (v *video) setTarget(at *folderChoice, stem string) {
	if v.there {
		return
	}
	ext := path.Ext(v.item.Name)
	v.folder = at
	v.to = join(at.path, stem+v.label+ext)
	v.stem = len(v.to) - len(ext)
}

func (p *Planner) nameShow(e *entry, v *video) {
	values := p.values(v)
	planned, code := p.namers[v.target].path(p.o.Layout.Show, &values, 0)
	if code == "" && v.facts.title == "" {
		code = BadName
	}
	if code != "" {
		e.code = code
		return
	}
	p.findFolder(e, v, planned)
}

func (p *Planner) nameFilms(work []*video) {
	suffixLen := 0
	for _, v := range work {
		if v.code == "" {
			v.labelSinglePart()
			suffixLen = max(suffixLen, v.suffixLen())
		}
	}
	entries := map[string]*entry{}
	for _, v := range work {
		if v.code != "" {
			continue
		}
		n := &p.namers[v.target]
		values := p.values(v)
		planned, code := n.path(p.o.Layout.Movie, &values, suffixLen)
		if code == "" && v.facts.title == "" {
			code = BadName
		}
		if code != "" {
			v.skip(code, "")
			continue
		}
		folder, file := path.Split(planned)
		folder = cmp.Or(strings.TrimSuffix(folder, "/"), ".")
		e := entries[folder]
		if e == nil {
			e = &entry{work: work}
			entries[folder] = e
			p.findFolder(e, v, folder)
		}
		e.videos = append(e.videos, v)
		if v.entry = e; e.code != "" {
			v.skip(e.code, e.why)
			continue
		}
		if e.known && path.Base(folder) == file {
			if file = path.Base(e.at.path); len(file)+suffixLen > n.max {
				v.skip(NameTooLong, "")
				continue
			}
		}
		v.setTarget(e.at, file)
	}
}

func (p *Planner) findFolder(e *entry, v *video, planned string) {
	if planned == "." {
		e.at = p.folders.choose(v.target, planned)
		return
	}
	parent := p.folders.choose(v.target, path.Dir(planned))
	if parent.code != "" {
		e.code, e.why = parent.code, parent.why
		return
	}
	template := p.o.Layout.Movie
	if v.work.Kind == "tv" {
		template = p.o.Layout.Show
	}
	if template.has(fieldTMDB) {
		edition := parseFolderName(path.Base(planned)).edition
		known := p.folders.existing(p.folders.contents(v.target, parent), v, edition, !p.o.renamesInPlace(v))
		switch len(known) {
		case 0:
		case 1:
			e.known, planned = true, path.Join(parent.path, known[0])
			p.warnOfNFO(v, join(p.o.Targets[v.target].Path, planned))
		default:
			e.code, e.why = TwoFolders, lang.Textf("%s", strings.Join(known, " and "))
			return
		}
	}
	e.at = p.folders.choose(v.target, planned)
	e.code, e.why = e.at.code, e.at.why
}

func (p *Planner) nameEpisode(e *entry, v *video) {
	if e.code != "" && v.code == "" {
		v.skip(e.code, e.why)
	}
	if v.code != "" {
		return
	}
	v.labelSinglePart()
	n := &p.namers[v.target]
	values := p.values(v)
	season, code := n.path(p.o.Layout.Season, &values, 0)
	if code != "" {
		v.skip(code, "")
		return
	}
	file, code := n.path(p.o.Layout.Episode, &values, v.suffixLen())
	if code != "" {
		v.skip(code, "")
		return
	}
	if folder, name := path.Split(file); folder != "" {
		season, file = join(season, strings.TrimSuffix(folder, "/")), name
	}
	if !p.o.renamesInPlace(v) {
		var why lang.Text
		season, code, why = p.folders.season(p.folders.contents(v.target, e.at), season, v.work.Season)
		if code != "" {
			v.skip(code, why)
			return
		}
	}
	in := p.folders.choose(v.target, join(e.at.path, season))
	if in.code != "" {
		v.skip(in.code, in.why)
		return
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

func (p *Planner) values(v *video) values {
	n, w, f := &p.namers[v.target], &v.work, v.facts
	out := values{
		fieldTitle: f.title, fieldOriginalTitle: f.original, fieldYear: number(f.year), fieldTMDB: number(w.ID),
	}
	if p.o.Layout.Name == Custom { // only custom layouts have this field
		out[fieldName] = n.text(library.Stem(v.item.Name))
	}
	if w.Kind == "tv" {
		out[fieldSeason] = strconv.Itoa(w.Season)
		out[fieldEpisode] = p.o.Layout.episodes(w.Episodes)
		out[fieldEpisodeTitle] = n.text(v.titles)
	}
	out[fieldTVDB], out[fieldIMDB] = number(f.ids.TVDB), f.ids.IMDB
	out[fieldAniDB], out[fieldAniList], out[fieldMAL] = number(f.ids.AniDB), number(f.ids.AniList), number(f.ids.MAL)
	if t := v.tags; t != nil {
		out[fieldPart], out[fieldVersion], out[fieldAbsolute], out[fieldEdition] = number(t.part), number(t.version),
			t.absolute, t.edition
		out[fieldResolution], out[fieldSource], out[fieldVideo] = t.resolution, t.source, t.video
		out[fieldAudio], out[fieldGroup], out[fieldCRC] = t.audio, t.group, t.crc
	}
	return out
}

func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// absolute formats the numbers as in names: "12.5", or "3-4" for several.
func absolute(list []float64) string {
	var out []string
	for _, n := range list {
		out = append(out, strconv.FormatFloat(n, 'f', -1, 64))
	}
	return strings.Join(out, "-")
}

// episodes formats the episode numbers of one file: "1-E3" for a range, or "1E3" if the layout's server reads lists.
func (l *Layout) episodes(list []int) string {
	if len(list) == 1 {
		return strconv.Itoa(list[0])
	}
	if l.between != "E" && len(list) > 1 {
		list = []int{list[0], list[len(list)-1]}
	}
	var b strings.Builder
	for i, n := range list {
		if i > 0 {
			b.WriteString(l.between)
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

var countingTitle = lazyregexp.New(`(?i)^(?:` +
	`(?:episode|ep\.?|épisode|episodio|episódio|folge|aflevering|odcinek|эпизод|серия|エピソード|에피소드) ?\d+` +
	`|[제第]? ?\d+ ?[화회話话集回]|\d+\. ?bölüm|tb[ad])$`)

func episodeTitle(titles []string, episodes int) string {
	if len(titles) != episodes || episodes > 3 || slices.ContainsFunc(titles, func(title string) bool {
		mayCount := len(title) == len("TBA") || strings.ContainsAny(title, "0123456789") // the expression takes longer
		return title == "" || mayCount && countingTitle().MatchString(title)
	}) {
		return ""
	}
	return strings.Join(titles, " + ")
}
