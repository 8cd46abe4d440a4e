package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
)

var shown = map[apply.Status]bool{
	apply.StatusLeft: true, apply.StatusRefused: true, apply.StatusFailed: true, apply.StatusKept: true,
}

func (a *applyRun) tell(ctx context.Context, out *apply.Outcome) error {
	a.endLine()
	s := summarizeRun(a, out)
	var err error
	if a.format == "ndjson" {
		err = a.print(out, &s)
	} else {
		err = a.printProblems(out)
	}
	if err != nil {
		return &failure{code: exitInternal, err: lang.Error("write what was done: %w", err)}
	}
	warnOfDamage(a.f, out)
	for _, name := range out.BadCRC {
		a.f.warn("bad_crc: the content of %s does not have the checksum in its name; it was copied unchanged",
			ui.Printable(name))
	}
	if n := len(out.LostAttributes); n > 0 {
		a.f.warn("%d of the copies could not keep all extended attributes or the access list, the first is %s", n,
			ui.Printable(out.LostAttributes[0]))
	}
	a.say(out, &s)
	switch {
	case ctx.Err() != nil && out.Unfinished:
		return &failure{code: max(signalStatus(ctx), exitInterrupted)}
	case out.Unfinished || s.Refused+s.Failed+s.Kept > 0:
		return &failure{code: exitIncomplete}
	}
	return nil
}

func (a *applyRun) say(out *apply.Outcome, s *report.OrganizeSummary) {
	if out.Unfinished {
		if out.Why != nil {
			a.f.warn("the run %s was interrupted: %v", out.Run, out.Why)
		} else {
			a.f.warn("the run %s was interrupted", out.Run)
		}
		advise(a.f.streams, waysOn(out.Run))
		return
	}
	planned, kept := "%d can be carried out", "%d kept"
	if a.back {
		planned = "%d can be put back"
	}
	if a.dryRun {
		kept = "%d would be kept"
	}
	ready := out.Count(apply.StatusPlanned)
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{
		{ready, planned},
		{s.Done, "%d done"},
		{s.Undone, "%d put back"},
		{s.InPlace, "%d in place"},
		{s.Left, "%d left"},
		{s.Conflicts, "%d in conflict"},
		{s.Refused, "%d refused"},
		{s.Failed, "%d failed"},
		{s.Kept, kept},
	} {
		if p.n > 0 {
			parts = append(parts, lang.Sprintf(p.word, p.n))
		}
	}
	switch {
	case len(parts) > 0:
	case a.back:
		parts = []string{lang.Sprintf("the run %s has moved no file", out.Run)}
	default:
		parts = []string{lang.Say("nothing to do")}
	}
	a.f.say("%s\n", strings.Join(parts, ", "))
	sayUnowned(a.f, s.Unowned)
	switch {
	case a.dryRun:
		a.f.say("nothing was changed\n")
	case s.Done > 0:
		a.f.say("undo: anivault undo %s\n", out.Run)
	case s.Undone > 0 || s.Kept > 0:
		a.f.say("this was the run %s\n", out.Run)
	case s.Refused > 0 && ready == 0:
		a.f.say("nothing was changed\n")
	case s.Refused > 0:
		a.f.say("nothing was changed; --partial does what can be done\n")
	}
}

func summarizeRun(a *applyRun, out *apply.Outcome) report.OrganizeSummary {
	s := report.OrganizeSummary{
		Run: out.Run, Planned: len(out.Results), InPlace: out.Count(apply.StatusInPlace),
		Left: out.Count(apply.StatusLeft), Done: out.Count(apply.StatusDone),
		Refused: out.Count(apply.StatusRefused), Failed: out.Count(apply.StatusFailed), Undone: out.Count(apply.StatusUndone),
		Kept: out.Count(apply.StatusKept), ElapsedMS: time.Since(a.began).Milliseconds(),
	}
	for i := range out.Results {
		if r := &out.Results[i]; r.Copied {
			s.Bytes += r.Size
		}
	}
	if p := a.planned; p != nil {
		s.InPlace, s.Left, s.Conflicts, s.Unowned = s.InPlace+p.InPlace, s.Left+p.Left, p.Conflicts, p.Unowned
	}
	return s
}

func (a *applyRun) printProblems(out *apply.Outcome) error {
	w := bufio.NewWriter(a.f.streams.Out)
	for i := range out.Results {
		if r := &out.Results[i]; shown[r.Status] {
			what := ui.Printable(r.Target)
			if r.Source != "" {
				what = ui.Printable(r.Source) + "\n  → " + what
			}
			fmt.Fprintf(w, "%s  %s\n  (%s)\n", lang.Say(string(r.Status)), what, problemText(r.Problem))
		} else if a.back && r.Status == apply.StatusPlanned {
			fmt.Fprintf(w, "%s  %s\n  → %s\n", lang.Say(string(r.Status)), ui.Printable(r.Target), ui.Printable(r.Source))
		}
	}
	return w.Flush()
}

func problemText(p *apply.Problem) string {
	text := lang.Say(apply.Meaning(p.Code))
	switch {
	case p.Run != "":
		text = lang.Sprintf("the run %s has moved it since: undo that run first", p.Run)
	case p.Err != nil:
		text += ": " + ui.Escaped(ui.OneLine(lang.Say(lang.TextOf(p.Err))))
	}
	return text
}

func (a *applyRun) print(out *apply.Outcome, s *report.OrganizeSummary) error {
	w := newJSONLines(a.f.streams.Out)
	for i := range out.Results {
		r := &out.Results[i]
		op := report.Op{
			Run: out.Run, N: r.N, Unit: r.Unit, Action: r.Verb.String(), Role: string(organize.RoleOf(r.Target)),
			Source: r.Source, Target: r.Target, Status: string(r.Status),
		}
		if 0 < r.Unit && r.Unit <= len(a.units) {
			u := &a.units[r.Unit-1]
			describeUnit(&op, u)
			op.Role = string(u.RoleIn(&organize.Op{Verb: r.Verb, To: r.Target}))
		}
		if r.Problem != nil {
			op.Error = &report.OpError{Code: string(r.Problem.Code), Message: lang.TextOf(r.Problem)}
		}
		w.put(&op)
	}
	for i := range a.left {
		op := leftOp(out.Run, &a.left[i])
		w.put(&op)
	}
	if s != nil {
		w.put(s)
	}
	return w.end()
}

func describeUnit(op *report.Op, u *organize.Unit) {
	w := &u.Work
	op.Kind, op.TMDBID, op.Episodes = w.Kind, w.ID, w.Episodes
	if !u.Follows {
		op.Confidence = &w.Confidence
	}
	if len(w.Episodes) > 0 {
		op.Season = &w.Season
	}
}

func warnOfDamage(f *factory, out *apply.Outcome) {
	if out.Damaged > 0 {
		f.warn("%d lines of the journal are damaged: what they said is not known, and they stay as they are", out.Damaged)
	}
}
