// Package docs_test holds the page about the public packages to code that compiles and runs.
package docs_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

var update = flag.Bool("update", false, "write the quoted examples anew")

// classify tells the limiter what an answer says about TMDB.
func classify(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
	return map[tmdb.Outcome]ratelimit.Outcome{
		tmdb.OutcomeOK: ratelimit.OK, tmdb.OutcomeThrottled: ratelimit.Throttled, tmdb.OutcomeServer: ratelimit.Server,
		tmdb.OutcomeNetwork: ratelimit.Network, tmdb.OutcomeClient: ratelimit.Client, tmdb.OutcomeConfig: ratelimit.Misconfigured,
		tmdb.OutcomeCancelled: ratelimit.Cancelled,
	}[tmdb.Classify(req, resp, body, err)]
}

// newClient puts the three packages together: cache, key guard, limiter, repair, wire.
func newClient(baseURL, token string, answers *cache.Store, limiter *ratelimit.Limiter) (*tmdb.Client, error) {
	limited := &ratelimit.Transport{
		Base: tmdb.NewWire(tmdb.NewHTTPTransport(tmdb.TransportOptions{})), Limiter: limiter, Classify: classify, MaxBody: tmdb.MaxBody,
	}
	cached := &cache.Transport{Store: answers, Next: tmdb.NewKeyGuard(limited), MaxBody: tmdb.MaxBody}
	return tmdb.New(tmdb.Options{
		BaseURL: baseURL, Token: token, HTTPClient: &http.Client{Transport: cached}, OnUndecodable: cached.Forget,
	})
}

func Example_together() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":9000001,"name":"Lantern Keepers"}`)
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "together-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	answers, err := cache.Open(filepath.Join(dir, "cache"), cache.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = answers.Close() }()
	state, err := ratelimit.OpenFileStore(filepath.Join(dir, "state"), ratelimit.FileOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = state.Close() }()
	limiter, err := ratelimit.New(ratelimit.Config{Store: state})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = limiter.Close() }()

	client, err := newClient(server.URL, "a-token", answers, limiter)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		show, resp, err := client.TV(context.Background(), 9000001, tmdb.DetailOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		info, _ := cache.InfoFrom(resp.Response)
		fmt.Println(show.Name, info.Source)
	}
	// Output:
	// Lantern Keepers network
	// Lantern Keepers fresh
}

// explain branches on what went wrong, by type.
func explain(err error) string {
	var (
		refused *tmdb.UnauthorizedError
		setup   *tmdb.ConfigError
		broken  *tmdb.DecodeError
		answer  *tmdb.Error
		blocked *ratelimit.BlockedError
	)
	switch {
	case errors.As(err, &blocked): // nothing was sent
		return fmt.Sprint("not before ", blocked.Until, ": ", blocked.Cause)
	case errors.Is(err, ratelimit.ErrAcquireTimeout), errors.Is(err, ratelimit.ErrBudget), errors.Is(err, cache.ErrWait):
		return "not sent for lack of permission; try again later"
	case errors.Is(err, ratelimit.ErrRequestTimeout):
		return "sent, and no answer in time"
	case errors.As(err, &refused):
		return "the key was refused: " + err.Error()
	case errors.As(err, &setup):
		return "no retry will mend this: " + err.Error()
	case errors.Is(err, tmdb.ErrNotFound):
		return "TMDB has nothing under that id"
	case errors.As(err, &broken):
		return "an HTML page, or half an answer"
	case errors.As(err, &answer):
		return fmt.Sprint("TMDB said ", answer.HTTPStatus, ": ", answer.Message)
	}
	return err.Error()
}

func TestExplain(t *testing.T) {
	for want, err := range map[string]error{
		"not before":   &ratelimit.BlockedError{State: ratelimit.CacheOnly},
		"lack of":      fmt.Errorf("search: %w", &ratelimit.AcquireTimeoutError{}),
		"in time":      &ratelimit.RequestTimeoutError{Err: io.EOF},
		"the key was":  &tmdb.UnauthorizedError{Cause: &tmdb.Error{HTTPStatus: 401}},
		"under that":   &tmdb.Error{HTTPStatus: 404},
		"half an":      &tmdb.DecodeError{Reason: tmdb.ReasonHTML},
		"said 422":     &tmdb.Error{HTTPStatus: 422},
		"no retry":     &tmdb.ConfigError{Kind: tmdb.ConfigUnknownCA},
		io.EOF.Error(): io.EOF,
	} {
		if got := explain(err); !strings.Contains(got, want) {
			t.Errorf("%T: %q", err, got)
		}
	}
}

// quote is a block of packages.md that stands for a function: its body where the name begins with Example, else the
// whole of it.
var quote = regexp.MustCompile("(?s)<!-- (\\S+) (\\S+) -->\n```go\n(.*?)```\n")

// TestPackagesPageQuotesWhatRuns holds every block of Go in packages.md to the function that it quotes.
// After a change: go test ./docs -update
func TestPackagesPageQuotesWhatRuns(t *testing.T) {
	raw, err := os.ReadFile("packages.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(raw), "\r\n", "\n")
	if all, quoted := strings.Count(page, "```go\n"), len(quote.FindAllString(page, -1)); all != quoted || quoted == 0 {
		t.Errorf("%d blocks of Go, %d of which are quoted", all, quoted)
	}
	want := quote.ReplaceAllStringFunc(page, func(block string) string {
		m := quote.FindStringSubmatch(block)
		return fmt.Sprintf("<!-- %s %s -->\n```go\n%s```\n", m[1], m[2], source(t, m[1], m[2]))
	})
	if want == page {
		return
	}
	if !*update {
		t.Error("packages.md does not quote what runs; see: go test ./docs -update, then git diff")
		return
	}
	if err := os.WriteFile("packages.md", []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// source is the text of a function, relative to the repository's root.
func source(t *testing.T, file, name string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != name {
			continue
		}
		if !strings.HasPrefix(name, "Example") {
			return string(src[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset]) + "\n"
		}
		body := string(src[fset.Position(f.Body.Lbrace).Offset+2 : fset.Position(f.Body.Rbrace).Offset])
		return strings.ReplaceAll("\n"+body, "\n\t", "\n")[1:]
	}
	t.Fatalf("%s has no function %s", file, name)
	return ""
}
