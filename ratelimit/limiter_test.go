package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

func TestZeroTuningIsTheDefault(t *testing.T) {
	l, err := New(Config{Store: NewMemoryStore()})
	if err != nil || l.Tuning() != Default() {
		t.Errorf("%v %+v", err, l.Tuning())
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a limiter without a store")
	}
	bad := Default()
	bad.RateBase = 50
	var wrong *TuningError
	if _, err := New(Config{Store: NewMemoryStore(), Tuning: bad}); !errors.As(err, &wrong) ||
		wrong.Keys[0] != "rate_base" {
		t.Errorf("%v", err)
	}
}

// 735 requests from cold: never more than the ceiling in any window, and at the full rate.
func TestColdStartStaysUnderTheCeiling(t *testing.T) {
	for _, processes := range []int{1, 4, 8} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const requests, latency = 735, 40 * time.Millisecond
				store := NewMemoryStore()
				var mu sync.Mutex
				var sent []time.Time
				by := make([]int, processes)
				left := requests
				var wg sync.WaitGroup
				for p := range processes {
					l, err := New(Config{Store: store})
					if err != nil {
						t.Fatal(err)
					}
					for range 8 {
						wg.Go(func() {
							for {
								permit, err := l.Acquire(t.Context())
								if err != nil {
									t.Error(err)
									return
								}
								mu.Lock()
								stop := left == 0
								if !stop {
									left--
									by[p]++
									sent = append(sent, time.Now())
								}
								mu.Unlock()
								if stop {
									permit.Report(Event{})
									return
								}
								time.Sleep(latency)
								permit.Report(Event{Outcome: OK, Status: 200})
							}
						})
					}
				}
				wg.Wait()
				tu := Default()
				for i := tu.Ceiling; i < len(sent); i++ {
					if gap := sent[i].Sub(sent[i-tu.Ceiling]); gap < tu.CeilingWindow {
						t.Fatalf("%d permits within %s", tu.Ceiling+1, gap)
					}
				}
				took := sent[len(sent)-1].Sub(sent[0]).Seconds()
				if best := (requests - 35) / 35.0; took > best/0.98 || took < best*0.98 {
					t.Errorf("took %.2f s, best is %.2f", took, best)
				}
				if j := fairness(by); j < 0.95 {
					t.Errorf("fairness %.3f: %v", j, by)
				}
			})
		})
	}
}

// fairness is Jain's index: 1 when all have the same.
func fairness(by []int) float64 {
	var sum, squares float64
	for _, n := range by {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return sum * sum / (float64(len(by)) * squares)
}

// Each process has its own pace beside the shared bucket: the polite one gets its rate, the others all the rest.
func TestAPoliteProcessTakesNothingFromTheOthers(t *testing.T) {
	const seconds = 300
	for _, polite := range []float64{35, 10, 5, 1, 0.1} {
		t.Run(fmt.Sprint(polite), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := NewMemoryStore()
				ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
				defer cancel()
				sent := make([]atomic.Int64, 2)
				var wg sync.WaitGroup
				for i, rate := range []float64{35, polite} {
					l, err := New(Config{Store: store, Tuning: Tuning{RateBase: rate, MaxWait: time.Hour}})
					if err != nil {
						t.Fatal(err)
					}
					for range 4 {
						wg.Go(func() {
							for {
								p, err := l.Acquire(ctx)
								if err != nil {
									return
								}
								sent[i].Add(1)
								time.Sleep(40 * time.Millisecond)
								p.Report(Event{Outcome: OK, Status: 200})
							}
						})
					}
				}
				wg.Wait()
				fast, slow := float64(sent[0].Load())/seconds, float64(sent[1].Load())/seconds
				t.Logf("%.2f/s and %.2f/s", fast, slow)
				if sum := fast + slow; sum < 33 || sum > 35.2 {
					t.Errorf("%.2f/s together", sum)
				}
				if want := min(polite, 17.5); slow < 0.9*want || slow > 1.1*want {
					t.Errorf("the polite one has %.2f/s of %v", slow, want)
				}
			})
		})
	}
}

