package cli

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/simulate"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
)

type simulateOptions struct {
	f *factory

	scenario, preset, upstreamLimit, latency string
	length, step                             time.Duration
	format, out                              string
	processes                                int
	seed                                     uint64
}

func newLimiterSimulate(f *factory) *cobra.Command {
	o := simulateOptions{f: f}
	cmd := command("limiter_simulate")
	cmd.ValidArgsFunction = completeTuningKeys(affectsSimulation)
	f.setRun(cmd, nil, func(c invocation) error { return o.run(c.cmd, c.args) })
	flags := cmd.Flags()
	flags.StringVar(&o.scenario, "scenario", "", "`FILE` with a scenario in JSON")
	flags.StringVar(&o.preset, "preset", "gauntlet", "`NAME` of a scenario")
	flags.StringVar(&o.upstreamLimit, "limit", "sliding:50/1s",
		"`MODEL` of the upstream's limit, unless the scenario has one")
	flags.StringVar(&o.latency, "latency", "20ms-60ms", "`TIME` that a good answer takes, or a range")
	flags.IntVar(&o.processes, "processes", 1, "`NUMBER` of processes that share the limiter")
	flags.DurationVar(&o.length, "for", 0, "`DURATION` of the run (default: until 30 s after the last fault, or 2m)")
	flags.DurationVar(&o.step, "step", 0, "`DURATION` of a row (default: gives 20 to 50 rows)")
	flags.Uint64Var(&o.seed, "seed", 1, "random `SEED`")
	flags.StringVar(&o.format, "format", "text",
		"`FORMAT` of the output: text, csv or svg (default: by the name of --out)")
	flags.StringVar(&o.out, "out", "", "write to `FILE` instead of stdout")
	completeWords(cmd, "format", "text", "csv", "svg")
	completeWords(cmd, "preset", simulate.Presets()...)
	completeWords(cmd, "limit", "token_bucket", "sliding", "fixed", "legacy", "none")
	completeWords(cmd, "latency", "20ms-60ms", "17ms-154ms")
	return cmd
}

func (o *simulateOptions) run(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("format") {
		switch ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(o.out), ".")); ext {
		case "csv", "svg":
			o.format = ext
		case "", "txt", "text", "md", "log":
		default:
			return usagef("name it .svg, .csv or .txt, or choose with --format",
				"--out: no format has names that end with .%s", ui.Printable(ext))
		}
	}
	if err := checkFormat(o.format, "text", "csv", "svg"); err != nil {
		return err
	}
	if o.scenario != "" && cmd.Flags().Changed("preset") {
		return usagef("give one of them", "--scenario and --preset can't be used together")
	}
	sim, err := o.config()
	if err != nil {
		return err
	}
	cfg, err := o.f.load(cmd)
	if err != nil {
		return err
	}
	if sim.Processes, err = tuningsPerProcess(cfg.Tuning, o.processes, args); err != nil {
		return tuningUsageError(err)
	}
	result, err := simulate.Run(cmd.Context(), sim)
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{code: max(exitStatusOfSignal(cmd.Context()), exitInterrupted)}
	case err != nil: // only the arguments can be wrong
		return usagef(helpHint(cmd), "%v", err)
	}
	write := map[string]func(io.Writer) error{
		"text": result.WriteText, "csv": result.WriteCSV, "svg": result.WriteSVG,
	}[o.format]
	if o.out == "" {
		return write(o.f.streams.Out)
	}
	if err := atomicfile.Write(o.out, 0o600, write); err != nil {
		return usagef("choose a FILE that can be written", "--out: %v", err)
	}
	return nil
}

func (o *simulateOptions) config() (sim simulate.Config, err error) {
	if sim.Scenario, err = o.loadScenario(); err != nil {
		return sim, err
	}
	if sim.Limits, err = upstream.ParseLimits(o.upstreamLimit); err != nil {
		return sim, usagef("for example: --limit sliding:40/1s,retry_after=delta", "--limit: %v", err)
	}
	if sim.Latency, err = upstream.ParseLatency(o.latency); err != nil {
		return sim, usagef("allowed: a time such as 75ms, or a range such as 20ms-60ms",
			"--latency: %q is not a latency", o.latency)
	}
	if o.length < 0 || o.step < 0 {
		return sim, usagef("allowed: a time such as 30s or 10m", "--for and --step can't be negative")
	}
	sim.Length, sim.Step, sim.Seed = o.length, o.step, o.seed
	return sim, nil
}

func (o *simulateOptions) loadScenario() (upstream.Scenario, error) {
	if o.scenario == "" {
		if !slices.Contains(simulate.Presets(), o.preset) {
			hint := didYouMeanOrAllowed(o.preset, simulate.Presets())
			return upstream.Scenario{}, usagef(hint, "--preset: %q is not a preset", o.preset)
		}
		return upstream.Preset(o.preset)
	}
	file, err := os.Open(o.scenario)
	if err != nil {
		return upstream.Scenario{}, usagef("name a file that can be read", "--scenario: %v", err)
	}
	defer file.Close()
	s, err := upstream.ReadScenario(file)
	if err == nil {
		err = simulate.Check(s)
	}
	if err != nil {
		return s, usagef("see: anivault limiter simulate --help", "%s: %v", o.scenario, err)
	}
	s.Name = cmp.Or(s.Name, strings.TrimSuffix(filepath.Base(o.scenario), ".json"))
	return s, nil
}

func tuningsPerProcess(own ratelimit.Tuning, processes int, args []string) ([]ratelimit.Tuning, error) {
	if processes < 1 || processes > simulate.MaxProcesses {
		return nil, usagef(lang.Textf("allowed: 1 to %d", simulate.MaxProcesses),
			"--processes: %d is out of range", processes)
	}
	tunings := slices.Repeat([]ratelimit.Tuning{own}, processes)
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, usagef("for example: anivault limiter simulate rate_base=10", "%q is not KEY=VALUE", arg)
		}
		first, last := 1, processes
		if number, rest, ok := strings.Cut(key, ":"); ok {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > processes {
				hint := lang.Textf("allowed: 1: to %d:, as in 1:rate_base=10; --processes sets how many there are", processes)
				return nil, usagef(hint, "%q is for a process that does not exist", arg)
			}
			key, first, last = rest, n, n
		}
		if err := checkTuningKey("", key); err != nil {
			return nil, err
		}
		if !affectsSimulation(key) {
			return nil, usagef("leave it out", "%s has no effect in a simulation", key)
		}
		field, _ := ratelimit.FieldByKey(key)
		for i := first - 1; i < last; i++ {
			if err := field.Set(&tunings[i], value); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range tunings {
		if err := t.Validate(); err != nil {
			return nil, err
		}
	}
	return tunings, nil
}

// affectsSimulation reports whether a setting changes a simulation, which has no budget and a given number of
// processes.
func affectsSimulation(key string) bool { return key != "budget" && key != "processes" }
