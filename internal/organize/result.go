package organize

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"unicode/utf16"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/slicesx"
)

// Result is a plan with statistics and warnings.
type Result struct {
	Plan
	FilesInPlace       int            // the number of files that are already where they belong
	MatchedByTitle     []string       // existing folders that were found by a show's title without year or ID
	ForeignNFOs        []lang.Text    // warnings about existing NFOs that are about other works
	OtherOrders        []string       // existing folders with numbers in another order than the requested one
	UnnamedOrders      []string       // folders of shows whose order no NFO names
	MixedOrders        []string       // one folder of each show that has folders with different orders
	UnownedByExtension map[string]int // the number of files that are in no unit, by extension; videos are not counted
	SplitHardLinks     []string       // files that move to another file system while their other hard links stay
}

// Warnings returns what the user should know before carrying out the plan.
func (r *Result) Warnings() []lang.Text {
	const most = 240 // UTF-16 units below the root: Windows's limit of 260, less an allowance for the name of a share
	long, first := 0, ""
	for i := range r.Units {
		for k := range r.Units[i].Ops {
			to := r.Units[i].Ops[k].To
			if len(to) > most && len(utf16.Encode([]rune(to))) > most {
				long++
				first = cmp.Or(first, to)
			}
		}
	}
	out := r.ForeignNFOs
	if long > 0 {
		out = append(out, lang.Textf("long_path: Windows clients may not open %d of the targets, whose paths have more "+
			"than %d characters: %s", long, most, first))
	}
	for _, w := range []struct {
		of         []string
		noun, text string // a format for the number of entries and the first one
	}{
		{r.MatchedByTitle, "show", "existing folders with a show's title but no year or id are used for %s, such " +
			"as %s; if one belongs to another show, add a year or an id to its name"},
		{r.OtherOrders, "show", "order_differs: the numbers in the folders of %s are not in the requested order, " +
			"and new files get the numbers of their folder: %s; --in-place with --order renumbers"},
		{r.UnnamedOrders, "show", "no tvshow.nfo says the order of the numbers of %s: choose it in " +
			"the media server, or remove an old tvshow.nfo and let --nfo ids write another: %s"},
		{r.MixedOrders, "show", "mixed_orders: the folders of %s have numbers of several catalogues; each show " +
			"now gets those of one: %s"},
		{r.SplitHardLinks, "file", "hard links: other names of %s stay behind as files of their own after the " +
			"move to another file system; undo brings back separate files: %s"},
	} {
		if len(w.of) > 0 {
			out = append(out, lang.Textf(w.text, lang.Count(len(w.of), w.noun), w.of[0]))
		}
	}
	return out
}

func (p *Planner) makeResult() *Result {
	rootOf := func(info RootInfo) Root { return info.Root }
	r := &Result{
		Plan: Plan{
			ID: p.opts.ID, Created: p.opts.Created, Mode: p.opts.Mode, Layout: p.opts.Layout.Name,
			Sources: slicesx.Map(p.opts.Sources, rootOf), Targets: slicesx.Map(p.opts.Targets, rootOf),
			Folders: foldersToKeep(p.videos),
		}, ForeignNFOs: p.nfos.foreignNFOs, MatchedByTitle: slices.Compact(p.folders.matchedByTitle),
		OtherOrders: slices.Compact(p.otherOrders), UnnamedOrders: slices.Compact(p.nfos.unnamedOrders),
		MixedOrders: p.mixedOrders,
	}
	r.Units = make([]Unit, 0, len(p.videos))
	renamed := 0
	for _, v := range p.allFiles {
		if v.item != nil && !library.IsVideo(v.item.Name) {
			p.reportedFiles[v.item] = true
		}
		if v.code != "" {
			p.listSkipped(r, v)
			continue
		}
		r.FilesInPlace += v.filesInPlace
		if v.splitLinkCount > 0 {
			r.SplitHardLinks = append(r.SplitHardLinks, v.recordPath())
		}
		for i := range v.sidecars {
			s := &v.sidecars[i]
			p.reportedFiles[s.item()] = true
			if s.code != "" {
				r.Skipped = append(r.Skipped, p.opts.skippedFile(s.dir, s.item().Name, s.code, s.why))
			}
		}
		if len(v.ops) > 0 {
			if v.isRename {
				renamed++
			}
			r.Units = append(r.Units, Unit{
				Source: v.source, Target: v.target, Dir: relativeTo(v.dir.path,
					p.opts.Sources[v.source].Path), Ops: v.ops, Work: v.work, FollowsNeighbours: v.kind != kindVideo,
			})
		}
	}
	if n := len(r.Units); n > 0 && n == renamed {
		r.Mode = ModeMove
	}
	r.Skipped = append(r.Skipped, p.unowned...)
	r.UnownedByExtension = p.countUnowned()
	return r
}

func (o *Options) skippedFile(dir *folder, name string, code Code, why lang.Text) SkippedFile {
	shown := dir.path
	if source := o.sourceIndex(dir.path); source >= 0 {
		if root := &o.Sources[source]; root.GivenPath != "" {
			shown = joinPath(root.GivenPath, relativeTo(dir.path, root.Path))
		}
	}
	return SkippedFile{Path: joinPath(shown, name), RealPath: joinPath(dir.path, name), Code: code, Why: why}
}

func (p *Planner) listSkipped(r *Result, v *video) {
	group := []*video{v}
	if conflicts := p.conflicts[v]; conflicts != nil {
		group, *conflicts = *conflicts, nil
	}
	for _, v := range group {
		l := SkippedFile{Path: v.recordPath(), Code: v.code, Why: v.why}
		if v.kind == kindFolderWide {
			l = p.opts.skippedFile(v.dir, v.name, v.code, v.why)
		} else if of := p.recordFolderOf(v.recordDir); of.err == nil {
			l.RealPath = joinPath(of.dir.path, v.name)
		}
		r.Skipped = append(r.Skipped, l)
	}
}

func (p *Planner) countUnowned() map[string]int {
	dirs := p.folders.disk.WalkedFolders()
	if len(dirs) == 0 {
		dirs = slices.Collect(maps.Keys(p.folders.listedFolders))
	}
	out := map[string]int{}
	for _, dir := range dirs {
		if p.opts.sourceIndex(dir) < 0 {
			continue
		}
		f := p.folders.list(dir)
		for i := range f.items {
			if item := &f.items[i]; item.Type == TypeRegular && !library.IsVideo(item.Name) && !p.reportedFiles[item] {
				out[extension(item.Name)]++
			}
		}
	}
	return out
}

// foldersToKeep returns the existing target folders whose names break the rules for new names.
func foldersToKeep(videos []*video) []Folder {
	var out []Folder
	seen := map[*targetFolder]bool{}
	for _, v := range videos {
		if len(v.ops) == 0 || seen[v.folder] {
			continue
		}
		seen[v.folder] = true
		for dir := v.folder.path; dir != "."; dir = path.Dir(dir) {
			if base := path.Base(dir); CleanName(base) != base || len(base) > maxNameBytes-serverSuffixBytes {
				out = append(out, Folder{Target: v.target, Path: dir})
			}
		}
	}
	slices.SortFunc(out, func(a, b Folder) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
	})
	return slices.Compact(out)
}
