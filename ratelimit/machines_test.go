package ratelimit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// host is a clock that a folder's users may have in common or not.
type host struct {
	id, boot string
	since    time.Duration // boot
}

// folder is a state folder in which time passes when the test says so.
type folder struct {
	t    *testing.T
	dir  string
	wall time.Time
}

func newFolder(t *testing.T) *folder {
	return &folder{t: t, dir: t.TempDir(), wall: time.Unix(1_700_000_000, 0)}
}

func (f *folder) pass(d time.Duration) { f.wall = f.wall.Add(d) }

// user is a process on a machine.
type user struct {
	*shared.Store
	*ratelimit.Limiter
	told *events
}

func (f *folder) open(m host) user {
	f.t.Helper()
	started := f.wall
	u := user{told: &events{}}
	var err error
	u.Store, err = ratelimit.OpenFileStore(f.dir, ratelimit.FileOptions{
		OnWarning: u.told.add,
		Now: func() ratelimit.Instant {
			return ratelimit.Instant{Wall: f.wall, Boot: m.since + f.wall.Sub(started), BootID: m.boot, Machine: m.id}
		},
	})
	must(f.t, err)
	u.Limiter = newLimiter(f.t, u.Store, ratelimit.Default())
	f.t.Cleanup(func() { u.Store.Close() })
	return u
}

// meet lets a request meet a 429 that says how long to wait.
func (u user) meet(t *testing.T, wait time.Duration) {
	t.Helper()
	p, err := u.Acquire(t.Context())
	must(t, err)
	given := ratelimit.Wait{Duration: wait, Present: true}
	p.Report(ratelimit.Event{Outcome: ratelimit.Throttled, Status: 429, RetryAfter: given})
}

// touch writes the state without asking for anything.
func (u user) touch(t *testing.T) {
	t.Helper()
	must(t, u.Update(t.Context(), func(ratelimit.Instant, *ratelimit.Snapshot) error { return nil }))
}

func (u user) pauseLeft(t *testing.T, f *folder) time.Duration {
	t.Helper()
	st, err := u.Status(t.Context())
	must(t, err)
	if st.PauseUntil.IsZero() {
		return 0
	}
	return st.PauseUntil.Sub(f.wall)
}

func TestAFolderBelongsToOneMachine(t *testing.T) {
	one := host{"one", "boot 1", 100 * time.Hour}
	for _, c := range []struct {
		name    string
		other   host
		ended   bool          // the first process has ended
		hidden  bool          // and nobody sees that it lives
		gap     time.Duration // since it wrote
		refused bool
	}{
		{name: "the same machine", other: one},
		{name: "a container: another id, the same boot", other: host{"two", "boot 1", 100 * time.Hour}},
		{name: "another machine", other: host{"two", "boot 2", time.Hour}, refused: true},
		{
			name: "another machine that was started later", other: host{"two", "boot 2", time.Hour}, gap: 50 * time.Second,
			refused: true,
		},
		{
			name: "the folder was moved to another machine", other: host{"two", "boot 2", time.Hour}, ended: true,
			gap: 2 * time.Minute,
		},
		{name: "a clone, with the same id", other: host{"one", "boot 2", time.Hour}, refused: true},
		{name: "a reboot", other: host{"one", "boot 2", 10 * time.Second}, ended: true, gap: 20 * time.Second},
		{name: "a clone that doesn't see the locks", other: host{"one", "boot 2", time.Hour}, hidden: true, refused: true},
		{
			name: "a machine without an id, rebooted", other: host{"", "boot 2", 10 * time.Second}, ended: true,
			gap: 2 * time.Minute,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFolder(t)
			first := f.open(one)
			first.meet(t, 200*time.Second)
			if c.ended {
				must(t, first.Limiter.Close())
				must(t, first.Store.Close())
			}
			if c.hidden {
				must(t, os.Remove(filepath.Join(f.dir, "alive-"+first.Owner())))
			}
			f.pass(c.gap)
			second := f.open(c.other)
			second.touch(t)
			if !c.ended {
				first.touch(t)
			}
			second.touch(t)
			want := 200*time.Second - c.gap
			users := map[string]user{"second": second}
			if !c.ended {
				users["first"] = first
			}
			for name, u := range users {
				u.touch(t)
				told := "[]"
				if c.refused {
					told = "[state_shared]"
				}
				if refused := u.IsolationCause() != nil; refused != c.refused || u.told.String() != told {
					t.Errorf("%s: refused %t (%v), warned of %v; want %t", name, refused, u.IsolationCause(), u.told, c.refused)
				}
				if got := u.pauseLeft(t, f); got.Round(time.Second) != want {
					t.Errorf("%s: %v of the pause are left, want %v", name, got, want)
				}
				if parts := map[bool]float64{false: 35, true: 17}[c.refused]; u.Tuning().RateBase != parts {
					t.Errorf("%s: %v requests a second, want %v", name, u.Tuning().RateBase, parts)
				}
			}
		})
	}
}

func TestARefusedFolderIsUsedAgainByOneMachine(t *testing.T) {
	f := newFolder(t)
	first, second := f.open(host{"one", "boot 1", time.Hour}), f.open(host{"two", "boot 2", time.Hour})
	first.meet(t, time.Hour)
	second.touch(t)
	for range 8 {
		f.pass(time.Minute)
		second.touch(t)
		if second.IsolationCause() == nil {
			t.Fatal("used again while it is refused")
		}
	}
	first.Limiter.Close()
	first.Store.Close()
	f.pass(3 * time.Minute)
	second.touch(t)
	if second.IsolationCause() != nil {
		t.Errorf("still refused: %v", second.IsolationCause())
	}
	if got := second.pauseLeft(t, f).Round(time.Second); got != 49*time.Minute {
		t.Errorf("%v of the pause are left, want 49m", got)
	}
}

// Containers may count the time since boot differently under one boot id. However they take turns, time passes at most
// a little faster than the wall clock says.
func TestTwoCountsOfTheTimeSinceBoot(t *testing.T) {
	for _, offset := range []time.Duration{
		-time.Hour, -5 * time.Second, -time.Second, time.Second, 5 * time.Second,
		time.Hour,
	} {
		t.Run(fmt.Sprint(offset), func(t *testing.T) {
			f := newFolder(t)
			a := f.open(host{"one", "boot", 100 * time.Hour})
			b := f.open(host{"two", "boot", 100*time.Hour + offset})
			a.meet(t, 100*time.Second)
			for range 200 {
				f.pass(10 * time.Millisecond)
				b.touch(t)
				f.pass(10 * time.Millisecond)
				a.touch(t)
			}
			for name, u := range map[string]user{"a": a, "b": b} {
				if got := u.pauseLeft(t, f); got < 90*time.Second || got > 100*time.Second {
					t.Errorf("%s: %v of the pause are left after 4 s, want about 96s", name, got)
				}
				if u.told.String() != "[]" {
					t.Errorf("%s: warned of %v", name, u.told)
				}
			}
		})
	}
}
