package html

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/chart"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/testing/browsertest"
)

var pictures = flag.String("pictures", "", "folder for screenshots of the report page")

func ptr[T any](v T) *T { return &v }

var started = time.Date(2026, 11, 21, 21, 0, 0, 0, time.UTC)

// samplePage is a small library's run that met a limit.
func samplePage() Page {
	var records []report.Record
	titles := []string{
		"Asteroid Blues", "Stray Dog Strut", "Honky Tonk Women", "Gateway Shuffle",
		"Ballad of Fallen Angels",
	}
	for i, title := range titles {
		records = append(records, report.Record{
			Path:   fmt.Sprintf("/lib/Cowboy Bebop/[Group] Cowboy Bebop - %02d [1080p][ABCD%04d].mkv", i+1, i),
			Status: report.Matched, Confidence: ptr(0.97 + float64(i)/200), Kind: "tv", TMDBID: 30991, Title: "Cowboy Bebop",
			OriginalTitle: "カウボーイビバップ", Year: 1998,
			Season: ptr(1), Episodes: []int{i + 1}, EpisodeTitles: []string{title}, Source: "network",
			Reason: "title and year agree", Candidates: []report.Candidate{
				{
					Kind: "tv", TMDBID: 30991, Title: "Cowboy Bebop", Year: 1998, Confidence: 0.97,
					Reasons: []report.Reason{{Name: "title", Weight: 1, Detail: "equal"}, {Name: "genre", Weight: 0.1}},
				},
				{
					Kind: "tv", TMDBID: 84773, Title: "Cowboy Bebop", Year: 2021, Confidence: 0.02,
					Reasons: []report.Reason{{Name: "title", Weight: 1}, {Name: "genre", Weight: -0.4, Detail: "not animation"}},
				},
			},
		})
	}
	for i := range 16 {
		records = append(records, report.Record{
			Path: fmt.Sprintf("/lib/비밀의 숲/비밀의 숲 %d화.mkv", i+1), Status: report.Matched, Confidence: ptr(1.0), Kind: "tv",
			TMDBID: 70593, Title: "비밀의 숲", Year: 2017, Season: ptr(1), Episodes: []int{i + 1}, Source: "stale",
			CachedAt: started.AddDate(0, -1, 0),
		})
	}
	records = append(
		records,
		report.Record{
			Path: "/lib/비밀의 숲/특별편/비밀의 숲 특별편.mkv", Status: report.Matched, Confidence: ptr(0.93), Kind: "tv", TMDBID: 70593,
			Title: "비밀의 숲", Year: 2017, Source: "stale", CachedAt: started.AddDate(0, -1, 0),
			Reason: "season 0 has no episode of that name",
		},
		report.Record{
			Path: "/lib/films/千と千尋の神隠し (2001).mkv", Status: report.Matched, Confidence: ptr(0.999), Kind: "movie", TMDBID: 129,
			Title: "Spirited Away", OriginalTitle: "千と千尋の神隠し", Year: 2001, Source: "pin",
		},
		report.Record{
			Path: "/lib/films/Dune.mkv", Status: report.Ambiguous, Confidence: ptr(0.52), Source: "network",
			Reason: "two films of that title", Candidates: []report.Candidate{
				{
					Kind: "movie", TMDBID: 438631, Title: "Dune", Year: 2021, Confidence: 0.52,
					Reasons: []report.Reason{{Name: "title", Weight: 1, Detail: "equal"}},
				},
				{Kind: "movie", TMDBID: 841, Title: "Dune", Year: 1984, Confidence: 0.4},
			},
		},
		report.Record{
			Path: "/lib/films/home video.mkv", Status: report.Unmatched, Reason: "nothing like it in 3 searches",
			Source: "network",
		},
		report.Record{
			Path: "/lib/later/Frieren - 01.mkv", Status: report.Pending,
			Error: &report.Error{Code: report.CodeBlocked, Message: "the limiter sleeps until 21:01:00 after 429"},
		},
		report.Record{
			Path: "/lib/later/Frieren - 02.mkv", Status: report.Pending,
			Error: &report.Error{Code: report.CodeBlocked, Message: "the limiter sleeps until 21:01:00 after 429"},
		},
		report.Record{
			Path: "/lib/secret", Status: report.Failed,
			Error: &report.Error{Code: report.CodeUnreadable, Message: "permission denied"},
		},
		report.Record{Path: "/lib/Cowboy Bebop/NCOP.mkv", Status: report.Skipped, Reason: "a creditless opening"},
	)
	var tally report.Tally
	for _, r := range records {
		tally.Add(r)
	}
	s := tally.Counts()
	s.Requests, s.Retries, s.HTTP429, s.CacheHits, s.CacheMisses, s.ElapsedMS, s.LimiterState = 41, 3, 2, 30, 12, 42_400,
		"Throttle"
	return Page{
		Arguments: []string{"/lib"}, Started: started, Version: "v0.1.0", Records: records, Summary: s,
		Timeline: sampleTimeline(), Gaps: sampleGaps(),
	}
}

