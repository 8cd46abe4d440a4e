package organize

import (
	"path"
	"slices"
	"strconv"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/ui"
)

// This file keeps the episode numbers in a show's folder in one order. If the folder's name has an ID, that is the
// order of the ID's catalogue.

// orderOfFolder returns the order of the episode numbers in a show's folder. written is the requested order. An ID of
// TVDB or AniDB in the folder's name means the order of that catalogue. A folder with another ID never has the numbers
// of TVDB or AniDB.
func orderOfFolder(name, written string) string {
	switch catalogue := catalogueOf(name); {
	case catalogue == orders.TVDB, catalogue == orders.AniDB:
		return catalogue
	case catalogue != "" && (written == orders.TVDB || written == orders.AniDB):
		return orders.TMDB
	}
	return written
}

// chooseAnime sets the anime of each video whose show gets one folder for each anime of AniDB. This applies if AniDB's
// order is requested, or if the library already has such folders of the show. If the library has a folder of the whole
// show, that folder is used instead.
func (p *Planner) chooseAnime() {
	whole, perAnime := map[entryKey]bool{}, map[entryKey]string{} // what the library has of each show
	keyOf := func(v *video) entryKey { return entryKey{Entry: v.work.Entry, target: v.target} }
	foldersBy := func(v *video, key string) []string {
		return p.folders.subfoldersBy(p.folders.contents(v.target, p.folders.chooseTarget(v.target, ".")), key)
	}
	foldersOfAnime := func(v *video) []string {
		if v.orders.In(orders.AniDB) == nil {
			return nil
		}
		return foldersBy(v, orders.AniDB+"-"+strconv.Itoa(v.orders.AniDB.ID))
	}
	for _, v := range p.videos {
		key, found := keyOf(v), foldersOfAnime(v)
		if _, known := whole[key]; !known {
			whole[key] = slices.ContainsFunc(v.ids(), func(id string) bool { return len(foldersBy(v, id)) > 0 })
			found = slices.Concat(found, foldersBy(v, titleKey(v.facts.title, ui.Number(v.facts.year))))
		}
		for _, name := range found {
			if catalogueOf(name) == orders.AniDB {
				perAnime[key] = name
			}
		}
	}
	named := p.opts.Layout.RefuseOrder(orders.AniDB) == "" && p.opts.Layout.showTemplate(orders.AniDB).hasField(fieldAniDB)
	for _, v := range p.videos {
		there, split := perAnime[keyOf(v)], named && v.order == orders.AniDB
		if whole := whole[keyOf(v)]; !p.opts.Renumber && p.opts.Layout.Name != CustomLayout && whole != (there != "") {
			split = !whole
		}
		switch known := v.orders.In(orders.AniDB) != nil; {
		case !split || v.work.Kind != "tv":
		case known && (named || len(foldersOfAnime(v)) > 0):
			v.anime = v.orders.AniDB.ID
		case !known && named:
			v.skip(CodeNoOrder, lang.Textf("the numbers in %s are those of %s", there, orders.AniDB))
		}
	}
	p.videos = dropSkipped(p.videos)
}

// skipStatedOrders skips the files of shows whose NFO names another order than TMDB's, unless an ID in the folder's
// name or a pin names the order too. Otherwise match has read the numbers as TMDB's, and new names would be wrong.
func (p *Planner) skipStatedOrders() {
	stated := map[string]bool{} // by folder
	for _, v := range p.videos {
		if v.work.Kind != "tv" || p.opts.IsOrderPinned != nil && p.opts.IsOrderPinned(v.realPath()) {
			continue
		}
		root := p.opts.Sources[v.source].Path
		for dir, above := v.dir.path, ""; dir != above && IsBelow(dir, root); dir, above = path.Dir(dir), dir {
			if _, known := stated[dir]; !known {
				stated[dir] = p.folders.statesOrder(dir)
			}
			if stated[dir] {
				v.skip(CodeNoOrder, "its tvshow.nfo names another order than TMDB's: pin the folder with --order to say how "+
					"to read its names")
				break
			}
		}
	}
	p.videos = dropSkipped(p.videos)
}

