package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/tmdbfake"
)

// orderedFiles are of shows that TMDB, TVDB and AniDB number differently: cours that TMDB merges, seasons that TVDB
// merges, a long runner whose numbers go on at TMDB, seasons of TVDB by pairs, and specials; halves that TVDB and AniDB
// split, numbers over all seasons, an OVA, and two episodes that are one elsewhere. The last is in no list.
var orderedFiles = []string{
	"Copper Tide/Copper Tide S01E01.mkv", "Copper Tide/Copper Tide S01E06.mkv", "Copper Tide/Copper Tide S01E07-E08.mkv",
	"Copper Tide/Copper Tide S01E07-E08.ko.ass",
	"Copper Tide/Copper Tide S01E12.mkv",
	"Copper Tide/Copper Tide S00E01.mkv",
	"Copper Tide/Copper Tide S00E02.mkv", "Copper Tide/Copper Tide S00E03.mkv",
	"Paper Moths/Paper Moths S01E01.mkv", "Paper Moths/Paper Moths S01E04.mkv", "Paper Moths/Paper Moths S02E01.mkv",
	"Paper Moths/Paper Moths S02E03-E04.mkv",
	"Ashen Ferry/Ashen Ferry S01E01.mkv", "Ashen Ferry/Ashen Ferry S01E07.mkv", "Ashen Ferry/Ashen Ferry S01E08.mkv",
	"Ashen Ferry/Ashen Ferry S02E11.mkv", "Ashen Ferry/Ashen Ferry S02E20.mkv",
	"Nine Pillars/Nine Pillars S01E04.mkv",
	"Nine Pillars/Nine Pillars S01E05.mkv",
	"Nine Pillars/Nine Pillars S01E08.mkv",
	"Silver Ladder/Silver Ladder S01E12.mkv", "Silver Ladder/Silver Ladder S01E13.mkv",
	"Quiet Reactor/Quiet Reactor S01E05.mkv", "Quiet Reactor/Quiet Reactor S03E02.mkv",
	"Lantern Bay/Lantern Bay S01E06.mkv", "Lantern Bay/Lantern Bay S02E01.mkv",
	"Hollow Kiln/Hollow Kiln S01E03.mkv", "Hollow Kiln/Hollow Kiln S00E01.mkv",
	"Tin Orchard/Tin Orchard S01E01-E02.mkv", "Tin Orchard/Tin Orchard S01E03.mkv",
	"Velvet Larks/Velvet Larks S01E02.mkv",
}

// newOrderedShelf makes a shelf whose src has orderedFiles, and a stand-in that has their shows.
func newOrderedShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, dir: t.TempDir()}
	var works []tmdbfake.Work
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for d := json.NewDecoder(bytes.NewReader(read("ordered_works.jsonl"))); d.More(); {
		w := tmdbfake.Work{Language: "en", Country: "US", Status: "Ended", Type: "Scripted", Genres: []int{16}}
		if err := d.Decode(&w); err != nil {
			t.Fatal(err)
		}
		w.Original = w.Name
		works = append(works, w)
	}
	cat, err := tmdbfake.NewCatalogue(works)
	if err != nil {
		t.Fatal(err)
	}
	fake, err := tmdbfake.New(tmdbfake.Config{Catalogue: cat})
	if err != nil {
		t.Fatal(err)
	}
	server, err := fake.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	s.env = []string{"ANIVAULT_TMDB_BASE_URL=" + server.URL(), "ANIVAULT_TMDB_TOKEN=a-token-of-tests"}
	for i, name := range append(slices.Clone(orderedFiles), "../lib/", "../list.xml") {
		path := filepath.Join(s.dir, "src", name)
		text := fmt.Append(nil, "file ", i)
		if filepath.Base(name) == "list.xml" {
			text = read("ordered_list.xml")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.must("index", "import", "list.xml")
	s.before = s.tree(false)
	return s
}

// places are TMDB's numbers of each video below a folder, by inode, as match prints them.
func (s *shelf) places(folder string) map[uint64]string {
	s.t.Helper()
	var out bytes.Buffer
	cmd := s.program("match", "-q", "--format", "ndjson", folder)
	if cmd.Stdout = &out; cmd.Run() != nil {
		s.t.Fatal(out.String())
	}
	got := map[uint64]string{}
	for line := range strings.Lines(out.String()) {
		var r report.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.t.Fatal(err)
		}
		if r.Path == "" {
			continue
		}
		place := "none"
		if r.Orders != nil && r.Orders.TMDB != nil {
			place = fmt.Sprint(*r.Orders.TMDB)
		}
		got[s.inode(r.Path)] = fmt.Sprint(r.Status, " ", r.TMDBID, " ", place)
	}
	return got
}

