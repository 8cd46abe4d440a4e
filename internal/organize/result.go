package organize

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"unicode/utf16"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
)

// Result is a plan and what it skips.
type Result struct {
	Plan
	InPlace int            // files that are already where they belong
	ByTitle []string       // existing folders with a show's title but no year or ID
	Foreign []lang.Text    // warnings about existing NFOs of other entries
	Unowned map[string]int // files other than videos that are in no unit, counted by extension
	Parted  []string       // hard-linked files that move to another file system
}

// Warnings returns what the user should know before carrying out the plan.
func (r *Result) Warnings() []lang.Text {
	const most = 240 // UTF-16 units below the root: Windows's limit of 260 minus room for a share's name
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
	out := r.Foreign
	if long > 0 {
		out = append(out, lang.Textf("long_path: Windows clients may not open %d of the targets, whose paths have more "+
			"than %d characters: %s", long, most, first))
	}
	if n := len(r.ByTitle); n > 0 {
		out = append(out, lang.Textf("existing folders with a show's title but no year or id are used for %d of the shows, "+
			"such as %s; where that is another show's, add a year or an id to its name", n, r.ByTitle[0]))
	}
	if n := len(r.Parted); n > 0 {
		out = append(out, lang.Textf("hard links: %d of the files have other names too, which stay behind as files of "+
			"their own when these move to another file system; "+
			"undo brings them back as separate files: %s", n, r.Parted[0]))
	}
	return out
}

func (p *Planner) result() *Result {
	r := &Result{Plan: Plan{
		ID: p.o.ID, Made: p.o.Made, Mode: p.o.Mode, Layout: p.o.Layout.Name, Folders: namesToKeep(p.videos),
	}, Foreign: p.foreign, ByTitle: p.folders.byTitle}
	for _, s := range p.o.Sources {
		r.Sources = append(r.Sources, s.Root)
	}
	for _, t := range p.o.Targets {
		r.Targets = append(r.Targets, t.Root)
	}
	r.Units = make([]Unit, 0, len(p.videos))
	renamed := 0
	for _, v := range p.all {
		if v.item != nil && !library.IsVideo(v.item.Name) {
			p.reported[v.item] = true
		}
		if v.code != "" {
			p.listLeft(r, v)
			continue
		}
		r.InPlace += v.inPlace
		if v.parted > 0 {
			r.Parted = append(r.Parted, v.path())
		}
		for i := range v.sidecars {
			s := &v.sidecars[i]
			p.reported[s.item()] = true
			if s.code != "" {
				r.Left = append(r.Left, p.o.leftFile(s.dir, s.item().Name, s.code, s.why))
			}
		}
		if len(v.ops) > 0 {
			if v.renames {
				renamed++
			}
			r.Units = append(r.Units, Unit{
				Source: v.source, Target: v.target, Dir: below(v.dir.path,
					p.o.Sources[v.source].Path), Ops: v.ops, Work: v.work, Follows: v.kind != kindVideo,
			})
		}
	}
	if n := len(r.Units); n > 0 && n == renamed {
		r.Mode = ModeMove
	}
	r.Left = append(r.Left, p.unowned...)
	r.Unowned = p.countUnowned()
	return r
}

func (o *Options) leftFile(dir *folder, name string, code Code, why lang.Text) LeftFile {
	shown := dir.path
	if source := o.sourceOf(dir.path); source >= 0 {
		if root := &o.Sources[source]; root.Given != "" {
			shown = join(root.Given, below(dir.path, root.Path))
		}
	}
	return LeftFile{Path: join(shown, name), Real: join(dir.path, name), Code: code, Why: why}
}

func (p *Planner) listLeft(r *Result, v *video) {
	group := []*video{v}
	if conflicts := p.conflicts[v]; conflicts != nil {
		group, *conflicts = *conflicts, nil
	}
	for _, v := range group {
		l := LeftFile{Path: v.path(), Code: v.code, Why: v.why}
		switch at := v.dir; {
		case v.kind == kindFolderWide:
			l = p.o.leftFile(v.dir, v.name, v.code, v.why)
		case at != nil:
			l.Real = join(at.path, v.name)
		default:
			if of := p.origin(v.recordDir); of.err == nil {
				l.Real = join(of.dir.path, v.name)
			}
		}
		r.Left = append(r.Left, l)
	}
}

func (p *Planner) countUnowned() map[string]int {
	dirs := p.disk.Walked()
	if len(dirs) == 0 {
		dirs = slices.Collect(maps.Keys(p.folders.listed))
	}
	out := map[string]int{}
	for _, dir := range dirs {
		if p.o.sourceOf(dir) < 0 {
			continue
		}
		f := p.folders.list(dir)
		for i := range f.items {
			if item := &f.items[i]; item.Type == TypeRegular && !library.IsVideo(item.Name) && !p.reported[item] {
				out[extension(item.Name)]++
			}
		}
	}
	return out
}

// namesToKeep returns the existing folders whose names break the rules for new names.
func namesToKeep(videos []*video) []Folder {
	var out []Folder
	seen := map[*folderChoice]bool{}
	for _, v := range videos {
		if len(v.ops) == 0 || seen[v.folder] {
			continue
		}
		seen[v.folder] = true
		for dir := v.folder.path; dir != "."; dir = path.Dir(dir) {
			if base := path.Base(dir); CleanName(base) != base || len(base) > longestName-reservedBytes {
				out = append(out, Folder{Target: v.target, Path: dir})
			}
		}
	}
	slices.SortFunc(out, func(a, b Folder) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target),
			cmp.Compare(a.Path, b.Path))
	})
	return slices.Compact(out)
}
