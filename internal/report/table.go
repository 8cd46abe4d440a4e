package report

import (
	"io"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

const (
	placeCol   = 12 // "S01E01-E12" and the longest status, with the indent of a series' files
	sureCol    = 4  // "100%"
	leadCols   = 2 + placeCol + 1 + sureCol + 2
	minWidth   = leadCols + 15
	titlesFrom = 100
)

// table prints a line for each file, and below it the reason why it is not simply matched, each thing once.
type table struct {
	*sink
	opts    Options
	begun   bool
	dir     string
	series  string
	why     string
	group   string // what was weighed for the latest file
	nameCol int    // 0: as long as it is
}

func newTable(w io.Writer, opts Options) *table {
	t := &table{sink: newSink(w, ""), opts: opts}
	t.measure()
	return t
}

func (t *table) measure() {
	if t.opts.Resized != nil {
		t.opts.Width = t.opts.Resized()
	}
	if t.opts.Width <= 0 {
		return
	}
	t.opts.Width = max(t.opts.Width, minWidth)
	t.nameCol = t.opts.Width - leadCols
	if t.opts.Width >= titlesFrom {
		t.nameCol = min(t.nameCol*3/5, 96)
	}
}

func (t *table) Match(r Record) error {
	t.measure()
	var b strings.Builder
	dir, name := r.Split()
	t.record(&b, r, dir, name)
	return t.write([]byte(b.String()))
}

func (t *table) record(b *strings.Builder, r Record, dir, name string) {
	t.folder(b, dir)
	t.entry(b, r)
	if t.opts.Explain {
		t.weighed(b, r)
	}
	said := t.file(b, r, name)
	t.reason(b, r, said)
	if text := t.placed(r); text != "" && !said {
		t.block(b, text)
	}
}

func (t *table) folder(b *strings.Builder, dir string) {
	if t.begun && dir == t.dir {
		return
	}
	if t.begun {
		b.WriteByte('\n')
	}
	t.begun, t.dir, t.series, t.why, t.group = true, dir, "", "", ""
	if dir == "" {
		dir = t.opts.Here
	}
	if dir != "" {
		t.line(b, ui.Bold, ui.CutLeft(ui.Printable(dir), t.opts.Width))
	}
}

func (t *table) entry(b *strings.Builder, r Record) {
	if r.Status != Matched {
		t.series = ""
		return
	}
	title, rest := ui.Printable(r.Entry()), "  "+r.Ref()
	original, age := "", ""
	if r.OtherTitle() != "" {
		original = "  " + ui.Printable(r.OtherTitle())
	}
	if said := r.Age(); said != "" {
		age = "  [" + lang.Say(said) + "]"
	}
	key := title + rest + original + age
	if key == t.series {
		return
	}
	t.series, t.why = key, ""
	if room := t.opts.Width - 2; room > 0 { // first the original title goes, then the title's end: the id stays
		if ui.Width(key) > room {
			original = ""
		}
		if ui.Width(title)+ui.Width(rest+age) > room {
			title = ui.Cut(title, max(room-ui.Width(rest+age), 12))
			age = ui.Cut(age, max(room-ui.Width(title)-ui.Width(rest), 1))
		}
	}
	b.WriteString("  " + ui.Style(t.opts.Color, ui.Bold, title))
	t.line(b, ui.Dim, rest+original+age)
}

func (t *table) file(b *strings.Builder, r Record, name string) (said bool) {
	label, sure := lang.Say(string(r.Status)), ""
	if r.Status == Matched {
		label = "  " + lang.Say("matched")
		if p := r.Place(); p != "" {
			label = "  " + lang.Say(p)
		}
	}
	if r.Confidence != nil {
		sure = Percent(*r.Confidence)
	}
	if room := t.opts.Width; room > 0 { // a list of episodes may take a part of the name's room
		label = ui.Cut(label, placeCol+max(room-80, 0)/4)
	}
	b.WriteString("  ")
	b.WriteString(ui.Style(t.opts.Color, hues[r.Status], label))
	b.WriteString(strings.Repeat(" ", max(placeCol-ui.Width(label), 0)+1))
	b.WriteString(strings.Repeat(" ", max(sureCol-len(sure), 0)) + sure + "  ")

	// A label that is longer than its column takes the room from the name.
	over := max(ui.Width(label)-placeCol, 0)
	room, extra := t.opts.Width, ""
	if room > 0 {
		room -= leadCols + over
	}
	shown := ui.Printable(name)
	switch {
	case r.Status == Skipped && r.Reason != "":
		if beside := "(" + ui.Printable(lang.Say(r.Reason)) + ")"; t.opts.Width == 0 ||
			ui.Width(shown)+2+ui.Width(beside) <= room {
			extra, said = beside, true
		}
	case t.opts.Explain && r.Status == Matched:
		if beside := t.placed(r); t.opts.Width == 0 || ui.Width(shown)+2+ui.Width(beside) <= room {
			extra, said = beside, beside != ""
		}
	case r.Status == Matched && (t.opts.Width == 0 || t.opts.Width >= titlesFrom):
		extra = ui.Printable(strings.Join(r.EpisodeTitles, " / "))
	}
	if extra == "" {
		b.WriteString(ui.Cut(shown, room))
		b.WriteByte('\n')
		return said
	}
	if t.opts.Width > 0 && !said {
		nameRoom := max(t.nameCol-over, 0)
		shown = ui.Pad(ui.Cut(shown, nameRoom), nameRoom)
		extra = ui.Cut(extra, max(room-ui.Width(shown)-2, 1))
	}
	b.WriteString(shown + "  " + ui.Style(t.opts.Color, ui.Dim, extra) + "\n")
	return said
}

func (t *table) reason(b *strings.Builder, r Record, said bool) {
	why := ""
	if !said {
		why = ui.Printable(lang.Say(r.Why()))
	}
	if why == t.why {
		return
	}
	t.why = why
	if why != "" {
		t.block(b, why)
	}
}

func (t *table) weighed(b *strings.Builder, r Record) {
	var lines []string
	for _, s := range r.Steps {
		if s.Stage == placing {
			continue
		}
		text := lang.Say(s.Stage) + ": " + lang.Say(s.Detail)
		if s.Source != "" {
			text += " [" + lang.Say(s.Source) + "]"
		}
		lines = append(lines, text)
	}
	for _, c := range r.Candidates {
		text := lang.Say("candidate") + ": " + c.Entry() + " " + c.Ref() + " " + Percent(c.Confidence)
		if len(c.Reasons) > 0 {
			var parts []string
			for _, x := range c.Reasons {
				parts = append(parts, x.Text())
			}
			text += ": " + strings.Join(parts, ", ")
		}
		lines = append(lines, text)
	}
	group := strings.Join(lines, "\n")
	if group == t.group {
		return
	}
	t.group = group
	for _, text := range lines {
		t.block(b, ui.Printable(text))
	}
}

const placing = "place"

func (t *table) placed(r Record) string {
	var parts []lang.Text
	if r.Status == Matched && r.Why() == "" && r.Reason != "" {
		parts = append(parts, r.Reason)
	}
	for _, s := range r.Steps {
		if s.Stage == placing && !slices.Contains(parts, s.Detail) {
			parts = append(parts, s.Detail)
		}
	}
	if !t.opts.Explain || len(parts) == 0 {
		return ""
	}
	return ui.Printable("-> " + lang.Say(lang.Join(parts, "; ")))
}

func (t *table) block(b *strings.Builder, text string) {
	const indent = 4
	width := t.opts.Width
	if width > 0 {
		width -= indent
	}
	for _, line := range ui.Wrap(text, width) {
		b.WriteString(strings.Repeat(" ", indent))
		t.line(b, ui.Dim, line)
	}
}

func (t *table) line(b *strings.Builder, code, s string) {
	b.WriteString(ui.Style(t.opts.Color, code, s))
	b.WriteByte('\n')
}

var hues = map[Status]string{
	Matched: ui.Green, Ambiguous: ui.Yellow, Unmatched: ui.Red, Failed: ui.Red, Pending: ui.Cyan, Skipped: ui.Dim,
}
