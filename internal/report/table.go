package report

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/ui"
)

const (
	placeCol          = 12 // fits an indented "S01E01-E12" and the longest status
	percentCol        = 5  // "100 %"
	columnsBeforeName = 2 + placeCol + 1 + percentCol + 2
	minWidth          = columnsBeforeName + 15
	minWidthForTitles = 100
)

// table prints a line for each file. If a file is not matched, the line below says why. Equal reasons are not repeated.
type table struct {
	*bufferedWriter
	opts            Options
	started         bool
	lastDir         string
	lastEntry       string
	lastReason      string
	lastExplanation string // the explanation of the last file
	nameCol         int    // 0: names are not cut
}

func newTable(w io.Writer, opts Options) *table {
	t := &table{bufferedWriter: newBufferedWriter(w, ""), opts: opts}
	t.updateWidth()
	return t
}

func (t *table) updateWidth() {
	if t.opts.Resized != nil {
		t.opts.Width = t.opts.Resized()
	}
	if t.opts.Width <= 0 {
		return
	}
	t.opts.Width = max(t.opts.Width, minWidth)
	t.nameCol = t.opts.Width - columnsBeforeName
	if t.opts.Width >= minWidthForTitles {
		t.nameCol = min(t.nameCol*3/5, 96)
	}
}

func (t *table) Match(r Record) error {
	t.updateWidth()
	var b strings.Builder
	dir, name := r.SplitPath()
	t.writeRecord(&b, r, dir, name)
	return t.write([]byte(b.String()))
}

func (t *table) writeRecord(b *strings.Builder, r Record, dir, name string) {
	t.writeFolder(b, dir)
	t.writeEntry(b, r)
	if t.opts.Explain {
		t.writeCandidates(b, r)
	}
	said := t.writeFile(b, r, name)
	t.writeReason(b, r, said)
	if text := t.placementText(r); text != "" && !said {
		t.writeIndented(b, text)
	}
}

func (t *table) writeFolder(b *strings.Builder, dir string) {
	if t.started && dir == t.lastDir {
		return
	}
	if t.started {
		b.WriteByte('\n')
	}
	t.started, t.lastDir, t.lastEntry, t.lastReason, t.lastExplanation = true, dir, "", "", ""
	if dir = cmp.Or(dir, t.opts.DefaultFolder); dir != "" {
		t.writeLine(b, ui.Bold, ui.CutLeft(ui.Printable(dir), t.opts.Width))
	}
}

func (t *table) writeEntry(b *strings.Builder, r Record) {
	if r.Status != Matched {
		t.lastEntry = ""
		return
	}
	title, rest := ui.Printable(r.Entry()), "  "+r.Ref()
	original, age := "", ""
	if r.OtherTitle() != "" {
		original = "  " + ui.Printable(r.OtherTitle())
	}
	if said := r.SourceNote(); said != "" {
		age = "  [" + lang.Say(said) + "]"
	}
	key := title + rest + original + age
	if key == t.lastEntry {
		return
	}
	t.lastEntry, t.lastReason = key, ""
	if room := t.opts.Width - 2; room > 0 { // drop the original title, then cut the title; keep the id
		if ui.Width(key) > room {
			original = ""
		}
		if ui.Width(title)+ui.Width(rest+age) > room {
			title = ui.Cut(title, max(room-ui.Width(rest+age), 12))
			age = ui.Cut(age, max(room-ui.Width(title)-ui.Width(rest), 1))
		}
	}
	b.WriteString("  " + ui.Style(t.opts.Color, ui.Bold, title))
	t.writeLine(b, ui.Dim, rest+original+age)
}

