package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// Write writes the summary for people: results, cost, and each kind of problem with folders, reason and next command.
func (t *Tally) Write(w io.Writer, s Summary, opts Options) error {
	var b strings.Builder
	p := printer{&b, opts}
	if opts.Width > 0 && s.Files > 0 { // on a terminal, the summary follows the table
		b.WriteByte('\n')
	}
	p.writeParagraph(0, headline(s, t.withoutEpisode, opts))
	if opts.Ending.Interrupted {
		p.writeParagraph(0, interruptionLine(s, opts.Ending))
	}
	p.writeParagraph(0, effortLine(s))
	if n := opts.Ending.NotRevalidated; n > 0 {
		p.writeParagraph(0, lang.Sprintf(
			"%s of %d could not be revalidated: TMDB gave no valid answer, so the cached ones are used",
			lang.Count(n, "answer"), s.CacheHits+s.CacheMisses))
	}
	blocked, next := false, ""
	for _, status := range []Status{Matched, Ambiguous, Unmatched, Pending, Failed} {
		for _, x := range t.problems {
			if x.status == status && opts.Filter.showsInSummary(status) {
				if x.code == "" {
					next = p.commandFor(x)
				}
				if x.code != "" || !opts.Terminal { // the table has listed the others
					p.writeProblem(x, s.LimiterState == "offline")
				}
				blocked = blocked || x.code == CodeBlocked
			}
		}
		if status == Unmatched && next != "" && s.Pending == 0 {
			p.writeNext(next)
		}
	}
	if opts.Ending.CacheOnlyReason != "" && !blocked {
		b.WriteByte('\n')
		p.writeParagraph(0, lang.Sprintf("hint: %s; %s", opts.Ending.CacheOnlyReason, opts.Ending.CacheOnlyEnd))
	}
	return newBufferedWriter(w, "").writeLast([]byte(b.String()))
}

// headline returns "38 files: 36 matched (2 without an episode), 1 ambiguous"; zero counts are left out.
func headline(s Summary, episodeless int, opts Options) string {
	var parts []string
	add := func(n int, status Status, word string) {
		if n == 0 {
			return
		}
		part := ui.Style(opts.Color, statusColors[status], countText(n, word))
		if status == Matched && episodeless > 0 {
			part = lang.Sprintf("%s (%d without an episode)", part, lang.Number(episodeless))
		}
		parts = append(parts, part)
	}
	add(s.Matched, Matched, "matched")
	add(s.Ambiguous, Ambiguous, "ambiguous")
	add(s.Unmatched, Unmatched, "unmatched")
	add(s.Pending, Pending, "pending")
	add(s.Errors, Failed, map[bool]string{true: "error", false: "errors"}[s.Errors == 1])
	add(s.Skipped, Skipped, "skipped")
	switch {
	case len(parts) > 0:
		return lang.Say(lang.Count(s.Files, "file")) + ": " + strings.Join(parts, ", ")
	case s.Requests > 0, opts.Ending.Interrupted:
		return lang.Say("no file was matched yet")
	}
	return lang.Say("no media files found")
}

// countText returns "36 matched". In Korean, the number follows its noun.
func countText(n int, word string) string {
	if said := lang.Say(word); said != word {
		return fmt.Sprintf("%s %d", said, lang.Number(n))
	}
	return fmt.Sprintf("%d %s", lang.Number(n), word)
}

func interruptionLine(s Summary, e Ending) string {
	found := fmt.Sprint(lang.Number(max(e.FilesFound, s.Files)))
	if e.StillSearching {
		found = lang.Sprintf("%s or more", found)
	}
	return lang.Sprintf("interrupted after %d of %s files; the same command continues from here",
		lang.Number(s.Files), found)
}

func effortLine(s Summary) string {
	parts := []string{lang.Sprintf("%s to TMDB", lang.Count(int(s.Requests), "request"))}
	if s.Retries > 0 {
		parts = append(parts, lang.Say(lang.Count(int(s.Retries), "retry")))
	}
	if s.HTTP429 > 0 {
		parts = append(parts, lang.Sprintf("slowed down by TMDB %s (429)", lang.Count(int(s.HTTP429), "time")))
	}
	if all := s.CacheHits + s.CacheMisses; all > 0 {
		parts = append(parts, lang.Sprintf("%d of %d answers from the cache", lang.Number(s.CacheHits), lang.Number(all)))
	}
	parts = append(parts, lang.Say(ui.Duration(time.Duration(s.ElapsedMS)*time.Millisecond)))
	if trouble := TroubleText(s.LimiterState); trouble != "" {
		parts = append(parts, lang.Say(trouble))
	}
	return strings.Join(parts, ", ")
}

