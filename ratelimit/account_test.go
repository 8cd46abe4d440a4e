package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// pool makes accounts: each with as many keys as its name says, "a2" has two.
func pool(list ...Account) []Account {
	for i := range list {
		for k := range int(list[i].Name[1] - '0') {
			list[i].Keys = append(list[i].Keys, FingerprintOf(fmt.Sprint(list[i].Name, k)))
		}
	}
	return list
}

func limited(t *testing.T, store Store, tu Tuning, accounts ...Account) *Limiter {
	t.Helper()
	l, err := New(Config{Store: store, Tuning: tu, Accounts: pool(accounts...), Rand: func() float64 { return 0 }})
	must(t, err)
	return l
}

var fast = Tuning{
	RateBase: 400, BucketCap: 400, Ceiling: 400, Concurrency: 64, ConcurrencyTotal: 64,
	MaxWait: time.Minute,
}

// take takes a permit that must be there at once; its key is proven by it.
func take(t *testing.T, l *Limiter) *Permit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p, err := l.Acquire(ctx)
	must(t, err)
	return p
}

// prove lets every key answer once.
func prove(t *testing.T, l *Limiter) {
	t.Helper()
	for _, a := range l.ownAccounts() {
		for _, k := range a.Keys {
			p, err := l.Acquire(With(t.Context(), Request{Prefer: Preference{Account: a.Name, Key: k, Test: true}}))
			must(t, err)
			p.Report(Event{Outcome: OK, Status: 200})
			time.Sleep(time.Millisecond) // so that their last use differs
		}
	}
}

func ok() Event { return Event{Outcome: OK, Status: 200} }

func accountOf(t *testing.T, l *Limiter, name string) core.AccountStatus {
	t.Helper()
	st, err := l.Status(t.Context())
	must(t, err)
	for _, a := range st.Accounts {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("no account %s", name)
	return core.AccountStatus{}
}

// 5 and 5 slots at priority 10, 3 at 20: shares, spill-over, return.
func TestSeed003AFullGroupSpillsOverAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast,
			Account{Name: "a1", Priority: 10, Slots: 5}, Account{Name: "b1", Priority: 10, Slots: 5}, Account{
				Name:     "c1",
				Priority: 20, Slots: 3,
			})
		prove(t, l)
		var names []string
		var out []*Permit
		for range 13 {
			p := take(t, l)
			out, names = append(out, p), append(names, p.Choice().Account[:1]+p.Choice().Why.String()[:1])
		}
		if got := strings.Join(names, " "); got != "ap bp ap bp ap bp ap bp ap bp cs cs cs" {
			t.Errorf("%s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the fourteenth: %v", err)
		}
		out[1].Report(ok())
		if p := take(t, l); p.Choice().Account != "b1" || p.Choice().Running != 5 || p.Choice().Limit != 5 {
			t.Errorf("%+v", p.Choice())
		}
	})
}

// Account 2 and three keys of 1: the third waits for the account, not for a key.
func TestSeed000TheAccountsSlotsComeBeforeTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast, Account{Name: "a3", Slots: 2, KeySlots: 1})
		prove(t, l)
		p, q := take(t, l), take(t, l)
		if p.Choice().Key == q.Choice().Key {
			t.Error("both have one key")
		}
		third := make(chan *Permit)
		go func() {
			p, err := l.Acquire(t.Context())
			if err != nil {
				t.Error(err)
			}
			third <- p
		}()
		synctest.Wait()
		select {
		case <-third:
			t.Fatal("it did not wait")
		default:
		}
		p.Report(ok())
		if r := <-third; r.Choice().Key == p.Choice().Key || r.Choice().Key == q.Choice().Key {
			t.Error("not the key that was idle for longest")
		}
	})
}

func TestAnUnprovenKeyIsUsedByOneAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast, Account{Name: "a1"})
		first := take(t, l)
		began := time.Now()
		second := make(chan time.Duration)
		go func() {
			p, err := l.Acquire(t.Context())
			if err != nil {
				t.Error(err)
			}
			p.Report(ok())
			second <- time.Since(began)
		}()
		// a dead upstream is not asked one timeout after the other
		if d := <-second; d < 3*time.Second || d > 3*time.Second+time.Second {
			t.Errorf("joined after %s", d)
		}
		first.Report(ok())
		take(t, l)
		take(t, l)
	})
}