func (d *folderIndex) statesOrder(dir string) bool {
	catalogue := catalogueOf(path.Base(dir))
	order, ofTVDB := d.orderInNFO(dir)
	return catalogue != orders.TVDB && catalogue != orders.AniDB && (order != "" || ofTVDB && catalogue != orders.TMDB)
}

func (d *folderIndex) orderInNFO(dir string) (displayOrder string, ofTVDB bool) {
	text, _ := d.disk.ReadEnds(joinPath(dir, "tvshow.nfo")) // what can't be read says nothing
	return nfo.OrderIn(text)
}

// keepStatedOrder takes the order of a show from the <displayorder> in its existing folder, for servers that obey it.
// Of an episode group <displayorder> has only the type, so --order has to name the group. Absolute numbers are all of
// the first season, so a folder with later ones has TMDB's.
func (p *Planner) keepStatedOrder(e *plannedEntry, dir string) {
	if e.order != orders.TMDB && e.order != orders.Absolute || !p.opts.Layout.DisplayOrder || p.opts.Renumber {
		return
	}
	word := ""
	if p.opts.NFO.ForOrders {
		word, _ = p.folders.orderInNFO(dir)
	}
	switch isPinned := p.opts.IsOrderPinned; {
	case word == "" && e.order == orders.Absolute && p.folders.hasLaterSeason(e.videos[0].target, e.folder) &&
		(isPinned == nil || !isPinned(joinPath(dir, "tvshow.nfo"))):
		e.order = orders.TMDB
	case word == "" || word == e.order:
	case word == orders.Absolute:
		e.order = orders.Absolute
	default:
		e.code, e.why = CodeNoOrder, lang.Textf("tvshow.nfo in %s says the order %s: name its group with --order", dir, word)
	}
}

func (d *folderIndex) hasLaterSeason(target int, show *targetFolder) bool {
	return slices.ContainsFunc(d.foldersWithin(target, show, 2), func(at *targetFolder) bool {
		return slices.ContainsFunc(d.contents(target, at).existingVideos()[anyNumber], func(e *existingVideo) bool {
			season, _ := e.Season()
			return season > 1
		})
	})
}

// findMixedOrders lists one folder of each show that has folders with different orders. It is called before the files
// are renumbered.
func (p *Planner) findMixedOrders() {
	first := map[Entry]string{}
	for _, v := range p.videos {
		root := p.opts.Sources[v.source].Path
		for dir := v.dir.path; dir != root && IsBelow(dir, root); dir = path.Dir(dir) {
			known, name := first[v.work.Entry], path.Base(dir)
			switch order := orderOfFolder(name, orders.TVDB); {
			case catalogueOf(name) == "":
				continue
			case known == "":
				first[v.work.Entry] = name
			case orderOfFolder(known, orders.TVDB) != order && !slices.Contains(p.mixedOrders, known):
				p.mixedOrders = append(p.mixedOrders, known)
			}
			break
		}
	}
}

// numberAsFolder gives the videos of a show the numbers in the order of its folder. If no video has a known number in
// that order, the imported lists don't have the show, and TMDB's numbers stay.
func (p *Planner) numberAsFolder(e *plannedEntry) {
	known := slices.ContainsFunc(e.videos, func(v *video) bool { return v.orders.In(e.order) != nil })
	for _, v := range e.videos {
		if v.order == e.order || e.code != "" || v.code != "" || v.order == orders.TMDB && !known {
			continue
		}
		at := v.orders.In(e.order)
		if at == nil {
			v.skip(CodeNoOrder, lang.Textf("the numbers in %s are those of %s", e.folder.path, e.order))
			continue
		}
		if at.Season != v.named.Season || !slices.Equal(at.Episodes, v.named.Episodes) {
			p.otherOrders = append(p.otherOrders, e.folder.path)
		}
		if v.named = *at; !p.opts.Layout.AllowsGaps && !areContiguous(at.Episodes) {
			v.skip(CodeNotContiguous, lang.Text(ui.Numbers(at.Episodes, ", ")))
		}
	}
}
