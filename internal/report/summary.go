package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// Write writes the summary for people: results and cost, then each kind of trouble with its folders, the reason, and
// the command that comes next.
func (t *Tally) Write(w io.Writer, s Summary, opts Options) error {
	var b strings.Builder
	p := printer{&b, opts}
	if opts.Width > 0 && s.Files > 0 { // on a terminal it follows the table
		b.WriteByte('\n')
	}
	p.para(0, headline(s, t.episodeless, opts))
	if opts.Ending.Interrupted {
		p.para(0, interruption(s, opts.Ending))
	}
	p.para(0, effort(s))
	if n := opts.Ending.Unrefreshed; n > 0 {
		p.para(0, lang.Sprintf("%s of %d could not be revalidated: TMDB was not reached, using the cached answers",
			lang.Count(n, "answer"), s.CacheHits+s.CacheMisses))
	}
	blocked := false
	for _, status := range []Status{Matched, Ambiguous, Unmatched, Pending, Failed} {
		for _, x := range t.troubles {
			if x.status == status && opts.Only.lists(status) {
				p.trouble(x, s.LimiterState == "offline")
				blocked = blocked || x.code == CodeBlocked
			}
		}
	}
	if opts.Ending.Stopped != "" && !blocked {
		b.WriteByte('\n')
		p.para(0, lang.Sprintf("hint: %s; `anivault limiter resume` goes on", opts.Ending.Stopped))
	}
	return (&sink{w: w}).writeLast([]byte(b.String()))
}

// headline is "38 files: 36 matched (2 without an episode), 1 ambiguous, 1 unmatched"; a count of zero is left out.
func headline(s Summary, episodeless int, opts Options) string {
	var parts []string
	for _, c := range []struct {
		n      int
		status Status
		plural string
	}{
		{s.Matched, Matched, "matched"},
		{s.Ambiguous, Ambiguous, "ambiguous"},
		{s.Unmatched, Unmatched, "unmatched"},
		{s.Pending, Pending, "pending"},
		{s.Errors, Failed, "errors"},
		{s.Skipped, Skipped, "skipped"},
	} {
		if c.n > 0 {
			word := c.plural
			if c.status == Failed && c.n == 1 {
				word = "error"
			}
			part := ui.Style(opts.Color, hues[c.status], counted(c.n, word))
			if c.status == Matched && episodeless > 0 {
				part = lang.Sprintf("%s (%d without an episode)", part, episodeless)
			}
			parts = append(parts, part)
		}
	}
	switch {
	case len(parts) > 0:
	case s.Requests > 0, opts.Ending.Interrupted:
		return lang.Say("no file was decided")
	default:
		return lang.Say("no media files found")
	}
	return lang.Say(lang.Count(s.Files, "file")) + ": " + strings.Join(parts, ", ")
}

// counted is "36 matched". In Korean the number stands behind its noun.
func counted(n int, word string) string {
	if said := lang.Say(word); said != word {
		return fmt.Sprintf("%s %d", said, n)
	}
	return fmt.Sprintf("%d %s", n, word)
}

func interruption(s Summary, e Ending) string {
	found := fmt.Sprint(max(e.Found, s.Files))
	if e.Searching {
		found = lang.Sprintf("%s or more", found)
	}
	return lang.Sprintf("interrupted: %d of %s files decided; the same command goes on from here", s.Files, found)
}

func effort(s Summary) string {
	parts := []string{lang.Sprintf("%s to TMDB", lang.Count(int(s.Requests), "request"))}
	if s.Retries > 0 {
		parts = append(parts, lang.Say(lang.Count(int(s.Retries), "retry")))
	}
	if s.HTTP429 > 0 {
		parts = append(parts, lang.Sprintf("%s told to slow down (429)", lang.Count(int(s.HTTP429), "time")))
	}
	if all := s.CacheHits + s.CacheMisses; all > 0 {
		parts = append(parts, lang.Sprintf("%d of %d answers from the cache", s.CacheHits, all))
	}
	parts = append(parts, ui.Duration(time.Duration(s.ElapsedMS)*time.Millisecond))
	if s.LimiterState != "" && s.LimiterState != "Normal" {
		parts = append(parts, lang.Sprintf("limiter: %s", s.LimiterState))
	}
	return strings.Join(parts, ", ")
}