// Processes that live 4 s each, started again and again, bring no fresh bursts and lose nothing.
func TestShortLivesShareOneBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lives, life = 8, 4 * time.Second
		store := NewMemoryStore()
		var mu sync.Mutex
		var sent []time.Time
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range lives {
					l, _ := New(Config{Store: store})
					ctx, cancel := context.WithTimeout(t.Context(), life)
					var workers sync.WaitGroup
					for range 4 {
						workers.Go(func() {
							for {
								p, err := l.Acquire(ctx)
								if err != nil {
									return
								}
								mu.Lock()
								sent = append(sent, time.Now())
								mu.Unlock()
								time.Sleep(40 * time.Millisecond)
								p.Report(Event{Outcome: OK, Status: 200})
							}
						})
					}
					workers.Wait()
					cancel()
					must(t, l.Close())
				}
			})
		}
		wg.Wait()
		tu := Default()
		for i := tu.Ceiling; i < len(sent); i++ {
			if gap := sent[i].Sub(sent[i-tu.Ceiling]); gap < tu.CeilingWindow {
				t.Fatalf("%d permits within %s", tu.Ceiling+1, gap)
			}
		}
		took := sent[len(sent)-1].Sub(sent[0]).Seconds()
		if got, want := float64(len(sent)-35), 35*took; got < 0.98*want || got > want+1 { // the first 35 were the burst
			t.Errorf("%.0f requests, best is %.0f", got, want)
		}
	})
}

// Calls that take longer than request_timeout are probes like any other.
func TestLongCallsRecoverToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := New(Config{Store: NewMemoryStore()})
		for range 8 {
			p, _ := l.Acquire(t.Context())
			p.Report(Event{Outcome: Server, Status: 500})
		}
		for n := range 5 {
			p, err := l.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(40 * time.Second)
			if s, _ := l.Status(t.Context()); s.State != HalfOpen || s.Running != 1 {
				t.Errorf("probe %d: %s with %d running", n, s.State, s.Running)
			}
			p.Report(Event{Outcome: OK, Status: 200})
		}
		if s, _ := l.Status(t.Context()); s.State != Normal {
			t.Errorf("%s after five good probes", s.State)
		}
	})
}

func TestFirstComeFirstServedInAProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tu := Default()
		tu.Concurrency = 1
		l, _ := New(Config{Store: NewMemoryStore(), Tuning: tu})
		var order []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				p, err := l.Acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(5 * time.Millisecond)
				p.Report(Event{Outcome: OK, Status: 200})
			})
			synctest.Wait()
		}
		wg.Wait()
		if !slices.IsSorted(order) {
			t.Errorf("%v", order)
		}
	})
}

func TestProbesGoOneAtATimeAndLeadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		var transitions []string
		var mu sync.Mutex
		broken, flying, most := true, 0, 0
		var wg sync.WaitGroup
		for range 4 {
			l, _ := New(Config{Store: store, Hooks: Hooks{OnTransition: func(tr Transition) {
				mu.Lock()
				defer mu.Unlock()
				transitions = append(transitions, tr.Reason.String())
				if tr.To == HalfOpen && tr.Gauges.OwnSlots != 1 {
					t.Errorf("%+v", tr)
				}
			}}})
			for range 4 {
				wg.Go(func() {
					for range 30 {
						p, err := l.Acquire(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						e := Event{Outcome: OK, Status: 200}
						if broken {
							e = Event{Outcome: Server, Status: 500}
						}
						if st := State(l.state.Load()); st == HalfOpen {
							flying++
							most = max(most, flying)
						}
						half := State(l.state.Load()) == HalfOpen
						mu.Unlock()
						time.Sleep(50 * time.Millisecond)
						mu.Lock()
						if half {
							flying--
						}
						mu.Unlock()
						p.Report(e)
					}
				})
			}
		}
		time.Sleep(20 * time.Second)
		mu.Lock()
		broken = false
		mu.Unlock()
		wg.Wait()
		if most != 1 {
			t.Errorf("%d probes at once", most)
		}
		if got := transitions[len(transitions)-1]; got != "probe_ok" {
			t.Errorf("%v", transitions)
		}
	})
}

