package organize

import (
	"fmt"
	"path"
	"strings"

	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/ui"
)

// note adds the files for media servers, once it is known what else gets which name: one that is there, or that follows a video, is
// never touched, whoever wrote it.
func (p *Planner) note() {
	if !p.o.Notes.Wanted {
		return
	}
	taken := map[foldKey]string{} // the names of such files, and which file gets each; "": it is written
	for _, v := range p.videos {
		for i := range v.ops {
			if strings.HasSuffix(strings.ToLower(v.ops[i].To), ".nfo") {
				taken[fold(v.target, v.ops[i].To)] = join(v.dir.path, v.ops[i].Source)
			}
		}
	}
	shows := map[*entry]bool{}
	for _, v := range p.videos {
		if v.kind != isVideo {
			continue
		}
		own := p.isOwnFolder(v.work.Kind)
		if v.work.Kind == "tv" && own && v.entry.at.path != "." && !shows[v.entry] {
			shows[v.entry] = true
			p.noteOne(v, taken, v.entry.at, "tvshow.nfo", &Note{Entry: v.work.Entry, Full: p.o.Notes.Full})
		}
		switch name := path.Base(v.base()) + ".nfo"; {
		case v.work.Kind == "movie" && !v.isLaterPart():
			p.noteOne(v, taken, v.spot, name, &Note{Entry: v.work.Entry, Full: p.o.Notes.Full})
		case v.work.Kind == "tv" && p.o.Notes.Full:
			p.noteOne(v, taken, v.spot, name, &Note{Entry: v.work.Entry, Full: true, Season: v.work.Season, Episodes: v.work.Episodes})
		}
	}
}

// isLaterPart reports whether a file is not the first of those that are one film: servers read what stands beside the first.
func (v *video) isLaterPart() bool {
	return strings.Contains(v.label, " - part") && v.part() > 1
}

// noteOne adds one file to a video's unit.
func (p *Planner) noteOne(v *video, taken map[foldKey]string, at *spot, name string, n *Note) {
	to := join(at.path, name)
	if from, known := taken[fold(v.target, to)]; known {
		if from != "" {
			p.isAbout(from, n)
		}
		return
	}
	taken[fold(v.target, to)] = ""
	dir := p.look(v.target, at)
	for _, item := range dir.alike(name) {
		if p.isAbout(join(dir.path, item.Name), n) {
			v.inPlace++
		}
		return
	}
	n.Languages = p.o.Notes.Languages
	v.ops = append(v.ops, Op{Verb: NFO, Note: n, To: to})
}

// isAbout reports whether a file is about what would be written in its place. That it is about something else is told.
func (p *Planner) isAbout(file string, n *Note) bool {
	text, err := p.disk.Ends(file)
	about, named := false, 0
	if err == nil {
		about, named = nfo.IsAbout(text, n.Kind, n.ID)
	}
	if !about {
		p.foreign = append(p.foreign, foreignNote(file, named, n.Entry))
	}
	return about
}

// foreignNote says that a file for media servers is there which is about something else.
func foreignNote(file string, named int, wanted Entry) string {
	about := "no TMDB id"
	if named != 0 {
		about = fmt.Sprintf("TMDB's id %d", named)
	}
	return fmt.Sprintf("foreign_nfo: %s names %s, not %s, and stays as it is", ui.Printable(file), about, wanted)
}
