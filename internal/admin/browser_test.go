package admin

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/testing/browsertest"
)

var pictures = flag.String("pictures", "", "folder for screenshots of the admin pages")

// history fills the charts of a page as an hour would.
func (x *site) history() {
	r := x.server.histories
	r.mu.Lock()
	defer r.mu.Unlock()
	begin := time.Now().Add(-time.Hour)
	for i := range fineSamples {
		r.historyOf("").add(sample{
			at: begin.Add(time.Duration(i) * fineInterval), running: float64(i % 9), limit: 16, sent: float64(i % 36),
			throttled: float64(i % 50 / 49), queue: float64(i % 25),
		})
	}
}

// The pages in a real browser: at 320 and 1280 pixels, light and dark, without script, by keyboard alone; a limit that
// is changed there is in force; and the console has nothing to say.
func TestPagesInARealBrowser(t *testing.T) {
	x := start(t, true)
	x.history()
	b := browsertest.Start(t)
	text := func() (s string) {
		b.Eval(`document.body.innerText`, &s)
		return s
	}
	path := func() (s string) {
		b.Eval(`location.pathname`, &s)
		return s
	}
	// tab presses the Tab key until the expression holds for the focused element.
	tab := func(what string) {
		t.Helper()
		for range 60 {
			b.Press("Tab", 9)
			var there bool
			if b.Eval(`(() => { const e = document.activeElement; return `+what+`; })()`, &there); there {
				return
			}
		}
		t.Fatalf("Tab never gets to %s", what)
	}
	write := func(s string) { b.Call("Input.insertText", map[string]any{"text": s}, nil) }
	// submits presses Enter and waits for the next page.
	submits := func() { b.AwaitLoad(func() { b.Press("Enter", 13) }) }

	b.SetViewport(320, 700, "light")
	b.Open(x.url)
	if path() != "/login" {
		t.Fatalf("a stranger sees %s", path())
	}
	tab(`e.name === "token"`)
	write(x.token)
	submits()
	if path() != "/" || !strings.Contains(text(), "Overview") {
		t.Fatalf("after the login: %s", path())
	}

	// By keyboard alone: a number, and the button beside it.
	tab(`e.name === "rate_base"`)
	write("13")
	submits()
	if got := x.limiter().Tuning.RateBase; got != 13 || !strings.Contains(text(), "35 → 13") {
		t.Errorf("rate_base is %v; %.300s", got, text())
	}
	tab(`(e.innerText || "").startsWith("Pause requests")`)
	submits()
	if st := x.limiter().State.String(); st != "CacheOnly" || !strings.Contains(text(), "CacheOnly") {
		t.Errorf("the limiter is in %s", st)
	}
	tab(`e.innerText === "Ask TMDB again"`)
	submits()

	for _, width := range []int{320, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.SetViewport(width, 800, scheme)
			for _, p := range pages {
				b.Open(x.url + p.Link)
				var wide int
				b.Eval(`document.documentElement.scrollWidth`, &wide)
				if wide > width {
					t.Errorf("%s at %d: %d pixels wide", p.name, width, wide)
				}
				var small, overlapping int
				b.Eval(`(() => { const all = [...document.querySelectorAll("svg")].map((s) => [...s.querySelectorAll("text")]); `+
					`window.boxes = all.map((s) => s.map((e) => e.getBoundingClientRect())); `+
					`return boxes.flat().filter((b) => b.height < 12).length; })()`, &small)
				b.Eval(`boxes.map((s) => s.filter((a, i) => s.some((b, j) => i < j && a.left < b.right && b.left < a.right && `+
					`a.top + 2 < b.bottom && b.top + 2 < a.bottom)).length).reduce((a, b) => a + b, 0)`, &overlapping)
				if small+overlapping > 0 {
					t.Errorf("%s at %d: of the charts' labels %d are too small and %d overlap", p.name, width, small, overlapping)
				}
				if *pictures != "" {
					b.Screenshot(filepath.Join(*pictures, fmt.Sprintf("%s-%d-%s.png", p.name, width, scheme)))
				}
			}
		}
	}

	// The page brings itself up to date, unless somebody writes into a field.
	b.Open(x.url)
	b.Eval(`document.querySelector("h1").focus(); document.activeElement.blur()`, nil)
	x.admin("PATCH", "/api/v1/limiter", `{"rate_base":17}`)
	b.Eval(`new Promise((done, fail) => { const end = Date.now() + 30000; const look = () => `+
		`document.body.innerText.includes("rate_base = 17") ? done(true) : Date.now() > end ? fail("never") : `+
		`setTimeout(look, 100); look(); })`, nil)
	tab(`e.name === "ceiling"`)
	write("4")
	x.admin("PATCH", "/api/v1/limiter", `{"rate_base":19}`)
	var kept string
	b.Eval(`document.activeElement.blur(); new Promise((done) => setTimeout(() => `+
		`done(document.querySelector("[name=ceiling]").value), 6000))`, &kept)
	if kept != "4" {
		t.Errorf("what was written is gone: %q", kept)
	}

	// The same without script.
	b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.Open(x.url + "/log")
	b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
	if got := text(); !strings.Contains(got, "admin_change") ||
		!strings.Contains(got, "what=rate_base from=35 to=13 for=1h") {
		t.Errorf("the log shows %.400s", got)
	}
	if said := b.ConsoleErrors(); len(said) != 0 {
		t.Errorf("the console says %q", said)
	}

	// A page that can no longer be brought up to date says so.
	b.Open(x.url)
	if strings.Contains(text(), "out of date") {
		t.Error("the page says that it is out of date, but it is not")
	}
	b.Eval(`fetch("/logout", { method: "POST" }).then(() => new Promise((done, fail) => { `+
		`document.activeElement.blur(); const end = Date.now() + 30000; const look = () => `+
		`document.body.innerText.includes("out of date") ? done(true) : Date.now() > end ? fail("never") : `+
		`setTimeout(look, 100); look(); }))`, nil)
}
