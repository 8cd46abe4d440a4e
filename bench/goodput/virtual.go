package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/anivault/anivault/bench/kit"
	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/ratelimit"
)

// How far a figure may be from its goal: a share below it, waste in percentage points above it.
const (
	shareTolerance = 0.03
	wasteTolerance = 0.5
)

// The goals of an outage and of an overload.
const (
	mostInOutage  = 16
	firstGoodGoal = 5500 * time.Millisecond
	backGoal      = 5 * time.Second // median; no run more than
	longestBack   = 7 * time.Second
)

// virtualPeers run beside ours where nothing else is asked for.
var virtualPeers = []string{"rate+backoff", "aws-adaptive"}

// table collects what is printed.
type table struct {
	options
	shares, outages, overloads strings.Builder
	short                      int // figures that miss their goals
}

// inVirtualTime prints the tables of upstreams. It ends the process, but for errors in the options.
func inVirtualTime(o options, only string) error {
	if err := o.known(peers.Names(), virtualPeers); err != nil {
		return err
	}
	o.seeds = cmp.Or(max(0, o.seeds), 2)
	virtual.Main("goodput", func(together virtual.Together) error {
		began := time.Now()
		fmt.Printf("%s; virtual time, %s a row, %d seeds\n", kit.Machine(), o.length, o.seeds)
		t := table{options: o}
		for _, r := range upstreams() {
			if !strings.Contains(r.name, only) {
				continue
			}
			r.length = cmp.Or(r.length, o.length)
			if r.processes == nil {
				r.processes = []int{1, 4}
			}
			r.tuned = r.tuned || o.tuned
			if err := t.run(r, together); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
		if err := t.print(); err != nil {
			return err
		}
		fmt.Printf("\n%d figures miss their goals (marked !). Took %s.\n", t.short, time.Since(began).Round(time.Second))
		return nil
	})
	return nil
}

// print prints the tables that have rows.
func (t *table) print() error {
	peers := "\t" + strings.Join(t.clients, "\t")
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		head, columns string
		rows          *strings.Builder
	}{
		{
			"Share of the possible; % of the requests wasted beyond the unavoidable; ours: 429s, good items given up, a seed.",
			"upstream\tprocesses\tours\tgoal\twaste\tgoal\t429s\tgiven up" + peers, &t.shares,
		},
		{
			"Outages: requests sent in one; seconds to the first good answer after it, median; good items given up, a seed.",
			"upstream\tprocesses\tours" + peers, &t.outages,
		},
		{
			"Overload: seconds until goodput is back at 90 %, median and longest; what it was before, of the possible.",
			"upstream\tprocesses\tours" + peers, &t.overloads,
		},
	} {
		if part.rows.Len() > 0 {
			fmt.Fprintf(w, "\n%s\n%s\n%s", part.head, part.columns, part.rows)
		}
	}
	return w.Flush()
}

// run runs a row and adds its lines.
func (t *table) run(r row, together virtual.Together) error {
	clients := append([]string{"ours"}, t.clients...)
	trials := map[string][]*virtual.Trial{}
	var runs []func()
	for _, n := range r.processes {
		for _, client := range clients {
			key := fmt.Sprint(client, n)
			for seed := range t.seeds {
				trial := &virtual.Trial{
					Upstream: r.Upstream, Length: r.length, Life: r.life, Processes: n,
					Seed: uint64(seed + 1), //nolint:gosec // small
				}
				trials[key] = append(trials[key], trial)
				runs = append(runs, func() { // in virtual time, where the store has to be made too
					if trial.Client, trial.Err = r.client(client); trial.Err == nil {
						trial.Run()
					}
				})
			}
		}
	}
	together(runs...)
	for _, n := range r.processes {
		var figures []figures
		for _, client := range clients {
			ts := trials[fmt.Sprint(client, n)]
			for _, trial := range ts {
				if trial.Err != nil {
					return trial.Err
				}
			}
			figures = append(figures, r.figures(ts))
		}
		t.add(r, n, figures)
	}
	return nil
}

// client makes a client of the row.
func (r row) client(name string) (virtual.NewClient, error) {
	settings := ""
	if r.tuned {
		settings = ours["ours-tuned"]
	}
	if maker, ok := peers.Makers[name]; ok {
		return virtual.Peer(maker, r.rate()), nil
	}
	t, err := virtual.Tuning(settings)
	return virtual.Ours(ratelimit.NewMemoryStore(), t, ratelimit.Hooks{}), err
}

func (r row) rate() int {
	if r.tuned {
		return 45
	}
	return peerRate
}