// sampleGaps are two missing episodes, a duplicate one, a missing season, and a series whose list is not available.
func sampleGaps() [][]report.Gap {
	return [][]report.Gap{
		{{
			TMDBID: 30991, Title: "Cowboy Bebop", Year: 1998, Season: ptr(1), Aired: 26, Present: 24, Unplaced: 1,
			Missing: []report.MissingEpisode{{Episode: 7, Title: "Heavy Metal Queen", AirDate: "1998-12-04"}, {Episode: 8}},
			Duplicates: []report.EpisodeFile{
				{Episode: 1, Path: "/lib/a.mkv"},
				{Episode: 1, Path: "/lib/b.mkv", Better: "v2 instead of v1"},
			},
		}},
		{{
			TMDBID:  70593,
			Title:   "비밀의 숲",
			Season:  ptr(2),
			Aired:   2,
			Missing: []report.MissingEpisode{{Episode: 1}, {Episode: 2}},
		}},
		{{TMDBID: 129, Title: "unknown", Unknown: true}},
	}
}

func sampleTimeline() []chart.Point {
	var points []chart.Point
	for i := range 85 {
		p := chart.Point{At: started.Add(time.Duration(i) * 500 * time.Millisecond), State: "Normal", Rate: 35, Requests: 14 +
			i%5}
		switch {
		case i >= 30 && i < 44:
			p.State, p.Rate, p.Requests = "Throttle", 17, 8
			if i < 34 {
				p.Throttled = 2
			}
		case i >= 44 && i < 60:
			p.State, p.Rate, p.Requests = "Sleep", 0, 0
		case i >= 60 && i < 66:
			p.State, p.Rate, p.Requests = "HalfOpen", 3, 1
		case i >= 66:
			p.Rate, p.Requests = 28, 12
		}
		points = append(points, p)
	}
	return points
}