func (s *shelf) inode(path string) uint64 {
	s.t.Helper()
	info, err := os.Stat(filepath.Join(s.dir, path))
	if err != nil {
		s.t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino //nolint:forcetypeassert // on Linux
}

// planned returns how many files organize would do something with.
func (s *shelf) planned(args ...string) int {
	s.t.Helper()
	var out bytes.Buffer
	cmd := s.program(append([]string{"organize", "--format", "ndjson"}, args...)...)
	if cmd.Stdout = &out; cmd.Run() != nil {
		s.t.Fatalf("%q: %s", args, out.String())
	}
	return strings.Count(out.String(), `"status":"planned"`)
}

// pin says of each folder of the library in which order its names are.
func (s *shelf) pin(order string) {
	s.t.Helper()
	for id, title := range map[int]string{
		8001: "Copper Tide", 8002: "Paper Moths", 8003: "Ashen Ferry", 8004: "Nine Pillars", 8005: "Velvet Larks",
		8006: "Silver Ladder", 8007: "Quiet Reactor", 8008: "Lantern Bay", 8009: "Hollow Kiln", 8010: "Tin Orchard",
	} {
		found, _ := filepath.Glob(filepath.Join(s.dir, "lib", title+"*"))
		for _, folder := range found {
			s.must("pin", folder, fmt.Sprint("tv/", id), "--order", order)
		}
	}
}

func (s *shelf) unpin() {
	pins, _ := filepath.Glob(filepath.Join(s.dir, ".local", "share", "anivault", "pins.txt"))
	for _, file := range pins {
		if err := os.Remove(file); err != nil {
			s.t.Fatal(err)
		}
	}
}

// videos are the names below a folder.
func (s *shelf) videos(folder string) (out []string) {
	_ = filepath.WalkDir(filepath.Join(s.dir, folder), func(p string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(p) == ".mkv" {
			out = append(out, strings.TrimPrefix(p, filepath.Join(s.dir, folder)+"/"))
		}
		return err
	})
	return out
}

// A library goes through every order in every layout and back, byte for byte. In between match reads each file as the
// episode that it is, and a second run finds nothing to do.
func TestALibraryGoesThroughEveryOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the program a hundred times")
	}
	s := newOrderedShelf(t)
	want := s.places("src")
	for inode, place := range want {
		if strings.HasSuffix(place, "none") {
			t.Fatalf("%d is %s", inode, place)
		}
	}
	orders := []string{"tmdb", "tvdb", "anidb", "absolute", "group:Arcs"}
	count := map[string]int{"tmdb": 30, "tvdb": 27, "anidb": 29, "absolute": 26, "group:Arcs": 5}
	for _, layout := range organize.LayoutNames() {
		if layout == organize.CustomLayout {
			continue
		}
		for _, order := range orders {
			t.Run(layout+" "+order, func(t *testing.T) {
				s.t = t
				to := []string{"--layout", layout, "--order", order}
				l, err := organize.NewLayout(layout, organize.Templates{})
				if err != nil {
					t.Fatal(err)
				}
				if l.RefuseOrder(order) != "" {
					out, _ := s.program(append([]string{"organize", "src", "--to", "lib"}, to...)...).CombinedOutput()
					if !bytes.Contains(out, []byte("can't have the order")) {
						t.Fatalf("%s", out)
					}
					return
				}
				s.must(append([]string{"organize", "src", "--to", "lib", "--yes", "--nfo", "full"}, to...)...)
				if got := s.videos("lib"); len(got) != count[order] {
					t.Errorf("%d videos: %q", len(got), got)
				}
				if again := s.planned(append([]string{"src", "--to", "lib", "--nfo", "full"}, to...)...); again != 0 {
					t.Errorf("%d files are planned again", again)
				}
				// Names without an id of the order's catalogue are read as TMDB's numbers, unless a pin says otherwise.
				tagged := order == "tmdb" || !l.NFOByDefault && (order == "tvdb" || order == "anidb")
				if !tagged {
					s.pin(order)
				}
				got := s.places("lib")
				for inode := range got {
					if got[inode] != want[inode] {
						t.Errorf("%d is %s, not %s", inode, got[inode], want[inode])
					}
				}
				if again := s.planned(append([]string{"lib", "--to", "lib", "--in-place"}, to...)...); again != 0 {
					t.Errorf("%d files are planned again in place", again)
				}
				s.unpin()
				s.must("undo")
				s.is(s.before, false, "after undo")
			})
		}
	}
	s.t = t
	for _, layout := range []string{"jellyfin", "plex"} {
		earlier := s.journals()
		s.must("organize", "src", "--to", "lib", "--layout", layout, "--mode", "move", "--yes")
		before := s.tree(false)
		for _, order := range []string{"tvdb", "tmdb", "anidb", "tvdb", "anidb", "tmdb"} {
			if layout == "plex" && order == "anidb" {
				continue
			}
			s.must("organize", "lib", "--to", "lib", "--in-place", "--layout", layout, "--order", order, "--yes")
			s.must("verify")
			if diff := gocmp.Diff(want, s.places("lib")); diff != "" {
				t.Errorf("%s in the order %s: %s", layout, order, diff)
			}
			if order == "tmdb" {
				s.is(before, false, "back in TMDB's order")
			}
		}
		runs, _ := filepath.Glob(filepath.Join(s.dir, ".local", "share", "anivault", "history", "*.journal"))
		changed := func(run string) int64 {
			info, err := os.Stat(run)
			if err != nil {
				t.Fatal(err)
			}
			return info.ModTime().UnixNano()
		}
		slices.SortFunc(runs, func(a, b string) int { return cmp.Compare(changed(a), changed(b)) })
		for _, run := range slices.Backward(runs[earlier:]) {
			s.must("undo", strings.TrimSuffix(filepath.Base(run), ".journal"))
		}
		s.is(s.before, false, "after all undos")
	}
}