func (t *table) writeFile(b *strings.Builder, r Record, name string) (reasonShown bool) {
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
	if room := t.opts.Width; room > 0 { // a list of episodes may use part of the name's column
		label = ui.Cut(label, placeCol+max(room-80, 0)/4)
	}
	b.WriteString("  " + ui.Style(t.opts.Color, statusColors[r.Status], label))
	b.WriteString(strings.Repeat(" ", max(placeCol-ui.Width(label), 0)+1))
	b.WriteString(strings.Repeat(" ", max(percentCol-len(sure), 0)) + sure + "  ")

	// A label longer than its column shortens the name.
	over := max(ui.Width(label)-placeCol, 0)
	room, extra := t.opts.Width, ""
	if room > 0 {
		room -= columnsBeforeName + over
	}
	shown, reason := ui.Printable(name), ""
	switch {
	case r.Status == Skipped && r.Reason != "":
		reason = "(" + ui.Printable(lang.Say(r.Reason)) + ")"
	case t.lastReason != "" && ui.Printable(lang.Say(r.Why())) == t.lastReason:
		reason = "(" + lang.Say("same") + ")"
	case t.opts.Explain && r.Status == Matched:
		reason = t.placementText(r)
	case r.Status == Matched && (t.opts.Width == 0 || t.opts.Width >= minWidthForTitles):
		extra = ui.Printable(strings.Join(r.EpisodeTitles, " / "))
	}
	if reason != "" && (t.opts.Width == 0 || ui.Width(shown)+2+ui.Width(reason) <= room) {
		extra, reasonShown = reason, true
	}
	if extra == "" {
		b.WriteString(ui.Cut(shown, room) + "\n")
		return reasonShown
	}
	if t.opts.Width > 0 && !reasonShown {
		nameRoom := max(t.nameCol-over, 0)
		shown = ui.Pad(ui.Cut(shown, nameRoom), nameRoom)
		extra = ui.Cut(extra, max(room-ui.Width(shown)-2, 1))
	}
	b.WriteString(shown + "  " + ui.Style(t.opts.Color, ui.Dim, extra) + "\n")
	return reasonShown
}

func (t *table) writeReason(b *strings.Builder, r Record, reasonShown bool) {
	why := ui.Printable(lang.Say(r.Why()))
	if why == t.lastReason {
		return
	}
	t.lastReason = ""
	if why != "" && !reasonShown {
		t.lastReason = why
		t.writeIndented(b, why)
	}
}

func (t *table) writeCandidates(b *strings.Builder, r Record) {
	var lines []string
	for _, s := range r.Steps {
		if s.Stage == placeStage {
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
			parts := slicesx.Map(c.Reasons, Reason.Text)
			text += ": " + strings.Join(parts, ", ")
		}
		lines = append(lines, text)
	}
	group := strings.Join(lines, "\n")
	if group == t.lastExplanation {
		return
	}
	t.lastExplanation = group
	for _, text := range lines {
		t.writeIndented(b, ui.Printable(text))
	}
}

const placeStage = "place"

func (t *table) placementText(r Record) string {
	var parts []lang.Text
	if r.Status == Matched && r.Why() == "" && r.Reason != "" {
		parts = append(parts, r.Reason)
	}
	for _, s := range r.Steps {
		if s.Stage == placeStage && !slices.Contains(parts, s.Detail) {
			parts = append(parts, s.Detail)
		}
	}
	if !t.opts.Explain || len(parts) == 0 {
		return ""
	}
	return ui.Printable("-> " + lang.Say(lang.Join(parts, "; ")))
}

func (t *table) writeIndented(b *strings.Builder, text string) {
	const indent = 4
	for _, line := range ui.Wrap(text, max(t.opts.Width-indent, 0)) {
		b.WriteString(strings.Repeat(" ", indent))
		t.writeLine(b, ui.Dim, line)
	}
}

func (t *table) writeLine(b *strings.Builder, attribute, s string) {
	b.WriteString(ui.Style(t.opts.Color, attribute, s) + "\n")
}

var statusColors = map[Status]string{
	Matched: ui.Green, Ambiguous: ui.Yellow, Unmatched: ui.Red, Failed: ui.Red, Pending: ui.Cyan, Skipped: ui.Dim,
}
