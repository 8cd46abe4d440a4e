package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var started = time.Date(2026, 11, 21, 21, 0, 0, 0, time.UTC)

func TestTimeline(t *testing.T) {
	at := func(s float64) time.Time { return started.Add(time.Duration(s * float64(time.Second))) }
	got := NewTimeline([]Point{
		{At: at(0), State: "Normal", Rate: 10},
		{At: at(1), State: "Normal", Rate: 10, Requests: 10},
		{At: at(2), State: "Throttle", Rate: 5, Requests: 20, Throttled: 1},
		{At: at(4), State: "offline", Requests: 5},
	})
	want := &Timeline{
		Bands: []Band{
			{"0", "1000", "st-normal", "Normal"},
			{"500", "500", "st-throttle", "Throttle"},
			{"1000", "0", "st-closed", "offline"},
		},
		RatePath: "M0 98.2H500V139.1H1000V180H1000",
		TopLabel: "22/s", Ticks: []string{"0.0 s", "1.0 s", "2.0 s", "3.0 s", "4.0 s"},
		Marks:  []string{"500"},
		Legend: []LegendEntry{{"Normal", "st-normal"}, {"Throttle", "st-throttle"}, {"offline", "st-closed"}},
		StateTexts: []StateText{
			{"0.0 s", "Normal", "2.0 s", "st-normal"},
			{"2.0 s", "Throttle", "2.0 s", "st-throttle"},
			{"4.0 s", "offline", "0.0 s", "st-closed"},
		},
		Label: "The limiter during the run: Normal for 2.0 s, Throttle for 2.0 s, offline for 0.0 s",
	}
	wantBars := []Bar{
		{"0", "98.2", "246", "81.8"},
		{"250", "16.4", "246", "163.6"},
		{"500", "159.5", "246", "20.5"},
		{"750", "159.5", "246", "20.5"},
	}
	if diff := cmp.Diff(wantBars, got.Bars); diff != "" {
		t.Error(diff)
	}
	got.Bars = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, points := range [][]Point{nil, {{At: at(0)}}, {{At: at(1)}, {At: at(1)}}} {
		if NewTimeline(points) != nil {
			t.Errorf("%v gave a picture", points)
		}
	}
	long := make([]Point, 100_000)
	for i := range long {
		long[i] = Point{At: at(float64(i)), State: []string{"Normal", "Sleep"}[i%2], Requests: 1}
	}
	if tl := NewTimeline(long); len(tl.Bars) != maxBars || len(tl.StateTexts) != maxStateTexts || tl.HiddenStates == 0 ||
		len(tl.Bands) > boxWidth+1 {
		t.Errorf("a long run has %d bars, %d spans, %d bands", len(tl.Bars), len(tl.StateTexts), len(tl.Bands))
	}
}

// A burst that the bucket allows is not a rate: answers within a second are shown as that many a second.
func TestABurstIsNotARate(t *testing.T) {
	var points []Point
	for i := range 15 {
		points = append(points, Point{
			At: started.Add(time.Duration(i) * 10 * time.Millisecond), State: "Normal", Rate: 35,
			Requests: min(i, 2),
		})
	}
	tl := NewTimeline(points)
	if tl.TopLabel != "39/s" || len(tl.Bars) != 1 || tl.Ticks[4] != "1.0 s" || tl.Bands[0].Width != "140" {
		t.Errorf("27 answers within 0.14 s are drawn as %+v", tl)
	}
	for length, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Second, 99 * time.Second: time.Second, 100 * time.Second: time.Second,
		101 * time.Second: 2 * time.Second, time.Hour: 36 * time.Second, 100 * time.Hour: time.Hour,
	} {
		if got := barLength(length); got != want || (length+got-1)/got > maxBars {
			t.Errorf("a run of %s has bars of %s, want %s", length, got, want)
		}
	}
}

func TestStepPathLeavesOutWhatNobodySees(t *testing.T) {
	p := Plot{Left: 10, Right: 110, Top: 0, Bottom: 50, Length: 100 * time.Second, Max: 10}
	got := p.StepPath([]RateChange{
		{0, 10},
		{10 * time.Second, 5},
		{20 * time.Second, 5},
		{30 * time.Second, 0},
		{30*time.Second + 500*time.Millisecond, 10},
		{40 * time.Second, 10},
	}, 60*time.Second)
	if want := "M10 0H20V25H40V50H50V0H70"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAxis(t *testing.T) {
	for most, want := range map[float64][2]float64{1: {1, 1}, 6: {6, 1}, 7: {8, 2}, 35: {40, 10}, 61: {80, 20}} {
		if end, tick := AxisScale(most); end != want[0] || tick != want[1] {
			t.Errorf("an axis to %v ends at %v with ticks of %v, want %v", most, end, tick, want)
		}
	}
}

func TestTicksAreFewAndRound(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, 10 * time.Second: time.Second, 11 * time.Second: 2 * time.Second,
		12 * time.Second: 2 * time.Second, time.Hour: 10 * time.Minute, 48 * time.Hour: 4 * time.Hour,
	} {
		if got := RoundPeriod(length, time.Second, 10); got != want {
			t.Errorf("%s has a tick every %s, want %s", length, got, want)
		}
	}
}

// A drawing is XML, names what it shows, refers to nothing elsewhere, and keeps text from outside text.
func TestDrawing(t *testing.T) {
	d := Drawing{
		Title: "</title><script>", Description: "in \x1b words", Footer: "12 of 20 & more", Length: 20 * time.Second,
		Phases: []Phase{{0, 5 * time.Second, "normal", false}, {5 * time.Second, 20 * time.Second, "outage <503>", true}},
		States: []string{"Normal", "Sleep"},
		Spans:  []Span{{"Normal", 0, 6 * time.Second, ""}, {"Sleep", 6 * time.Second, 20 * time.Second, "error_ratio"}},
		Steps: []Step{
			{End: 10 * time.Second, Good: 30, Allowed: 35, Bad: 2, Throttled: 20},
			{End: 20 * time.Second, Good: 0, Allowed: 0, Bad: 0},
		},
	}
	var b strings.Builder
	if err := d.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	svg := b.String()
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"prefers-color-scheme:dark", ">Sleep</text>", "requests a second", `in \x1b words`, "Sleep, 6s to 20s: error_ratio",
		"outage &lt;503&gt;, 5s to 20s", "20 refused (429)", "&lt;/title&gt;&lt;script&gt;", "12 of 20 &amp; more",
		`class="good" d="M84`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is missing in\n%s", want, svg)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "<script", "href"} {
		if strings.Contains(svg, bad) {
			t.Errorf("%q is in it", bad)
		}
	}
	if strings.Count(svg, "http") != 1 { // the namespace
		t.Error("it refers to something elsewhere")
	}
}
