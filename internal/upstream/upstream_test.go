package upstream

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func inForce(t *testing.T, limit string, faults ...Fault) *Behaviour {
	t.Helper()
	l, err := ParseLimits(limit)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(l, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(Scenario{Faults: faults}, began); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestALimitThatGrows asks a hundred times in each of the seconds named.
func TestALimitThatGrows(t *testing.T) {
	b := inForce(t, "sliding:30/1s",
		Fault{From: seconds(2), To: seconds(12), Do: Action{Kind: "limit", Rate: 5, RateTo: 45}})
	got := map[int]int{}
	for _, second := range []int{0, 2, 7, 11, 13} {
		for n := range 100 {
			if ok, wait := b.Allow(began.Add(time.Duration(second)*time.Second), "a"); ok {
				got[second]++
			} else if wait <= 0 || wait > time.Second {
				t.Fatalf("second %d, request %d: it should wait %s", second, n, wait)
			}
		}
	}
	if d := cmp.Diff(map[int]int{0: 30, 2: 5, 7: 25, 11: 30, 13: 30}, got); d != "" {
		t.Errorf("passed, by second (-want +got):\n%s", d)
	}
	if ok, _ := b.Allow(began.Add(2*time.Second), "b"); !ok {
		t.Error("another client is refused")
	}
}

func TestSlowMultipliesLatency(t *testing.T) {
	b := inForce(t, "none", Fault{From: seconds(1), To: seconds(2), Do: Action{Kind: "slow", Factor: 2.5}})
	for at, want := range map[time.Duration]time.Duration{0: 40, time.Second: 100, 2 * time.Second: 40} {
		t.Run(at.String(), func(t *testing.T) {
			if got := b.SlowedLatency(began.Add(at), 40); got != want {
				t.Errorf("at %s: %d, want %d", at, got, want)
			}
		})
	}
}

// TestTheNthMatchHasOneFate plays rules on requests that no server has seen.
func TestTheNthMatchHasOneFate(t *testing.T) {
	reset := Action{Kind: "reset"}
	for _, row := range []struct {
		name  string
		fault Fault
		want  string
	}{
		{"all", Fault{Do: reset}, "xxxxxxxx"},
		{"some of them", Fault{Match: Match{Nth: Numbers{{2, 5}}, Every: 2}, Do: reset}, ".x.x...."},
		{"a path", Fault{Match: Match{Path: "/3/tv/*"}, Do: reset}, "x.x.x.x."},
		{"by chance", Fault{Probability: 0.5, Do: reset}, "...xx.xx"},
	} {
		t.Run(row.name, func(t *testing.T) {
			play := func(b *Behaviour) string {
				var got strings.Builder
				for n := range 8 {
					r := Request{IP: "a", URL: &url.URL{Path: []string{"/3/tv/1", "/3/movie/1"}[n%2]}}
					got.WriteString(map[bool]string{true: "x", false: "."}[len(b.ActionsFor(BeforeAnswer, began, r)) > 0])
				}
				return got.String()
			}
			b := inForce(t, "none", row.fault)
			first := play(b)
			b.Reset(began)
			if again := play(b); first != row.want || again != first {
				t.Errorf("got %q, after a reset %q, want %q", first, again, row.want)
			}
		})
	}
}

func TestAScenarioWithoutLimitsKeepsWhatClientsHaveUsed(t *testing.T) {
	b := inForce(t, "fixed:1/1h")
	if ok, _ := b.Allow(began, "a"); !ok {
		t.Fatal("the first request is refused")
	}
	if err := b.Apply(Scenario{Name: "other"}, began); err != nil {
		t.Fatal(err)
	}
	if ok, _ := b.Allow(began, "a"); ok {
		t.Error("the second request passes after a scenario without limits")
	}
	if err := b.Apply(Scenario{Limits: "fixed:1/1h"}, began); err != nil {
		t.Fatal(err)
	}
	if ok, _ := b.Allow(began, "a"); !ok {
		t.Error("a request is refused under new limits")
	}
}