// Three virtual hours with trouble of every kind: nothing is left behind.
// A goroutine that is left behind makes synctest.Test fail; counting goroutines would also count those of other tests.
func TestThreeHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		start := time.Now()
		r.u.latency = 40 * time.Millisecond
		r.u.serve = func(n int, _ *http.Request) (*http.Response, error) {
			switch minute := int(time.Since(start).Minutes()) % 20; {
			case minute == 5:
				return reply(503), nil
			case minute == 9 && n%3 == 0:
				return reply(429, "Retry-After", "1"), nil
			case minute == 13 && n%5 == 0:
				return nil, errors.New("connection reset by peer")
			case n%11 == 0:
				return reply(404), nil
			}
			return reply(200), nil
		}
		transitions, answers := 0, 0
		var mu sync.Mutex
		r.l.hooks.OnTransition = func(Transition) { mu.Lock(); transitions++; mu.Unlock() }
		r.l.hooks.OnAnswer = func(Answer) { mu.Lock(); answers++; mu.Unlock() }
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				for ctx.Err() == nil {
					_, _ = r.get(ctx)
					select {
					case <-time.After(time.Duration(1+i) * time.Second):
					case <-ctx.Done():
					}
				}
			})
		}
		wg.Wait()
		st := r.status()
		if st.Running != 0 || st.Waiting != 0 || answers != r.u.tries() {
			t.Errorf("left behind: %+v; %d answers to %d requests", st, answers, r.u.tries())
		}
		if transitions < 9 || transitions > 400 {
			t.Errorf("%d transitions", transitions)
		}
		raw := encoded(t, r.l.store)
		if len(raw) > 4096 {
			t.Errorf("the snapshot has grown to %d bytes", len(raw))
		}
	})
}

// encoded returns what a store holds.
func encoded(t *testing.T, store Store) []byte {
	t.Helper()
	_, s, err := core.ReadSnapshot(t.Context(), store)
	must(t, err)
	raw, _ := s.AppendBinary(nil)
	return raw
}

// half is the store of one of two processes that can't see each other.
type half struct{ Store }

func (h half) Update(ctx context.Context, fn func(Instant, *Snapshot) error) error {
	return h.Store.Update(ctx, func(at Instant, s *Snapshot) error {
		at.Parts = 2
		return fn(at, s)
	})
}

func TestDividedStoresDivide(t *testing.T) {
	l, _ := New(Config{Store: half{NewMemoryStore()}})
	st, err := l.Status(t.Context())
	if err != nil || st.Rate != 17 || st.Ceiling != 20 || st.OwnSlots != 2 || st.Slots != 8 || st.Burst != 17 {
		t.Errorf("%v %+v", err, st)
	}
}

// deriving is a store that derives a context from Update's and ends it again, as one over a network does.
type deriving struct{ patient }

func (d *deriving) Update(ctx context.Context, fn func(Instant, *Snapshot) error) error {
	_, stop := context.WithCancel(ctx)
	defer stop()
	return d.patient.Update(ctx, fn)
}

func TestAStoreMayDeriveContextsFromThatOfAnUpdate(t *testing.T) {
	tu := Default()
	tu.Ceiling, tu.CeilingWindow, tu.RateBase, tu.BucketCap = 400, time.Millisecond, 300, 300
	l, err := New(Config{Store: new(deriving), Tuning: tu})
	if err != nil {
		t.Fatal(err)
	}
	for range 20_000 {
		p, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.Report(Event{Outcome: OK, Status: 200})
	}
}
