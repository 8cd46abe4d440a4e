package organize

import (
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/ui"
)

// nfoPlanner plans the NFO files, and checks existing ones.
type nfoPlanner struct {
	opts          *Options
	folders       *folderIndex
	taken         map[nameKey]string // by the name of an NFO: the file that the plan puts there; "" for a new one
	foreignNFOs   []lang.Text        // warnings about existing NFOs that are about other works
	unnamedOrders []string           // the folders of shows for whose order <displayorder> has no word
}

func (p *nfoPlanner) addNFOs(videos []*video) {
	if !p.opts.NFO.Enabled && !p.opts.NFO.ForOrders && !p.opts.Renumber {
		return
	}
	p.taken = map[nameKey]string{}
	for _, v := range videos {
		for i := range v.ops {
			if RoleOf(v.ops[i].To) == RoleNFO {
				p.taken[v.nameKeyOf(v.ops[i].To)] = joinPath(v.dir.path, v.ops[i].Source)
			}
		}
	}
	shows := map[*plannedEntry]bool{}
	for _, v := range videos {
		if v.kind != kindVideo || v.isBeingRenamed {
			continue
		}
		own := p.opts.Layout.hasOwnFolder(v.work.Kind)
		// An NFO about the whole entry does not belong in the folder of one anime.
		if v.work.Kind == "tv" && own && v.anime == 0 && v.entry.folder.path != "." && !shows[v.entry] {
			shows[v.entry] = true
			order := p.displayOrder(v)
			if p.opts.NFO.Enabled || order != "" && order != orders.TVDB {
				p.addNFO(v, v.entry.folder, "tvshow.nfo", &NFOSpec{
					Entry: v.work.Entry, Full: p.opts.NFO.Full, Order: order,
				})
			}
			p.checkOrder(v, order)
		}
		if p.opts.NFO.Enabled {
			p.addVideoNFO(v)
		}
	}
}

func (p *nfoPlanner) addVideoNFO(v *video) {
	switch name := path.Base(v.targetStem()) + ".nfo"; {
	case v.work.Kind == "movie" && strings.Contains(v.label, " - part") && v.partNumber() > 1:
		// media servers don't read the NFO of a later part
	case v.work.Kind == "movie":
		p.addNFO(v, v.folder, name, &NFOSpec{Entry: v.work.Entry, Full: p.opts.NFO.Full})
	case v.work.Kind == "tv" && p.opts.NFO.Full && len(v.named.Episodes) == len(v.work.Episodes):
		spec := NFOSpec{Entry: v.work.Entry, Full: true, Season: v.work.Season, Episodes: v.work.Episodes}
		if v.entry.order != orders.TMDB {
			spec.Named = v.named
		}
		p.addNFO(v, v.folder, name, &spec)
	}
}

// displayOrder returns the value for <displayorder> in the NFO of a video's show; "" for TMDB's order. If
// <displayorder> has no word for the order, it adds the show's folder to unnamedOrders.
func (p *nfoPlanner) displayOrder(v *video) string {
	order := v.entry.order
	if order == orders.TMDB || order == orders.TVDB {
		return strings.TrimPrefix(order, orders.TMDB)
	}
	if !p.opts.NFO.ForOrders {
		return ""
	}
	name := p.folders.details(v.work.Entry).DisplayOrder(order)
	if name == "" {
		p.unnamedOrders = append(p.unnamedOrders, v.entry.folder.path)
	}
	return name
}

// checkOrder remembers the folder of a show whose NFO exists and does not say the order of its numbers. Layouts with an
// ID in the folder's name say TVDB's there.
func (p *nfoPlanner) checkOrder(v *video, order string) {
	if order == "" && !p.opts.Renumber {
		return
	}
	at, dir := v.entry.folder, p.folders.contents(v.target, v.entry.folder)
	file := p.taken[nameKey{at.key, "tvshow.nfo"}]
	if file == "" && dir.find("tvshow.nfo") != nil {
		file = joinPath(dir.path, "tvshow.nfo")
	}
	text, err := p.folders.disk.ReadEnds(file)
	if file == "" || err != nil {
		return
	}
	stated, ofTVDB := nfo.OrderIn(text)
	if stated != strings.TrimPrefix(order, orders.TVDB) ||
		!p.opts.Layout.Show.hasField(fieldTMDB) && ofTVDB != (order == orders.TVDB) {
		p.unnamedOrders = append(p.unnamedOrders, at.path)
	}
}

func (p *nfoPlanner) addNFO(v *video, at *targetFolder, name string, n *NFOSpec) {
	to := joinPath(at.path, name)
	key := nameKey{at.key, FoldName(name)}
	if from, known := p.taken[key]; known {
		if from != "" {
			p.checkNFO(from, n.Entry)
		}
		return
	}
	p.taken[key] = "" // it is new
	dir := p.folders.contents(v.target, at)
	if there := dir.findSimilar(name); len(there) > 0 {
		if p.checkNFO(joinPath(dir.path, there[0].Name), n.Entry) {
			v.filesInPlace++
		}
		return
	}
	n.Languages = p.opts.NFO.Languages
	v.ops = append(v.ops, Op{Verb: VerbNFO, NFO: n, To: to})
}

// checkNFO reports whether an NFO is about the entry, and adds a warning if it is not.
func (p *nfoPlanner) checkNFO(file string, entry Entry) bool {
	text, _ := p.folders.disk.ReadEnds(file) // what can't be read is about nothing
	about, named := nfo.IsAbout(text, entry.Kind, entry.ID)
	if !about {
		names := lang.Text("no TMDB id")
		if named != 0 {
			names = lang.Textf("TMDB's id %d", named)
		}
		warning := lang.Textf("foreign_nfo: %s names %s, not %s, and is kept", ui.Printable(file), names, entry)
		if !slices.Contains(p.foreignNFOs, warning) {
			p.foreignNFOs = append(p.foreignNFOs, warning)
		}
	}
	return about
}

type nfoFile struct{ name, kind string }

func workNFOs(folder string) []nfoFile {
	return []nfoFile{{"tvshow.nfo", "tv"}, {"movie.nfo", "movie"}, {folder + ".nfo", "movie"}}
}

// warnOfOtherNFO warns if an existing folder's NFO is about another work. The folder's name takes precedence.
func (p *nfoPlanner) warnOfOtherNFO(v *video, folder string) {
	dir := p.folders.list(folder)
	for _, file := range workNFOs(path.Base(folder)) {
		if file.kind != v.work.Kind || dir.find(file.name) == nil {
			continue
		}
		if id := p.folders.idInNFO(joinPath(folder, file.name), file.kind); id != 0 && id != v.work.ID {
			p.checkNFO(joinPath(folder, file.name), v.work.Entry)
		}
	}
}