// TroubleText describes a state of the limiter in plain words. It returns "" for Normal.
func TroubleText(state string) lang.Text { return troubleTexts[state] }

var troubleTexts = map[string]lang.Text{
	"Throttle": "TMDB has trouble: fewer requests", "HalfOpen": "testing whether TMDB works again",
	"Sleep": "TMDB has trouble: requests are paused", "CacheOnly": "requests are stopped", "offline": "offline",
}

func (p printer) writeProblem(x *problem, offline bool) {
	p.b.WriteByte('\n')
	what, next := x.status.Info().Meaning, lang.Text("")
	head := countText(x.files, string(x.status))
	switch x.status {
	case Failed:
		head = lang.Say(lang.Count(x.files, "error"))
	case Matched:
		head, what = lang.Sprintf("%d matched without an episode", lang.Number(x.files)), matchedWithoutEpisode.Meaning
	default:
	}
	if x.code != "" {
		info := x.codeInfo(p.opts.Ending, offline)
		what, next = info.Meaning, info.Next
		if x.sharesWhy && info.Meaning == x.code.Info().Meaning {
			what = x.why // more precise
		}
		head += " (" + string(x.code) + ")"
	}
	p.writeParagraph(0, ui.Style(p.opts.Color, statusColors[x.status], head)+": "+ui.Printable(lang.Say(what)))
	if !p.opts.Terminal {
		p.writeFolders(x)
	}
	if next != "" {
		p.writeNext(lang.Say(next))
	}
}

func (p printer) writeNext(next string) {
	line := lang.Sprintf("next: %s", next)
	if strings.HasPrefix(next, "anivault ") { // not wrapped, so that it can be copied
		p.writeLine(0, line)
		return
	}
	p.writeParagraph(0, line)
}

func (p printer) writeFolders(x *problem) {
	lastWhy := ""
	if x.sharesWhy {
		lastWhy = ui.Printable(lang.Say(x.why))
	}
	for _, f := range x.folders {
		where := ui.Printable(cmp.Or(f.dir, p.opts.DefaultFolder))
		switch {
		case f.files == 1:
			where = ui.Printable(f.path)
		case where == "":
			where = lang.Sprintf("names without a folder (%d)", lang.Number(f.files))
		default:
			where = lang.Sprintf("%s (%d files)", where, lang.Number(f.files))
		}
		p.writeLine(2, ui.CutLeft(where, p.widthAfter(2)))
		why := ui.Printable(lang.Say(f.why))
		if f.files > 1 && (f.reasonsDiffer || x.code == "") {
			why = lang.Sprintf("for example %s", strings.TrimSuffix(ui.Printable(f.name)+": "+why, ": "))
		}
		if f.why != "" && why != lastWhy {
			p.writeParagraph(4, why)
		}
		lastWhy = why
	}
	if x.moreFolders > 0 {
		p.writeLine(2, lang.Sprintf("and in %s", lang.Count(x.moreFolders, "more folder")))
	}
}

// commandFor returns the command that settles a problem without a code. A user who can't be asked, or who was asked
// already, gets a pin or an explanation.
func (p printer) commandFor(x *problem) string {
	e := p.opts.Ending
	switch {
	case e.Arguments == "":
		return ""
	case x.search != "":
		return x.search
	case x.pin != "" && (e.Prompted || !p.opts.Terminal) && !strings.HasPrefix(e.Arguments, "--names-from"):
		return x.pin
	case e.Prompted:
		return "anivault match --explain " + e.Arguments
	}
	return cmp.Or(e.Interactive, "anivault match --interactive "+e.Arguments)
}

func (x *problem) codeInfo(e Ending, offline bool) CodeInfo {
	info := x.code.Info()
	switch {
	case x.code == CodeUnauthorized && e.KeyVariable != "": // the variable would override a key from `config init`
		info.Next = lang.Textf("%s holds a key that TMDB rejects: replace or unset it", e.KeyVariable)
	case x.code != CodeBlocked:
	case offline:
		info.Meaning, info.Next = "offline, and nothing is cached", "run the same command without --offline"
	case e.CacheOnlyReason != "":
		info.Meaning = lang.Textf("%s, and nothing is cached", e.CacheOnlyReason)
		info.Next = lang.Textf("%s; then run the same command again", e.CacheOnlyEnd)
	case e.StoppedGateway != "":
		info.Next = lang.Textf("the operator of %s can let it send again; then run the same command again", e.StoppedGateway)
	}
	return info
}

