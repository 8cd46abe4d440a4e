// Package browsertest opens pages in a real headless Chromium, for the tests that need one. Only tests link it.
package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Browser is a headless Chromium that is spoken to over a pair of pipes (the DevTools protocol, messages ended by a
// zero byte), with one open page. It needs no port.
type Browser struct {
	t       *testing.T
	send    *os.File
	session string

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	loaded  chan struct{}
	console []string // errors, warnings and refusals, as the browser tells them
}

type answer struct {
	result json.RawMessage
	err    error
}

// Start opens a browser. It skips the test where there is no Chromium.
func Start(t *testing.T) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no browser")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the browser's pipes need file descriptors 3 and 4")
	}
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("no Chromium on PATH: no page is tried in a real browser")
	}
	profile, err := os.MkdirTemp("", "anivault-browser-") // not t.TempDir: its cleanup would race with a dying browser
	if err != nil {
		t.Fatal(err)
	}
	theirIn, ourOut := pipe(t)
	ourIn, theirOut := pipe(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	cmd := exec.CommandContext(ctx, program,
		"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-first-run",
		"--hide-scrollbars", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	closeAll(theirIn, theirOut)
	b := &Browser{t: t, send: ourOut, waiting: map[int]chan answer{}, loaded: make(chan struct{}, 16)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.read(ourIn)
	}()
	t.Cleanup(func() {
		_, _ = b.ask("", "Browser.close", nil)
		_ = cmd.Wait()
		cancel()
		closeAll(ourOut)
		<-done
		closeAll(ourIn)
		os.RemoveAll(profile)
	})

	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// read sorts what the browser says until its pipe ends.
func (b *Browser) read(from *os.File) {
	r := bufio.NewReader(from)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			for _, c := range b.waiting {
				c <- answer{err: errors.New("the browser is gone")}
			}
			b.waiting = map[int]chan answer{}
			b.mu.Unlock()
			return
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if json.Unmarshal(bytes.TrimSuffix(raw, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0:
			if c := b.waiting[m.ID]; c != nil {
				delete(b.waiting, m.ID)
				a := answer{result: m.Result}
				if m.Error != nil {
					a.err = errors.New(m.Error.Message)
				}
				c <- a
			}
		case m.Method == "Page.loadEventFired":
			select {
			case b.loaded <- struct{}{}:
			default:
			}
		case m.Method == "Log.entryAdded" && remark(m.Params):
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded", m.Method == "Runtime.consoleAPICalled":
			b.console = append(b.console, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// remark reports whether an entry of the browser's log is neither an error nor a warning: a keyboard faster than
// "autofocus" is one.
func remark(params json.RawMessage) bool {
	var log struct{ Entry struct{ Level string } }
	return json.Unmarshal(params, &log) == nil && (log.Entry.Level == "info" || log.Entry.Level == "verbose")
}

func (b *Browser) ask(session, method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	b.last++
	id, c := b.last, make(chan answer, 1)
	b.waiting[id] = c
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if session != "" {
		message["sessionId"] = session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.send.Write(append(text, 0))
	}
	if err != nil {
		delete(b.waiting, id)
		b.mu.Unlock()
		return nil, err
	}
	b.mu.Unlock()
	select {
	case a := <-c:
		return a.result, a.err
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("the browser did not answer %s", method)
	}
}

func (b *Browser) call(session, method string, params, into any) {
	b.t.Helper()
	result, err := b.ask(session, method, params)
	if err == nil && into != nil {
		err = json.Unmarshal(result, into)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// Call calls a method of the DevTools protocol on the page, and decodes its result into a value that may be nil.
func (b *Browser) Call(method string, params, into any) {
	b.t.Helper()
	b.call(b.session, method, params, into)
}

// Grant lets pages do what a person would be asked about.
func (b *Browser) Grant(permissions ...string) {
	b.t.Helper()
	b.call("", "Browser.grantPermissions", map[string]any{"permissions": permissions}, nil)
}

// Press presses a key and lets it go. code is the key's number, 0 for one that types itself.
func (b *Browser) Press(key string, code int) {
	b.t.Helper()
	down := map[string]any{"type": "rawKeyDown", "key": key, "windowsVirtualKeyCode": code}
	switch {
	case code == 0:
		down["type"], down["text"] = "keyDown", key
	case key == "Enter":
		down["type"], down["text"] = "keyDown", "\r"
	}
	b.Call("Input.dispatchKeyEvent", down, nil)
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}, nil)
}

// Open shows a file, or an address, and waits until it has loaded.
func (b *Browser) Open(path string) {
	b.t.Helper()
	if !strings.Contains(path, ":") {
		path = "file://" + path
	}
	b.Follow(func() { b.Call("Page.navigate", map[string]any{"url": path}, nil) })
}

// Follow does what leads to another page, and waits until that has loaded.
func (b *Browser) Follow(leads func()) {
	b.t.Helper()
	for len(b.loaded) > 0 {
		<-b.loaded
	}
	leads()
	select {
	case <-b.loaded:
	case <-time.After(time.Minute):
		b.t.Fatal("the page did not load")
	}
}

// Eval runs JavaScript in the page and decodes its value; promises are waited for.
func (b *Browser) Eval(expression string, into any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if into != nil {
		if err := json.Unmarshal(r.Result.Value, into); err != nil {
			b.t.Fatalf("%s: %s: %v", expression, r.Result.Value, err)
		}
	}
}

// Look sets the window's size in CSS pixels and the colour scheme.
func (b *Browser) Look(width, height int, scheme string) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
	}, nil)
	b.Call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// Shoot keeps a picture where the person running the test asked for one.
func (b *Browser) Shoot(file string) {
	b.t.Helper()
	var r struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &r)
	if err := os.WriteFile(file, r.Data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// Complaints returns what the browser's console has said so far.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.console...)
}