func (p printer) trouble(x *trouble, offline bool) {
	p.b.WriteByte('\n')
	what := x.info().Meaning
	head := counted(x.files, string(x.status))
	if x.status == Failed {
		head = lang.Say(lang.Count(x.files, "error"))
	}
	if x.status == Matched {
		head = lang.Sprintf("%d matched without an episode", x.files)
	}
	if x.code != "" {
		what = x.codeInfo(p.opts.Ending, offline).Meaning
		head += " (" + string(x.code) + ")"
	}
	p.para(0, ui.Style(p.opts.Color, hues[x.status], head)+": "+lang.Say(what))
	lastWhy := ""
	for _, f := range x.folders {
		where := ui.Printable(cmp.Or(f.dir, p.opts.Here))
		if f.files == 1 || where == "" {
			where = ui.Printable(f.path)
		}
		if f.files > 1 {
			where = lang.Sprintf("%s (%d files)", where, f.files)
		}
		p.text(2, ui.CutLeft(where, p.room(2)))
		why := ui.Printable(lang.Say(f.why))
		if f.differ || f.files > 1 && x.code == "" { // a code's message is about the run, not about a file
			why = lang.Sprintf("for example %s", strings.TrimSuffix(ui.Printable(f.name)+": "+why, ": "))
		}
		if f.why != "" && why != lastWhy {
			p.para(4, why)
		}
		lastWhy = why
	}
	if x.more > 0 {
		p.text(2, lang.Sprintf("and in %s", lang.Count(x.more, "more folder")))
	}
	p.para(2, lang.Sprintf("next: %s", x.next(p.opts, offline)))
}

func (x *trouble) next(opts Options, offline bool) string {
	if x.code != "" {
		return lang.Say(x.codeInfo(opts.Ending, offline).Next)
	}
	path := opts.Ending.Given
	if folder := cmp.Or(x.folders[0].dir, opts.Here); len(x.folders) == 1 && x.more == 0 && !opts.Ending.Names &&
		folder != "" {
		path = ui.ShellWord(folder)
	}
	next := x.info().Next
	if x.status != Matched && opts.Ending.Asked {
		next = afterAsking
	}
	return withPath(lang.Say(next), path)
}

func (x *trouble) codeInfo(e Ending, offline bool) CodeInfo {
	info := x.code.Info()
	switch {
	case x.code == CodeUnauthorized && e.KeyVariable != "": // what init would write does not win over it
		info.Next = lang.Textf("set %s to a key that TMDB takes, or unset it", e.KeyVariable)
	case x.code != CodeBlocked:
	case offline:
		info.Meaning, info.Next = "offline, and nothing is cached", "run the same command without --offline"
	case e.Stopped != "":
		info.Meaning = lang.Textf("%s, and nothing is cached", e.Stopped)
		info.Next = "`anivault limiter resume` goes on; then run the same command again"
	}
	return info
}

func (x *trouble) info() StatusInfo {
	if x.status == Matched {
		return withoutEpisode
	}
	return x.status.Info()
}

type printer struct {
	b    *strings.Builder
	opts Options
}

func (p printer) room(indent int) int {
	if p.opts.Width <= 0 {
		return 0
	}
	return max(p.opts.Width-indent, 20)
}

func (p printer) text(indent int, s string) {
	p.b.WriteString(strings.Repeat(" ", indent) + s + "\n")
}

func (p printer) para(indent int, s string) {
	for _, line := range ui.Wrap(s, p.room(indent)) {
		p.text(indent, line)
	}
}

const shownFolders = 4

// Tally counts records for the summary and keeps the first few folders of each kind of trouble. The zero value is
// ready.
type Tally struct {
	sum         Summary
	episodeless int // matched files of which the entry is known and the episode is not
	troubles    []*trouble
}

type trouble struct {
	status  Status
	code    Code
	files   int
	folders []folderTrouble
	more    int    // folders beyond shownFolders
	last    string // the folder counted last: records come folder by folder
}

type folderTrouble struct {
	dir, name, path string
	why             lang.Text
	files           int
	differ          bool
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
		t.episodeless++
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
	t.trouble(r).add(r)
}

// Counts returns the file counts so far; what is not about files (requests, cache, time, limiter) is zero.
func (t *Tally) Counts() Summary { return t.sum }

func (t *Tally) trouble(r Record) *trouble {
	code := r.failure().Code
	for _, x := range t.troubles {
		if x.status == r.Status && x.code == code {
			return x
		}
	}
	x := &trouble{status: r.Status, code: code}
	t.troubles = append(t.troubles, x)
	return x
}

func (x *trouble) add(r Record) {
	dir, name := r.Split()
	again := x.files > 0 && dir == x.last
	x.files, x.last = x.files+1, dir
	if !again && len(x.folders) == shownFolders {
		x.more++
	}
	if x.more > 0 {
		return // what is said of one file takes as long as to write its record
	}
	why := r.Why()
	if r.Error != nil {
		why = r.Error.Message // its code stands above
	}
	if !again {
		x.folders = append(x.folders, folderTrouble{dir: dir, name: name, path: r.Path, why: why, files: 1})
		return
	}
	f := &x.folders[len(x.folders)-1]
	f.files++
	f.differ = f.differ || f.why != why
}
