package cli

import (
	"bufio"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

func newVerify(f *factory) *cobra.Command {
	var deep bool
	a := applyRun{f: f}
	cmd := leaf(&cobra.Command{
		Use:   "verify [ID]",
		Short: "Is everything where a run of apply left it?",
		Long: `Look whether each file of a run of anivault apply, the last one without an ID, is where the run left it and as it was.
--deep also reads copies and compares their content, and compares files whose own name has a CRC-32, as [8D7F2A11].
Nothing is changed; what is not as it was is a result.`,
		Example: `  anivault verify
  anivault verify 20261122-020431-k3f9 --deep`,
		Args: atMostOne("ID"),
	}, nil, func(cmd *cobra.Command, args []string, _ string) error {
		return a.verify(cmd, args, deep)
	})
	cmd.Flags().BoolVar(&deep, "deep", false, "read the files and compare their content")
	streamFormat(cmd, &a.format, organizeFormats...)
	return cmd
}

func (a *applyRun) verify(cmd *cobra.Command, args []string, deep bool) error {
	a.began = time.Now()
	if err := a.f.tableOr(&a.format, organizeFormats...); err != nil {
		return err
	}
	cfg, err := a.f.load(cmd)
	if err != nil {
		return err
	}
	e, closeEngine, err := openEngine(cfg)
	if err != nil {
		return err
	}
	defer closeEngine()
	var run *apply.Run
	_, atWork, err := standing(func() (runs []apply.Run, err error) {
		if run, err = pickRun(e, args, func(r *apply.Run) bool { return r.Stage != apply.Undone }); run != nil {
			runs = append(runs, *run)
		}
		return runs, err
	}, func() bool { return isAtWork(cmd.Context(), cfg) })
	if err != nil {
		return err
	}
	switch {
	case run == nil:
		return nothingToVerify(a.f, e)
	case run.Err != nil:
		return explainRun(cmd.Context(), a.f, lang.Error("the run %s: %w", run.ID, run.Err), nil)
	case run.Stage == apply.Undone:
		a.f.say("the run %s is put back already\n", run.ID)
		return nil
	}
	if run.Stage.Unfinished() {
		if atWork {
			a.f.warn("the run %s is at work", run.ID)
		} else {
			a.f.warn("the run %s was cut off", run.ID)
			advise(a.f.streams, waysOn(run.ID))
		}
	}
	out, err := e.Verify(cmd.Context(), run.ID, deep)
	if err != nil {
		return explainRun(cmd.Context(), a.f, err, nil)
	}
	warnOfDamage(a.f, out)
	if a.format == "ndjson" {
		err = a.print(out, nil)
	} else {
		err = printVerified(a.f, out)
	}
	if err != nil {
		return err
	}
	ok, planned, undone := out.Count(apply.StatusOK), out.Count(apply.StatusPlanned), out.Count(apply.StatusUndone)
	a.f.say("%s as the run %s left them, %d not\n", lang.Count(ok, "file"), run.ID, len(out.Results)-ok-planned-undone-out.Count(apply.StatusRefused))
	if planned > 0 {
		a.f.say("%s not reached\n", lang.Count(planned, "file"))
	}
	if undone > 0 {
		a.f.say("%s put back\n", lang.Count(undone, "file"))
	}
	if out.Count(apply.StatusFailed) > 0 {
		return &failure{code: exitIncomplete}
	}
	return nil
}

// nothingToVerify says why there is no run to look at.
func nothingToVerify(f *factory, e *apply.Engine) error {
	run, err := pickRun(e, nil, anyRun)
	switch {
	case err != nil:
		return err
	case run == nil:
		f.say("no plan was carried out yet\n")
	default:
		f.say("every run is put back: there is nothing to verify\n")
	}
	return nil
}

// printVerified lists the files that are not as the run left them.
func printVerified(f *factory, out *apply.Outcome) error {
	w := bufio.NewWriter(f.streams.Out)
	for i := range out.Results {
		r := &out.Results[i]
		if r.Status == apply.StatusOK {
			continue
		}
		fmt.Fprintf(w, "%s  %s\n", lang.Say(string(r.Status)), ui.Printable(r.Target))
		if r.Problem != nil {
			fmt.Fprintf(w, "  (%s)\n", problemText(r.Problem))
		}
	}
	return w.Flush()
}