func render(t testing.TB, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Everything is there without the script: each file, each reason, each candidate, and the limiter in words.
func TestPageReadsWithoutScript(t *testing.T) {
	p := samplePage()
	page := render(t, p)
	body, _, _ := strings.Cut(page, "<script>")
	for _, want := range []string{
		"Cowboy Bebop (1998)", "カウボーイビバップ", "[Group] Cowboy Bebop - 03 [1080p][ABCD0002].mkv", "S01E03", "98 %",
		"Honky Tonk Women", "title and year agree",
		"genre -0.40 (not animation)", "https://www.themoviedb.org/tv/30991", "stale, as of 2026-10-21",
		`<span class="status">no episode</span>`, "season 0 has no episode of that name", "Dune (1984)", "movie/841",
		"two films of that title", "nothing like it in 3 searches", "the limiter sleeps until",
		"permission denied",
		"a creditless opening", "pinned", "24 of 26, missing 7-8", "E07  Heavy Metal Queen  1998-12-04",
		"E01 exists more than once:", "/lib/b.mkv  better: v2 instead of v1", "missing: 2 episodes",
		"1 file without an episode may be what is missing", `missing</span> <b>2</b>`, "<b>Sleep</b> for 8.0 s", "30 of 42",
		"not endorsed or certified by TMDB", "v0.1.0", "/lib/비밀의 숲/특별편",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	got := strings.Count(body, `<li class="file `) - strings.Count(body, `<li class="file missing"`)
	if got != len(p.Records) {
		t.Errorf("%d files on the page, %d in the run", got, len(p.Records))
	}
	if n := strings.Count(body, "<summary>Why?</summary>"); n != 1 {
		t.Errorf("a series' candidates are listed %d times", n)
	}
	if strings.Contains(body, " hidden>No media") ||
		regexp.MustCompile(`class="(card|file)[^"]*"[^>]* hidden`).MatchString(body) {
		t.Error("something is hidden that only the script could show")
	}
}

// Nothing on the page is fetched: the only addresses are links to follow by hand.
func TestPageIsSelfContained(t *testing.T) {
	page := render(t, samplePage())
	for _, m := range regexp.MustCompile(`(?i)\b(src|srcset|href|action|data|poster)\s*=\s*"([^"]`+
		`*)"|url\(|@import|<link|<iframe|<object|<embed|<base`).FindAllStringSubmatch(page, -1) {
		if strings.ToLower(m[1]) != "href" || !strings.HasPrefix(m[2], "https://www.themoviedb.org/") {
			t.Errorf("the page refers to %q", m[0])
		}
	}
	if regexp.MustCompile(`(?i)\sstyle\s*=\s*"|\son[a-z]+\s*=\s*"|javascript:`).MatchString(page) {
		t.Error("inline styles or handlers, which the policy refuses")
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("no content security policy")
	}
}

// hostile is text that would run, load or break out if it were not escaped.
var hostile = []string{
	`<script>window.hacked=1</script>`, `"><img src=x onerror="window.hacked=1">`,
	`</script><script>window.hacked=1</script>`, `'-window.hacked=1-'`,
	`</style><svg onload=window.hacked=1>`, `javascript:window.hacked=1`, "{{.}}${window.hacked=1}", "\u202e<b>\x00\xff",
}

func hostilePage() Page {
	p := samplePage()
	for _, x := range hostile {
		p.Records = append(
			p.Records,
			report.Record{
				Path: x + "/" + x, Status: report.Matched, Kind: x, TMDBID: 7, Title: x, OriginalTitle: x + x, Reason: lang.Text(x),
				EpisodeTitles: []string{x}, Source: "network", Season: ptr(1), Episodes: []int{1}, Confidence: ptr(0.5),
				Candidates: []report.Candidate{{
					Kind: x, TMDBID: 1, Title: x,
					Reasons: []report.Reason{{Name: x, Detail: lang.Text(x)}},
				}},
				Steps: []report.Step{{Stage: x, Detail: lang.Text(x)}},
			},
			report.Record{Path: x, Status: report.Pending, Error: &report.Error{Code: report.Code(x), Message: lang.Text(x)}},
		)
		p.Arguments = append(p.Arguments, x)
		p.Timeline = append(p.Timeline, chart.Point{At: p.Timeline[len(p.Timeline)-1].At.Add(time.Second), State: x})
	}
	p.Version, p.Summary.LimiterState = hostile[0], hostile[1]
	return p
}

func TestTextFromOutsideStaysText(t *testing.T) {
	page := render(t, hostilePage())
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts on the page", n)
	}
	for _, bad := range []string{"<img", "<svg onload", "<b>\x00", `href="javascript`, "\x00", "\u202e", "onerror=\"w"} {
		if strings.Contains(page, bad) {
			t.Errorf("%q came through", bad)
		}
	}
}

func TestEmptyRun(t *testing.T) {
	page := render(t, Page{})
	if !strings.Contains(page, "No media files were found.") || strings.Contains(page, "<svg") {
		t.Error("an empty run's page does not say so")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestWriting(t *testing.T) {
	if err := Write(full{}, samplePage()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk gives %v", err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	for range 2 {
		if err := WriteFile(path, samplePage()); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != render(t, samplePage()) {
		t.Errorf("the file differs from what Write gives: %v", err)
	}
}

// bigPage has too many files to unfold them all.
func bigPage() Page {
	records := []report.Record{{Path: "/lib/odd.mkv", Status: report.Unmatched, Reason: "nothing like it"}}
	for show := range 80 {
		for episode := range 10 {
			records = append(records, report.Record{
				Path: fmt.Sprintf("/lib/%d/Show %d - %d.mkv", show, show, episode), Status: report.Matched, Confidence: ptr(0.9),
				Kind: "tv", TMDBID: show + 1, Title: fmt.Sprint("Series ", show), Season: ptr(1), Episodes: []int{episode},
			})
		}
	}
	var tally report.Tally
	for _, r := range records {
		tally.Add(r)
	}
	return Page{Records: records, Summary: tally.Counts()}
}

func TestInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	path := filepath.Join(t.TempDir(), "report.html")
	page := samplePage()
	if err := WriteFile(path, page); err != nil {
		t.Fatal(err)
	}
	// What a person sees: rows that take up room on the screen.
	visible := func() (rows map[string]int) {
		b.Eval(`(() => { const n = {}; for (const f of document.querySelectorAll(".file"))
			if (f.checkVisibility() && f.closest("details.card").open)
			n[f.dataset.status] = (n[f.dataset.status] || 0) + 1; return n; })()`, &rows)
		return rows
	}
	click := func(label string) {
		b.Eval(fmt.Sprintf(`[...document.querySelectorAll(".filter")].find((f) => f.textContent.includes(%q)).click()`,
			label), nil)
	}
	search := func(text string) {
		b.Eval(fmt.Sprintf(`(() => { const q = document.getElementById("query"); q.value = %q;
			q.dispatchEvent(new Event("input"));
			return new Promise((done) => setTimeout(done, 300)); })()`, text), nil)
	}

	b.SetViewport(1200, 900, "light")
	b.Open(path)
	// the long series and what was skipped are folded
	closedAtFirst := map[string]int{"matched": 6, "ambiguous": 1, "unmatched": 1, "pending": 2, "error": 1}
	if diff := cmp.Diff(closedAtFirst, visible()); diff != "" {
		t.Errorf("at first: %s", diff)
	}
	s := page.Summary
	for label, want := range map[string]map[string]int{
		"matched": {"matched": s.Matched}, "no episode": {"matched": 1}, "missing": {"missing": 2},
		"ambiguous": {"ambiguous": 1}, "unmatched": {"unmatched": 1}, "pending": {"pending": 2}, "errors": {"error": 1},
		"skipped": {"skipped": 1},
	} {
		click(label)
		if label == "matched" { // "unmatched" contains it too, but comes later
			b.Eval(`document.querySelector('.filter[data-show="matched"]').click()`, nil)
		}
		if diff := cmp.Diff(want, visible()); diff != "" {
			t.Errorf("filter %s: %s", label, diff)
		}
	}
	click("all")
	if diff := cmp.Diff(closedAtFirst, visible()); diff != "" {
		t.Errorf("back to all: %s", diff)
	}
	for text, want := range map[string]map[string]int{
		"BEBOP 03":  {"matched": 2}, // episode 3, and "ABCD0003" of episode 4
		"비밀의 숲 특별편": {"matched": 1}, "dune": {"ambiguous": 1}, "permission": {"error": 1}, "no such thing": {},
		"ｄｕｎｅ": {"ambiguous": 1},
	} {
		search(text)
		if diff := cmp.Diff(want, visible()); diff != "" {
			t.Errorf("search %q: %s", text, diff)
		}
		var nothing bool
		b.Eval(`document.getElementById("nothing").checkVisibility()`, &nothing)
		if nothing != (len(want) == 0) {
			t.Errorf("search %q: the hint that nothing fits is shown: %v", text, nothing)
		}
	}
	search("lib")
	click("pending")
	var shown string
	b.Eval(`document.getElementById("shown").textContent`, &shown)
	if want := fmt.Sprintf("2 of %d files", s.Files); shown != want {
		t.Errorf("the page says %q, want %q", shown, want)
	}

	// What is shown stands in the address, and an address shows it.
	var address string
	b.Eval("location.hash", &address)
	if address != "#pending&q=lib" {
		t.Errorf("the address is %q", address)
	}
	for fragment, want := range map[string]map[string]int{
		"#no-episode": {"matched": 1}, "#missing&q=metal+queen": {"missing": 1}, "#q=dune": {"ambiguous": 1},
		"#ambiguous&q=%EB%B9%84%EB%B0%80": {}, "#nonsense": closedAtFirst,
	} {
		b.Open("about:blank")
		b.Open(path + fragment)
		if diff := cmp.Diff(want, visible()); diff != "" {
			t.Errorf("%s: %s", fragment, diff)
		}
	}
	b.Open("about:blank")
	b.Open(path)
	click("unmatched")
	click("pending")
	b.Eval(`new Promise((done) => { addEventListener("popstate", () => done()); history.back(); })`, nil)
	if diff := cmp.Diff(map[string]int{"unmatched": 1}, visible()); diff != "" {
		t.Errorf("back: %s", diff)
	}

	// By keyboard alone: "/" goes to the box, Escape empties it, and a chip, a card and a candidate's button are reached
	// by Tab.
	b.Open(path)
	b.Press("/", 0)
	b.Call("Input.insertText", map[string]any{"text": "dune"}, nil)
	b.Eval(`new Promise((done) => setTimeout(done, 300))`, nil)
	if diff := cmp.Diff(map[string]int{"ambiguous": 1}, visible()); diff != "" {
		t.Errorf("after / and dune: %s", diff)
	}
	b.GrantPermissions("clipboardReadWrite", "clipboardSanitizedWrite")
	focused := func() (what string) {
		b.Eval(`document.activeElement.className + " " + (document.activeElement.dataset.entry || "")`, &what)
		return strings.TrimSpace(what)
	}
	for range 10 {
		if focused() == "pin movie/841" {
			break
		}
		b.Press("Tab", 9)
	}
	b.Press("Enter", 13)
	var said, copied string
	b.Eval(`new Promise((done) => setTimeout(() => done(document.querySelector("#said").innerText), 300))`, &said)
	b.Eval(`navigator.clipboard.readText()`, &copied)
	if want := "anivault pin /lib/films/Dune.mkv movie/841"; copied != want || !strings.Contains(said, "Copied") ||
		!strings.Contains(said, want) {
		t.Errorf("copied %q, said %q", copied, said)
	}
	b.Press("/", 0)
	b.Press("Escape", 27)
	if diff := cmp.Diff(closedAtFirst, visible()); diff != "" {
		t.Errorf("after Escape: %s", diff)
	}

	// On a phone nothing is wider than the screen, and what is tapped is big enough; in the dark text is light.
	for _, width := range []int{320, 375, 768, 1200} {
		b.SetViewport(width, 800, "dark")
		b.Open(path)
		var wide int
		b.Eval(`document.querySelectorAll("details").forEach((d) => d.open = true), document.querySelector(".pin").click()`,
			nil)
		b.Eval("document.documentElement.scrollWidth", &wide)
		if wide > width {
			t.Errorf("at %d pixels the page is %d wide", width, wide)
		}
		var small []string
		b.Eval(`[...document.querySelectorAll("button, input")].filter((e) => e.getBoundingClientRect().height < `+
			`36).map((e) => e.outerHTML)`, &small)
		if len(small) > 0 {
			t.Errorf("too small to tap: %v", small)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		b.SetViewport(1200, 900, scheme)
		var poor []string
		b.Eval(contrastScript, &poor)
		if len(poor) > 0 {
			t.Errorf("%s: hard to read: %v", scheme, poor)
		}
	}

	if *pictures != "" {
		for _, shot := range []struct {
			name          string
			width, height int
			scheme        string
		}{{"desktop", 1200, 1100, "light"}, {"dark", 1200, 1100, "dark"}, {"phone", 375, 1400, "light"}, {
			"phone-dark", 375,
			1400, "dark",
		}} {
			b.SetViewport(shot.width, shot.height, shot.scheme)
			b.Open(path)
			b.Screenshot(filepath.Join(*pictures, shot.name+".png"))
		}
	}

	// A big library stays folded, except cards that need attention or match a search.
	if err := WriteFile(path, bigPage()); err != nil {
		t.Fatal(err)
	}
	b.Open(path)
	for _, step := range []struct {
		text, filter string
		want         map[string]int
	}{
		{"", "all", map[string]int{"unmatched": 1}},
		{"", "matched", map[string]int{}},
		{"series 79", "matched", map[string]int{"matched": 10}},
		{"", "unmatched", map[string]int{"unmatched": 1}},
	} {
		search(step.text)
		b.Eval(fmt.Sprintf(`document.querySelector('.filter[data-show="%s"]').click()`,
			strings.Replace(step.filter, "all", "", 1)), nil)
		if diff := cmp.Diff(step.want, visible()); diff != "" {
			t.Errorf("big library, %q in %s: %s", step.text, step.filter, diff)
		}
	}

	if err := WriteFile(path, hostilePage()); err != nil {
		t.Fatal(err)
	}
	b.Open(path)
	var hacked bool
	b.Eval("typeof window.hacked !== 'undefined'", &hacked)
	if hacked {
		t.Error("text from outside ran as a script")
	}
	search("hacked")
	if said := b.ConsoleErrors(); len(said) > 0 {
		t.Errorf("the console says %v", said)
	}

	b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	if err := WriteFile(path, page); err != nil {
		t.Fatal(err)
	}
	b.Open(path)
	if diff := cmp.Diff(closedAtFirst, visible()); diff != "" {
		t.Errorf("without JavaScript: %s", diff)
	}
}

// contrastScript lists visible words whose contrast with their background is below WCAG's 4.5.
const contrastScript = `(() => {
	const lum = (c) => { const [r, g, b] = c.match(/[\d.]+/g).map(Number)
		.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
	return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = (e) => {
	for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
	if (!/, 0\)$/.test(c)) return c; } return "rgb(255, 255, 255)"; };
	const poor = new Set();
	for (const e of document.querySelectorAll("body *")) {
		if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
		const a = lum(getComputedStyle(e).color), b = lum(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) poor.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
	}
	return [...poor];
})()`