func TestARefusedKeyIsOutUntilItIsTested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l := limited(t, store, fast, Account{Name: "a2"})
		other := limited(t, store, fast, Account{Name: "a2"})
		p := take(t, l)
		out := p.Choice().Key
		p.Report(Event{Outcome: Client, Status: 401, Key: KeyRefused})
		for range 4 {
			p := take(t, other)
			if p.Choice().Key == out {
				t.Fatal("another process uses it")
			}
			p.Report(ok())
		}
		take(t, l).Report(Event{Outcome: Client, Status: 401, Key: KeyRefused})
		var blocked *BlockedError
		if _, err := other.Acquire(t.Context()); !errors.As(err, &blocked) || blocked.Cause != ReasonCredentials {
			t.Fatalf("with no key left: %v", err)
		}
		if st := accountOf(t, other, "a2"); st.Keys[0].Standing != StandingRefused || st.Keys[1].Standing != StandingRefused {
			t.Errorf("%+v", st.Keys)
		}
		test := Preference{Account: "a2", Key: out, Test: true}
		p, err := other.Acquire(With(t.Context(), Request{Prefer: test}))
		must(t, err)
		p.Report(ok())
		if p := take(t, l); p.Choice().Key != out {
			t.Error("what was tested is not in again")
		}
		must(t, l.SetAccounts([]Account{{Name: "a2", Keys: []Fingerprint{FingerprintOf("another")}}}))
		if p := take(t, l); p.Choice().Key != FingerprintOf("another") {
			t.Error("a key that was replaced")
		}
		must(t, l.SetAccounts(pool(Account{Name: "a2"})))
		must(t, Operator{store}.EnableAccount(t.Context(), "a2", true, 0))
		if st := accountOf(t, l, "a2"); st.Keys[0].Standing.Unusable() || st.Keys[1].Standing.Unusable() {
			t.Errorf("enabled: %+v", st.Keys)
		}
	})
}

// An answer that had left before the refusal does not bring the key in again.
func TestALateAnswerDoesNotBringAKeyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast, Account{Name: "a1"})
		prove(t, l)
		early, p := take(t, l), take(t, l)
		p.Report(Event{Outcome: Client, Status: 401, Key: KeyRefused})
		early.Report(ok())
		if k := accountOf(t, l, "a1").Keys[0]; k.Standing != StandingRefused {
			t.Errorf("%s", k.Standing)
		}
	})
}

func TestASuspendedAccountIsOutWithAllItsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast, Account{Name: "a3", Priority: 1}, Account{Name: "b1", Priority: 2})
		take(t, l).Report(Event{Outcome: Client, Status: 403, Key: KeySuspended})
		for range 3 {
			if p := take(t, l); p.Choice().Account != "b1" {
				t.Errorf("%+v", p.Choice())
			} else {
				p.Report(ok())
			}
		}
	})
}

func TestDisabledAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l := limited(t, store, fast, Account{Name: "a1", Disabled: true})
		var blocked *BlockedError
		if _, err := l.Acquire(t.Context()); !errors.As(err, &blocked) || blocked.Cause != ReasonNoAccount {
			t.Fatalf("%v", err)
		}
		o := Operator{store}
		must(t, o.EnableAccount(t.Context(), "a1", true, time.Hour))
		take(t, l).Report(ok())
		time.Sleep(time.Hour)
		if _, err := l.Acquire(t.Context()); !errors.As(err, &blocked) {
			t.Fatalf("after its hour: %v", err)
		}
	})
}

