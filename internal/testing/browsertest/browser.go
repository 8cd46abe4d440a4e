// Package browsertest opens pages in a real headless Chromium. Only tests import it.
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

// Browser is a headless Chromium with one open page. It is controlled through a pair of pipes (DevTools protocol,
// messages end with a zero byte), so it needs no port.
type Browser struct {
	t       *testing.T
	send    *os.File
	session string

	mu      sync.Mutex
	lastID  int
	pending map[int]chan answer
	loaded  chan struct{}
	console []string // errors, warnings and blocked requests, as the browser reports them
}

type answer struct {
	result json.RawMessage
	err    error
}

// Start starts a browser. It skips the test if there is no Chromium.
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
	profile, err := os.MkdirTemp("", "anivault-browser-") // t.TempDir would remove it while the browser is still exiting
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
	b := &Browser{t: t, send: ourOut, pending: map[int]chan answer{}, loaded: make(chan struct{}, 16)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.read(ourIn)
	}()
	t.Cleanup(func() {
		_, _ = b.request("", "Browser.close", nil)
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

// read handles the browser's messages until its pipe ends.
func (b *Browser) read(from *os.File) {
	r := bufio.NewReader(from)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			for _, c := range b.pending {
				c <- answer{err: errors.New("the browser is gone")}
			}
			b.pending = map[int]chan answer{}
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
			if c := b.pending[m.ID]; c != nil {
				delete(b.pending, m.ID)
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
		case m.Method == "Log.entryAdded" && isRemark(m.Params):
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded", m.Method == "Runtime.consoleAPICalled":
			b.console = append(b.console, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// isRemark reports whether an entry of the browser's log is neither an error nor a warning, such as the one about
// "autofocus" when a key was pressed before it.
func isRemark(params json.RawMessage) bool {
	var log struct{ Entry struct{ Level string } }
	return json.Unmarshal(params, &log) == nil && (log.Entry.Level == "info" || log.Entry.Level == "verbose")
}

func (b *Browser) request(session, method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	b.lastID++
	id, c := b.lastID, make(chan answer, 1)
	b.pending[id] = c
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
		delete(b.pending, id)
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
	result, err := b.request(session, method, params)
	if err == nil && into != nil {
		err = json.Unmarshal(result, into)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// Call calls a DevTools method on the page. It decodes the reply into result, if not nil.
func (b *Browser) Call(method string, params, result any) {
	b.t.Helper()
	b.call(b.session, method, params, result)
}

// GrantPermissions gives pages permissions for which a user would be asked.
func (b *Browser) GrantPermissions(permissions ...string) {
	b.t.Helper()
	b.call("", "Browser.grantPermissions", map[string]any{"permissions": permissions}, nil)
}

// Press presses and releases a key. code is its key code, 0 for a key that types a character.
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

// Open opens a file or a URL and waits until it has loaded.
func (b *Browser) Open(path string) {
	b.t.Helper()
	if !strings.Contains(path, ":") {
		path = "file://" + path
	}
	b.AwaitLoad(func() { b.Call("Page.navigate", map[string]any{"url": path}, nil) })
}

// AwaitLoad calls action, which must cause another page to load, and waits until it has loaded.
func (b *Browser) AwaitLoad(action func()) {
	b.t.Helper()
	for len(b.loaded) > 0 {
		<-b.loaded
	}
	action()
	select {
	case <-b.loaded:
	case <-time.After(time.Minute):
		b.t.Fatal("the page did not load")
	}
}

// Eval runs JavaScript in the page, awaits a promise, and decodes the value into result, if not nil.
func (b *Browser) Eval(expression string, result any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %s: %v", expression, r.Result.Value, err)
		}
	}
}

// SetViewport sets the window's size in CSS pixels, and the colour scheme.
func (b *Browser) SetViewport(width, height int, scheme string) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
	}, nil)
	b.Call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// Screenshot writes a picture of the whole page to a PNG file.
func (b *Browser) Screenshot(file string) {
	b.t.Helper()
	var r struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &r)
	if err := os.WriteFile(file, r.Data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// ConsoleErrors returns what the browser's console has reported so far.
func (b *Browser) ConsoleErrors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.console...)
}
