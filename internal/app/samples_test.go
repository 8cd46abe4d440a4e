package app

import (
	"testing"
	"time"

	"github.com/anivault/anivault/internal/chart"
)

func TestSamplerKeepsWhatChanges(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var s sampler
	s.add(chart.Point{At: at(0), State: "Normal", Requests: 1})
	s.add(chart.Point{At: at(50), State: "Normal", Requests: 2})               // too soon
	s.add(chart.Point{At: at(60), State: "Normal", Requests: 3, Throttled: 1}) // a 429
	s.add(chart.Point{At: at(55), State: "Normal", Requests: 4, Throttled: 1}) // overtaken
	// a transition, by a clock that is behind
	s.add(chart.Point{At: at(40), State: "Throttle", Requests: 5, Throttled: 1})
	s.add(chart.Point{At: at(170), State: "Throttle", Requests: 9, Throttled: 1}) // late enough
	var got []int
	for _, x := range s.points {
		got = append(got, x.Requests)
	}
	if len(got) != 4 || got[0] != 1 || got[1] != 3 || got[2] != 5 || got[3] != 9 {
		t.Errorf("kept the samples at requests %v", got)
	}
	if !s.points[2].At.Equal(at(60)) {
		t.Errorf("the transition is at %v", s.points[2].At)
	}
}

// A run of days is drawn coarser, not longer, and its states are all there.
func TestSamplerIsBounded(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var s sampler
	changes := 0
	state := "Normal"
	const seconds = 200_000
	for i := range seconds {
		if i%5000 == 4999 {
			changes++
			state = map[string]string{"Normal": "Sleep", "Sleep": "Normal"}[state]
		}
		s.add(chart.Point{At: start.Add(time.Duration(i) * time.Second), State: state, Requests: i})
		if len(s.points) >= maxSamples {
			t.Fatalf("%d samples", len(s.points))
		}
	}
	seen := 0
	for i := 1; i < len(s.points); i++ {
		if s.points[i].State != s.points[i-1].State {
			seen++
		}
		if !s.points[i].At.After(s.points[i-1].At) {
			t.Fatal("samples are out of order")
		}
	}
	if seen != changes || len(s.points) < maxSamples/4 {
		t.Errorf("%d of %d changes in %d samples", seen, changes, len(s.points))
	}
	if last := s.points[len(s.points)-1]; last.Requests < seconds*99/100 {
		t.Errorf("the last sample is that of request %d", last.Requests)
	}
	var flap sampler
	for i := range 3 * maxSamples {
		flap.add(chart.Point{At: start.Add(time.Duration(i) * time.Second), State: []string{"Normal", "Sleep"}[i%2]})
	}
	if len(flap.points) >= maxSamples {
		t.Errorf("%d samples of a limiter that flaps", len(flap.points))
	}
}
