package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/cli"
	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/upstream"
)

// twenty are series of the stand-in's catalogue, each found by its name alone.
var twenty = []string{
	"Cowboy Bebop", "Death Note", "Steins Gate", "Mob Psycho 100", "Naruto", "Bleach", "Hunter x Hunter", "Dragon Ball",
	"Haikyu!!", "Chainsaw Man",
	"Vinland Saga", "Made in Abyss", "Toradora!", "Clannad", "Gurren Lagann", "Trigun", "Odd Taxi", "Delicious in Dungeon",
	"Your Lie in April", "Spy x Family",
}

// outage is a library of 200 files and a stand-in that suffers.
type outage struct {
	t    *testing.T
	fake *tmdbfake.Fake
	lib  string
}

func newOutage(t *testing.T) *outage {
	t.Helper()
	fake, err := tmdbfake.New(tmdbfake.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "", "XDG_STATE_HOME": "", "XDG_DATA_HOME": "",
		"LocalAppData": home, "AppData": home,
		"ANIVAULT_TMDB_TOKEN": "outage-token", "ANIVAULT_TMDB_BASE_URL": server.URL(),
	} {
		t.Setenv(name, value)
	}
	o := &outage{t, fake, filepath.Join(home, "lib")}
	for _, title := range twenty {
		for n := 1; n <= 10; n++ {
			path := filepath.Join(o.lib, title, fmt.Sprintf("%s - %02d.mkv", title, n))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o
}

// run runs anivault and returns its exit status and the statuses of the files by their path.
func (o *outage) run(args ...string) (status int, files map[string]string) {
	o.t.Helper()
	var out, errs bytes.Buffer
	status = cli.Main(context.Background(), args, ui.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	files = map[string]string{}
	for _, line := range strings.Split(out.String(), "\n") {
		var r struct{ Type, Path, Status string }
		if json.Unmarshal([]byte(line), &r) == nil && r.Type == "match" {
			files[r.Path] = r.Status
		}
	}
	return status, files
}

// good tells whether the stand-in's answer is one: a gzip body without its header is.
func good(e tmdbfake.Entry) bool {
	return e.Status == 200 && (e.Fault == "" || e.Fault == "gzip_headerless")
}

func TestOutagesDuringAMatchOf200Files(t *testing.T) {
	for _, preset := range []string{"outage-60s", "gzip-bug", "poison", "flap", "maintenance-20m"} {
		t.Run(preset, func(t *testing.T) {
			o := newOutage(t)
			var known []string // half of the library is cached before the trouble begins
			for _, title := range twenty[:10] {
				known = append(known, filepath.Join(o.lib, title))
			}
			if status, files := o.run(append([]string{"match", "--quiet"}, known...)...); status != 0 || len(files) != 100 {
				t.Fatalf("before the trouble: exit %d, %d files", status, len(files))
			}
			scenario, err := upstream.Preset(preset)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.fake.Apply(scenario); err != nil {
				t.Fatal(err)
			}
			status, files := o.run("match", "--quiet", "--max-wait", "1s", o.lib)
			pending := 0
			for path, s := range files {
				cached := liesBelow(known, path)
				switch {
				case s == "pending" && !cached:
					pending++
				case s != "matched":
					t.Errorf("%s is %s", path, s)
				}
			}
			if len(files) != 200 || (status == 4) != (pending > 0) || (status != 0 && status != 4) {
				t.Errorf("in the trouble: exit %d, %d files, %d pending", status, len(files), pending)
			}
			if preset == "gzip-bug" && pending > 0 {
				t.Errorf("%d files pending for want of a header", pending)
			}

			if err := o.fake.Apply(upstream.Scenario{}); err != nil {
				t.Fatal(err)
			}
			o.run("limiter", "reset", "--force", "--quiet")
			if status, _ := o.run("cache", "verify", "--quiet"); status != 0 {
				t.Error("something spoiled is in the cache")
			}
			status, files = o.run("match", "--quiet", o.lib)
			for path, s := range files {
				if s != "matched" {
					t.Errorf("afterwards %s is %s", path, s)
				}
			}
			if status != 0 || len(files) != 200 {
				t.Errorf("afterwards: exit %d, %d files", status, len(files))
			}
			answered := map[string]bool{}
			for _, e := range o.fake.Journal() {
				question := e.Path + "?" + e.Query
				if answered[question] {
					t.Errorf("asked again though it was answered: %s", question)
				}
				answered[question] = good(e)
			}
		})
	}
}

// liesBelow reports whether path lies below one of the folders.
func liesBelow(folders []string, path string) bool {
	for _, f := range folders {
		if strings.HasPrefix(path, f+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
