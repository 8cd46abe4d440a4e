package organize

import (
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/ui"
)

// sourceKey is the path of a source: the number of its folder, and its name there.
type sourceKey struct {
	dir  int32
	name string
}

// claim is where a target was named, and as what: a file, or the folder of one.
type claim struct {
	line   int // 0: a folder above the target roots
	folder int32
}

// sourceKey returns the key under which a unit's source is known.
func (p *parser) sourceKey(u *Unit, name string) sourceKey {
	dir, name := path.Split(name)
	if dir == "" && p.lastIn.dir == u.Dir && p.lastIn.source == u.Source {
		return sourceKey{p.lastIn.number, name}
	}
	of := join(p.plan.Sources[u.Source].Path, u.Dir)
	if dir != "" {
		of = join(of, strings.TrimSuffix(dir, "/"))
	}
	number, known := p.dirs[of]
	if !known {
		number = int32(len(p.dirs))
		p.dirs[of] = number
	}
	if dir == "" {
		p.lastIn.source, p.lastIn.dir, p.lastIn.number = u.Source, u.Dir, number
	}
	return sourceKey{number, name}
}

// ownPart returns what of a target's path is below the folders of the header.
func (p *parser) ownPart(root int, to string) string {
	if len(p.folders) == 0 || !isLocal(to) {
		return to
	}
	for folder := path.Dir(to); folder != "." && folder != "/"; folder = path.Dir(folder) {
		if p.folders[Folder{root, folder}] {
			return to[len(folder)+1:]
		}
	}
	return to
}

// isTarget checks a target's names. Folders of the header are there, so they stay as they are.
func (p *parser) isTarget(root int, to string) bool {
	own := p.ownPart(root, to)
	if isClean(own) {
		return p.isShort(own, p.plan.Targets[root].Path, to)
	}
	components := strings.Split(own, "/")
	for i, c := range components {
		components[i] = CleanName(c)
	}
	if own == "" {
		return false // the name was refused already
	}
	components = slices.DeleteFunc(components, func(c string) bool { return c == "" })
	p.problem("%s can't be a name on every system; allowed is %s", ui.Printable(own), ui.Printable(strings.Join(components, "/")))
	return false
}

// isShort checks the length of a target's names, as far as it can be known without the file system.
func (p *parser) isShort(own, root, to string) bool {
	if size := len(root) + 1 + len(to); size > longestPath {
		p.problem("the path has %d bytes with its root, and %d is the most that programs can open: shorten its names, or take folders out", size, longestPath)
		return false
	}
	const most = longestName - reservedBytes
	for name := range strings.SplitSeq(own, "/") {
		if len(name) > most {
			p.problem("the name has %d bytes, and %d is the most that leaves room for what servers write beside it: %s", len(name), most, ui.Printable(name))
			return false
		}
	}
	return true
}

// claim refuses a target that another one has, in whatever case and normal form, or needs as its folder.
func (p *parser) claim(root int, to string) {
	dir, name := path.Split(to)
	if p.last.number == 0 || p.last.root != root || p.last.path != dir {
		p.last.root, p.last.path, p.last.number = root, dir, p.folderOf(p.rootNumber(root), dir)
	}
	switch n := p.targets.first(p.last.number, name); {
	case n < 0:
		p.targets.add(p.last.number, name)
		p.claims = append(p.claims, claim{line: p.line})
	case p.claims[n].folder == 0:
		p.problem("%s is the target of line %d too: give one of them another name, different in more than case", ui.Printable(to), p.claims[n].line)
	case p.claims[n].line == 0:
		p.problem("the target is a folder that the header names: give the file another name")
	default:
		p.problem("the target is the folder of line %d's: give one of them another name", p.claims[n].line)
	}
}

// folderOf returns the number of a folder below another one, from 1, and refuses a file on the way.
func (p *parser) folderOf(above int32, dir string) int32 {
	for more := dir != ""; more; {
		var name string
		name, dir, _ = strings.Cut(dir, "/")
		if more = dir != ""; name == "" {
			continue // of a root's path
		}
		n := p.targets.first(above, name)
		if n < 0 {
			n = p.targets.add(above, name)
			p.claims = append(p.claims, claim{line: p.line, folder: int32(n) + 2})
		}
		if p.claims[n].folder == 0 {
			p.problem("the target lies below that of line %d, which is a file: give one of them another name", p.claims[n].line)
			p.claims[n].folder = int32(n) + 2
		}
		above = p.claims[n].folder
	}
	return above
}

// rootNumber returns the number of a target root's folder. Roots may lie in each other.
func (p *parser) rootNumber(root int) int32 {
	for len(p.roots) <= root {
		line := p.line
		p.line = 0
		p.roots = append(p.roots, p.folderOf(1, p.plan.Targets[len(p.roots)].Path))
		p.line = line
	}
	return p.roots[root]
}