type printer struct {
	b    *strings.Builder
	opts Options
}

func (p printer) widthAfter(indent int) int {
	if p.opts.Width <= 0 {
		return 0
	}
	return max(p.opts.Width-indent, 20)
}

func (p printer) writeLine(indent int, s string) {
	p.b.WriteString(strings.Repeat(" ", indent) + s + "\n")
}

func (p printer) writeParagraph(indent int, s string) {
	for _, line := range ui.Wrap(s, p.widthAfter(indent)) {
		p.writeLine(indent, line)
	}
}

const maxShownFolders = 4

// Tally counts records for the summary and keeps the first few folders of each problem. The zero value is ready.
type Tally struct {
	sum            Summary
	withoutEpisode int // matched files without a known episode
	problems       []*problem
}

type problem struct {
	status      Status
	code        Code
	files       int
	folders     []problemFolder
	why         lang.Text // of the first file
	sharesWhy   bool      // all files have why, and it is shown instead of the code's meaning
	moreFolders int       // folders beyond maxShownFolders
	pin         string    // the command that gives the first file its episode, if that is what it lacks
	search      string    // the command that lists the orders of its series, if it lacks only the order
	lastDir     string    // the folder of the last record; records come folder by folder
}

type problemFolder struct {
	dir, name, path string
	why             lang.Text
	files           int
	reasonsDiffer   bool
}

// Add counts one record.
func (t *Tally) Add(r Record) {
	t.sum.Files++
	switch r.Status {
	case Matched:
		t.sum.Matched++
		if !r.LacksEpisode() {
			return
		}
		t.withoutEpisode++
	case Skipped:
		t.sum.Skipped++
		return
	case Ambiguous:
		t.sum.Ambiguous++
	case Unmatched:
		t.sum.Unmatched++
	case Pending:
		t.sum.Pending++
	case Failed:
		t.sum.Errors++
	}
	x := t.problemOf(r)
	switch x.add(r); {
	case x.files > 1 || r.Status != Matched:
	case r.Orders != nil: // only the order is missing
		x.search = "anivault search " + r.Ref() + " --orders"
	default:
		x.pin = pinCommand(&r)
	}
}

// pinCommand returns a command that says which episode a file is. N stands for numbers that its name or TMDB lacks.
func pinCommand(r *Record) string {
	season, episode, p := "1", "N", r.Parsed
	switch {
	case p != nil && p.Special != "": // its own number is rarely TMDB's
		season, p = "0", nil
	case p != nil && len(p.Episodes) > 0 && r.EpisodeConfidence != nil && *r.EpisodeConfidence == 0:
		season, p = "N", nil
	}
	if p != nil && p.Season != nil {
		season = strconv.Itoa(*p.Season)
	}
	if p != nil && len(p.Episodes) > 0 && p.Episodes[0] == math.Trunc(p.Episodes[0]) {
		episode = strconv.Itoa(int(p.Episodes[0]))
	}
	return "anivault pin " + ui.PathWord(r.Path) + " " + r.Ref() + " --season " + season + " --episode " + episode
}

// Counts returns the numbers of files so far. The other fields of the summary are zero.
func (t *Tally) Counts() Summary { return t.sum }

func (t *Tally) problemOf(r Record) *problem {
	code := r.errorOrZero().Code
	for _, x := range t.problems {
		if x.status == r.Status && x.code == code {
			return x
		}
	}
	x := &problem{status: r.Status, code: code, why: r.Why()}
	x.sharesWhy = code == CodeNetwork || code == CodeBlocked || code == CodeBudget // these have plain messages
	t.problems = append(t.problems, x)
	return x
}

func (x *problem) add(r Record) {
	dir, name := r.SplitPath()
	again := x.files > 0 && dir == x.lastDir
	x.files, x.lastDir = x.files+1, dir
	if !again && len(x.folders) == maxShownFolders {
		x.moreFolders++
	}
	if x.moreFolders > 0 && !x.sharesWhy {
		return // skip Why, which takes as long as writing the record
	}
	why := r.Why()
	if x.sharesWhy = x.sharesWhy && why == x.why; x.moreFolders > 0 {
		return
	}
	if !again {
		x.folders = append(x.folders, problemFolder{dir: dir, name: name, path: r.Path, why: why, files: 1})
		return
	}
	f := &x.folders[len(x.folders)-1]
	f.files++
	f.reasonsDiffer = f.reasonsDiffer || f.why != why
}