// add adds the lines of a number of processes; ours are the first figures.
func (t *table) add(r row, processes int, all []figures) {
	head, f := fmt.Sprintf("%s\t%d", r.name, processes), all[0]
	goal, waste := "", ""
	if g, ok := r.goals[processes]; ok {
		goal = fmt.Sprintf("%.2f", g) + t.mark(f.share < g-shareTolerance)
	}
	if r.waste > 0 {
		waste = fmt.Sprintf("%.1f", r.waste) + t.mark(f.waste > r.waste+wasteTolerance)
	}
	fmt.Fprintf(&t.shares, "%s\t%.2f\t%s\t%.1f\t%s\t%d\t%d", head, f.share, goal, f.waste, waste, f.refused, f.failed)
	for _, f := range all[1:] {
		fmt.Fprintf(&t.shares, "\t%.2f at %.1f %%", f.share, f.waste)
	}
	fmt.Fprintln(&t.shares)
	if r.outages != nil {
		fmt.Fprint(&t.outages, head)
		for i, f := range all {
			fmt.Fprintf(&t.outages, "\t%.1f; %.1f s; %d", f.inOutage, f.firstGood.Seconds(), f.failed)
			if i == 0 {
				fmt.Fprint(&t.outages, t.mark(f.inOutage > mostInOutage || f.firstGood > firstGoodGoal || f.failed > 0))
			}
		}
		fmt.Fprintln(&t.outages)
	}
	if r.Queue != nil {
		fmt.Fprint(&t.overloads, head)
		for i, f := range all {
			fmt.Fprintf(&t.overloads, "\t%.0f and %.0f s; %.2f", f.back.Seconds(), f.longestBack.Seconds(), f.before)
			if i == 0 {
				fmt.Fprint(&t.overloads, t.mark(f.back > backGoal || f.longestBack > longestBack))
			}
		}
		fmt.Fprintln(&t.overloads)
	}
}

func (t *table) mark(miss bool) string {
	if !miss {
		return ""
	}
	t.short++
	return " !"
}

// figures are what one client reached over all seeds.
type figures struct {
	share             float64 // of the possible
	waste             float64 // % of the requests, beyond those that good answers need
	refused, failed   int     // a seed
	inOutage          float64 // requests in one outage
	firstGood         time.Duration
	back, longestBack time.Duration
	before            float64 // goodput before an overload, of the possible
}

func (r row) figures(trials []*virtual.Trial) (f figures) {
	var good, sent, inOutages int
	var needed, before float64
	var firsts, backs []time.Duration
	for _, t := range trials {
		f.failed += t.Failed
		for _, q := range t.Seen {
			if q.At < r.settle || q.At >= r.length {
				continue
			}
			sent++
			if q.Refused {
				f.refused++
			}
			if q.Good {
				good++
				needed += 1 / (1 - q.Fails)
			}
		}
		for _, o := range r.outages {
			n, first := outage(t.Seen, o)
			inOutages += n
			firsts = append(firsts, first)
		}
		if r.Queue != nil {
			was, after := back(t.Seen, overloaded)
			before += was
			backs = append(backs, after)
		}
	}
	n := len(trials)
	possible := func(from, to time.Duration) float64 {
		slots := min(virtual.Slots*trials[0].Processes, totalSlots)
		return float64(n) * r.Possible(from, to, float64(r.rate()), slots)
	}
	f.share = float64(good) / possible(r.settle, r.length)
	f.waste = 100 * max(0, float64(sent)-needed) / float64(max(sent, 1))
	f.refused, f.failed = f.refused/n, f.failed/n
	if r.outages != nil {
		slices.Sort(firsts)
		f.inOutage, f.firstGood = float64(inOutages)/float64(len(firsts)), firsts[len(firsts)/2]
	}
	if r.Queue != nil {
		slices.Sort(backs)
		f.back, f.longestBack = backs[len(backs)/2], backs[len(backs)-1]
		f.before = before / possible(overloaded.from-steadyBefore, overloaded.from)
	}
	return f
}

// outage returns how many requests were sent in an outage, and when after it the first good answer came.
func outage(seen []virtual.Request, o span) (sent int, first time.Duration) {
	for _, q := range seen {
		switch {
		case q.At >= o.from && q.At < o.to:
			sent++
		case q.At >= o.to && q.Good:
			return sent, q.At + q.Took - o.to
		}
	}
	return sent, never
}

// steadyBefore is how long goodput is counted before an overload.
const steadyBefore = 30 * time.Second

// never stands for what did not happen in a trial.
const never = time.Hour

// back returns how many good answers there were before an overload, and how long after it nine tenths of that rate are
// reached again, for three seconds.
func back(seen []virtual.Request, trouble span) (before float64, after time.Duration) {
	rate := func(from, to time.Duration) float64 {
		n := 0
		for _, q := range seen {
			if at := q.At + q.Took; q.Good && at >= from && at < to {
				n++
			}
		}
		return float64(n) / (to - from).Seconds()
	}
	was := rate(trouble.from-steadyBefore, trouble.from)
	for ; after < 2*time.Minute; after += time.Second {
		if rate(trouble.to+after, trouble.to+after+3*time.Second) >= 0.9*was {
			return was * steadyBefore.Seconds(), after
		}
	}
	return was * steadyBefore.Seconds(), never
}