// With limited_by account, a limit that an account's answers state slows that account only.
func TestALimitStatedToOneAccountSlowsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), Tuning{LimitedBy: core.ByAccount, MaxWait: time.Hour},
			Account{Name: "a1", Rate: 10}, Account{Name: "b1", Rate: 10})
		prove(t, l)
		counts := map[string]int{}
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			p, err := l.Acquire(t.Context())
			must(t, err)
			e := ok()
			if p.Choice().Account == "a1" {
				e.Limits = core.Limits{Quota: 2, Window: time.Second}
			}
			counts[p.Choice().Account]++
			p.Report(e)
		}
		if a, b := counts["a1"], counts["b1"]; a < 100 || a > 122 || b < 60*10*95/100 {
			t.Errorf("%d for the account that may send 120, %d for the one that may send 600", a, b)
		}
		st, err := l.Status(t.Context())
		must(t, err)
		if a, b := st.Accounts[0].Rate, st.Accounts[1].Rate; a != 2 || b != 10 {
			t.Errorf("status: %g/s and %g/s", a, b)
		}
	})
}

// A gets only 429s: with limited_by account it sleeps alone, and B keeps its rate.
func TestAnAccountThatSleepsStopsNoOther(t *testing.T) {
	run := func(t *testing.T, by core.LimitedBy) (b int, states map[string]State) {
		tu := Tuning{LimitedBy: by, MaxWait: time.Hour}
		l := limited(t, NewMemoryStore(), tu, Account{Name: "a1", Rate: 15}, Account{Name: "b1", Rate: 15})
		prove(t, l)
		var wg sync.WaitGroup
		var mu sync.Mutex
		end := time.Now().Add(time.Minute)
		for range 4 {
			wg.Go(func() {
				for time.Now().Before(end) {
					p, err := l.Acquire(t.Context())
					if err != nil {
						return
					}
					time.Sleep(40 * time.Millisecond)
					e := ok()
					if p.Choice().Account == "a1" {
						e = Event{Outcome: Throttled, Status: 429}
					} else {
						mu.Lock()
						b++
						mu.Unlock()
					}
					p.Report(e)
				}
			})
		}
		wg.Wait()
		st, err := l.Status(t.Context())
		must(t, err)
		return b, map[string]State{"address": st.State, "a1": st.Accounts[0].State, "b1": st.Accounts[1].State}
	}
	synctest.Test(t, func(t *testing.T) {
		b, states := run(t, core.ByAccount)
		if b < 60*15*95/100 {
			t.Errorf("the other one got %d of 900", b)
		}
		if states["address"] != Normal || states["b1"] != Normal || states["a1"] == Normal {
			t.Errorf("%v", states)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if b, _ := run(t, core.ByAddress); b > 400 {
			t.Errorf("where the address is limited the other one got %d", b)
		}
	})
}

func TestAPreferenceIsKeptWaitedForAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		l := limited(t, store, fast, Account{Name: "a2", Slots: 1}, Account{Name: "b1"})
		prove(t, l)
		key := FingerprintOf("a21")
		ctx := With(t.Context(), Request{Prefer: Preference{Account: "a2", Key: key}, PreferFor: 1200 * time.Millisecond})
		for range 3 {
			p, err := l.Acquire(ctx)
			must(t, err)
			if c := p.Choice(); c.Account != "a2" || c.Key != key || c.Why != core.BySticky {
				t.Errorf("%+v", c)
			}
			p.Report(ok())
		}
		held, err := l.Acquire(ctx)
		must(t, err)
		began := time.Now()
		p, err := l.Acquire(ctx)
		must(t, err)
		if d := time.Since(began); d < 1200*time.Millisecond || d > 1300*time.Millisecond || p.Choice().Account != "b1" ||
			p.Choice().Why == core.BySticky {
			t.Errorf("after %s: %+v", d, p.Choice())
		}
		p.Report(ok())
		// It is woken when its slot comes free, and holds nobody up meanwhile.
		got := make(chan Choice)
		began = time.Now()
		go func() {
			p, err := l.Acquire(ctx)
			if err != nil {
				t.Error(err)
			}
			p.Report(ok())
			got <- p.Choice()
		}()
		synctest.Wait()
		for range 3 {
			take(t, l).Report(ok())
		}
		time.Sleep(500 * time.Millisecond)
		held.Report(ok())
		if c := <-got; c.Account != "a2" || time.Since(began) > 520*time.Millisecond {
			t.Errorf("%+v after %s", c, time.Since(began))
		}
		// Out or disabled ends it at once.
		must(t, Operator{store}.EnableAccount(t.Context(), "a2", false, 0))
		began = time.Now()
		p, err = l.Acquire(ctx)
		must(t, err)
		if p.Choice().Account != "b1" || time.Since(began) > 0 {
			t.Errorf("%+v after %s", p.Choice(), time.Since(began))
		}
	})
}

