package organize

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/anivault/anivault/internal/ui"
)

// Write writes the plan as text. Equal plans result in equal text.
func (p *Plan) Write(w io.Writer) error {
	out := textWriter{Writer: bufio.NewWriter(w)}
	out.writeLine(planFirstLine)
	out.writeLine("id", p.ID)
	out.writeLine("made", ui.Timestamp(p.Created))
	out.writeLine("mode", string(p.Mode))
	out.writeLine("layout", p.Layout)
	for i, r := range p.Sources {
		out.writeLine("source", strconv.Itoa(i+1), r.String())
	}
	for i, r := range p.Targets {
		out.writeLine("target", strconv.Itoa(i+1), r.String())
	}
	for _, f := range p.Folders {
		out.writeLine("folder", strconv.Itoa(f.Target+1), Quote(f.Path))
	}
	var in *Unit
	for i := range p.Units {
		u := &p.Units[i]
		alone := u.Ops[0].Verb == VerbNFO // it needs an "in" line, or it would belong to the previous unit
		if in == nil || alone || in.Source != u.Source || in.Target != u.Target || in.Dir != u.Dir {
			out.writeLine()
			out.writeLine("in", strconv.Itoa(u.Source+1), strconv.Itoa(u.Target+1), Quote(u.Dir))
			in = u
		}
		if u.Work.Kind != "" {
			out.writeLine("#", u.Work.String())
		}
		for k := range u.Ops {
			out.writeOp(&u.Ops[k], u.Ops[0].Verb, k > 0)
		}
	}
	if len(p.Skipped) > 0 {
		out.writeLine()
		out.writeLine("# left:", strconv.Itoa(len(p.Skipped)))
		for _, l := range p.Skipped {
			words := []string{"#", string(l.Code), "", ui.Printable(l.Path)}
			if l.Why != "" {
				words = append(words, "", "("+ui.Escaped(ui.OneLine(l.Why.String()))+")")
			}
			out.writeLine(words...)
		}
	}
	out.writeLine("end")
	return out.Flush()
}

// textWriter writes lines of words. It ignores errors, because the bufio.Writer returns them from Flush.
type textWriter struct{ *bufio.Writer }

func (w textWriter) writeLine(words ...string) {
	for i, word := range words {
		if i > 0 {
			_ = w.WriteByte(' ')
		}
		_, _ = w.WriteString(word)
	}
	_ = w.WriteByte('\n')
}

func (w textWriter) writeOp(op *Op, first Verb, with bool) {
	verb := op.Verb.String()
	switch {
	case op.Verb == VerbNFO:
	case with && op.Verb == first:
		verb = "with"
	case with:
		verb = "with " + verb
	}
	if op.Verb == VerbNFO {
		w.writeLine(verb, op.NFO.String())
	} else {
		size := strconv.FormatInt(op.Size, 10)
		w.writeLine(verb, size, op.MTime.String(), formatInode(op.Inode), Quote(op.Source))
	}
	w.writeLine("  to", Quote(op.To))
}

// String formats the entry as "tv/209867".
func (e Entry) String() string { return e.Kind + "/" + strconv.Itoa(e.ID) }

// String formats the work for people, as in "99% tv/209867 S01E01".
func (w Work) String() string {
	s := w.Entry.String()
	if w.Confidence > 0 {
		s = strconv.Itoa(int(w.Confidence*100)) + "% " + s
	}
	if len(w.Episodes) > 0 {
		s += " " + formatEpisodeNumbers(w.Season, w.Episodes)
	}
	return s
}

// formatEpisodeNumbers formats episodes as "S01E01E02".
func formatEpisodeNumbers(season int, episodes []int) string {
	s := fmt.Sprintf("S%02d", season)
	for _, e := range episodes {
		s += fmt.Sprintf("E%02d", e)
	}
	return s
}

// String formats the NFO as in a plan: "tv/209867", "movie/129 full", "tv/209867 S02E01 as S01E25" or "tv/209867 order
// absolute in ko-KR".
func (n *NFOSpec) String() string {
	s := n.Entry.String()
	if len(n.Episodes) > 0 {
		s += " " + formatEpisodeNumbers(n.Season, n.Episodes)
	} else if n.Full {
		s += " full"
	}
	if len(n.Named.Episodes) > 0 {
		s += " as " + formatEpisodeNumbers(n.Named.Season, n.Named.Episodes)
	}
	if n.Order != "" {
		s += " order " + n.Order
	}
	if n.Languages != "" {
		s += " in " + n.Languages
	}
	return s
}

func formatInode(n uint64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(n, 10)
}

// String formats the root as in a plan: "ext4 262145 1700000101.5 /srv/library".
func (r Root) String() string {
	born := "-"
	if r.Birth != (Stamp{}) {
		born = r.Birth.String()
	}
	return r.Type + " " + formatInode(r.Inode) + " " + born + " " + Quote(r.Path)
}