// Who waits for an account that only it has holds nobody up.
func TestProcessesWithOtherAccountsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		one := limited(t, store, fast, Account{Name: "a1", Slots: 1})
		other := limited(t, store, fast, Account{Name: "b1"})
		prove(t, one)
		prove(t, other)
		held := take(t, one)
		waits := make(chan error)
		go func() {
			p, err := one.Acquire(t.Context())
			if err == nil {
				p.Report(ok())
			}
			waits <- err
		}()
		synctest.Wait()
		for range 5 {
			take(t, other).Report(ok())
		}
		held.Report(ok())
		must(t, <-waits)
	})
}

// The transport asks again with another key where one is refused, and tells the Base which one it is.
func TestTheTransportTakesAnotherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(t, NewMemoryStore(), fast, Account{Name: "a2"}, Account{Name: "b1", Priority: 1})
		good, asked := FingerprintOf("b10"), []Fingerprint{}
		tr := &Transport{
			Limiter: l,
			Base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
				c, ok := ChoiceFrom(req.Context())
				asked = append(asked, c.Key)
				status := http.StatusUnauthorized
				if ok && c.Key == good {
					status = http.StatusOK
				}
				return &http.Response{
					StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")),
					Request: req,
				}, nil
			}),
			Verdict: func(_ *http.Request, resp *http.Response, _ []byte) KeyVerdict {
				if resp.StatusCode == http.StatusUnauthorized {
					return KeyRefused
				}
				return KeyUnknown
			},
		}
		get := func() int {
			prefer := Request{Prefer: Preference{Account: "a2", Key: FingerprintOf("a20")}, PreferFor: time.Second}
			req, err := http.NewRequestWithContext(With(t.Context(), prefer), http.MethodGet, "http://x/", nil)
			must(t, err)
			resp, err := tr.RoundTrip(req)
			must(t, err)
			return resp.StatusCode
		}
		if s := get(); s != 200 || len(asked) != 3 {
			t.Errorf("%d after %v", s, asked)
		}
		good = 0
		if s := get(); s != 401 || len(asked) != 4 { // the last answer, where no key is left
			t.Errorf("%d after %v", s, asked)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/", nil)
		must(t, err)
		if _, err := tr.RoundTrip(req); !isBlockedBy(err, ReasonCredentials, ReasonNoAccount) || len(asked) != 4 {
			t.Errorf("%v after %v", err, asked)
		}
	})
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// What a killed process held of an account is free again as soon as it is found dead, its part of the door included.
func TestSeed003AKilledProcessGivesItsAccountsSlotsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemoryStore()
		killed := limited(t, store, fast, Account{Name: "a1", Slots: 2, Quota: Budget{Requests: 6, Period: time.Hour}})
		l := limited(t, store, fast, Account{Name: "a1", Slots: 2, Quota: Budget{Requests: 6, Period: time.Hour}})
		prove(t, killed)
		take(t, killed)
		take(t, killed)
		if _, err := killed.Reserve(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Reserve(t.Context(), 1); !errors.Is(err, ErrBudget) {
			t.Fatalf("beside what the other has reserved: %v", err)
		}
		must(t, store.Update(t.Context(), func(at Instant, s *Snapshot) error {
			s.RemoveDead(at, []string{killed.ownerID})
			return nil
		}))
		take(t, l)
		take(t, l)
		if st := accountOf(t, l, "a1"); st.Running != 2 || st.QuotaUsed != 1 {
			t.Errorf("%+v", st)
		}
		if r, err := l.Reserve(t.Context(), 3); err != nil || r.Left() != 3 {
			t.Errorf("%v", err)
		}
	})
}
