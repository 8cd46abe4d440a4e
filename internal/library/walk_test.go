package library

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files, folders ("name/"), links ("name -> target") and ignore files ("name = line|line") below a new
// folder.
func tree(t *testing.T, lines ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		path, target, link := strings.Cut(line, " -> ")
		path, content, list := strings.Cut(path, " = ")
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		switch {
		case link:
			err = os.Symlink(filepath.FromSlash(target), full)
		case list:
			err = os.WriteFile(full, []byte(strings.ReplaceAll(content, "|", "\n")), 0o600)
		case strings.HasSuffix(path, "/"):
			err = os.MkdirAll(full, 0o700)
		default:
			err = os.WriteFile(full, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// walk gives one line per file, "path" or "path: reason", and per error.
func walk(t *testing.T, root string, paths []string, o Options) []string {
	t.Helper()
	roots := make([]string, len(paths))
	for i, p := range paths {
		roots[i] = filepath.Join(root, filepath.FromSlash(p))
	}
	var got []string
	err := Walk(t.Context(), roots, o, func(d Dir) error {
		for _, f := range d.Files {
			if f.Name != filepath.Base(f.Path) || filepath.Dir(f.Path) != filepath.Clean(d.Path) {
				t.Errorf("%q in %q is called %q", f.Path, d.Path, f.Name)
			}
			if f.IsDir && f.Skip == "" {
				t.Errorf("%q is a folder without a reason", f.Path)
			}
			rel, err := filepath.Rel(root, f.Path)
			if err != nil {
				t.Error(err)
			}
			line := filepath.ToSlash(rel)
			if f.IsDir {
				line += "/"
			}
			if f.Skip != "" {
				line += ": " + strings.ReplaceAll(f.Skip.String(), root+string(filepath.Separator), "")
			}
			got = append(got, line)
		}
		if d.Err != nil {
			rel, _ := filepath.Rel(root, d.Path)
			why := "error"
			if errors.Is(d.Err, fs.ErrNotExist) {
				why = "does not exist"
			} else if errors.Is(d.Err, fs.ErrPermission) {
				why = "not permitted"
			}
			got = append(got, filepath.ToSlash(rel)+"! "+why)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestWalk(t *testing.T) {
	tests := []struct {
		name     string
		tree     []string
		roots    []string // default: the whole
		excludes []string
		want     []string
		links    bool
	}{
		{
			name: "files before folders, both in byte order",
			tree: []string{"b/2.mkv", "b/10.mkv", "B/1.mkv", "a.mkv", "Z.mkv", "é.mkv", "b/c/1.mkv", "b.mkv"},
			want: []string{"Z.mkv", "a.mkv", "b.mkv", "é.mkv", "B/1.mkv", "b/10.mkv", "b/2.mkv", "b/c/1.mkv"},
		},
		{
			name: "only media, in any case; sidecars in silence",
			tree: []string{
				"1.MKV", "1.srt", "1.ass", "1.nfo", "poster.jpg", "2.m2ts", "notes.txt", "3.strm", "mkv", "4.part",
				"x.mkv/5.mp4", "empty/",
			},
			want: []string{"1.MKV", "2.m2ts", "3.strm", "x.mkv/5.mp4"},
		},
		{
			name: "by name",
			tree: []string{
				"Show/Show - 01.mkv", "Show/Show - NCOP1.mkv", "Show/sample.mkv", "Show/Show-trailer.mp4",
				"Show/._Show - 01.mkv", "Show/[Grp] Show [Menu].mkv",
			},
			want: []string{
				"Show/._Show - 01.mkv: macOS metadata", "Show/Show - 01.mkv",
				"Show/Show - NCOP1.mkv: creditless opening or ending", "Show/Show-trailer.mp4: trailer",
				"Show/[Grp] Show [Menu].mkv: disc menu", "Show/sample.mkv: sample",
			},
		},
		{
			name: "hidden and system folders are named, not entered",
			tree: []string{
				"@eaDir/1.mkv", "#recycle/1.mkv", ".Trash/1.mkv", ".Trash-1000/1.mkv", ".hidden/1.mkv",
				"Show/@eaDir/1.mkv", "$RECYCLE.BIN/1.mkv", "lost+found/1.mkv",
			},
			want: []string{
				"#recycle/: system folder", "$RECYCLE.BIN/: system folder", ".Trash/: system folder",
				".Trash-1000/: system folder", ".hidden/: hidden folder", "@eaDir/: system folder", "lost+found/: system folder",
				"Show/@eaDir/: system folder",
			},
		},
		{
			name: "a title may start with a dot",
			tree: []string{".hack SIGN/01.mkv", ".hack__ROOTS/01.mkv", ".hack/02.mkv", ".hack - 01.mkv"},
			want: []string{".hack - 01.mkv", ".hack/02.mkv", ".hack SIGN/01.mkv", ".hack__ROOTS/01.mkv"},
		},
		{
			name: "extras beside seasons, in a film's folder, below a series",
			tree: []string{
				"Show/Season 1/1.mkv", "Show/Extras/a.mkv", "Show/Extras/deep/b.mkv", "Show/Season 1/Menus/c.mkv",
				"Film (2001)/Film.mkv", "Film (2001)/Featurettes/d.mkv", "Other/BD/1.mkv", "Other/特典映像/e.mkv",
				"Show/Specials/s.mkv", "Film (2001)/Other/f.mkv", "Show/Scenes/g.mkv",
			},
			want: []string{
				"Film (2001)/Film.mkv", "Film (2001)/Featurettes/d.mkv: in a folder of extras",
				"Film (2001)/Other/f.mkv: in a folder of extras", "Other/BD/1.mkv",
				"Other/特典映像/e.mkv: in a folder of extras", "Show/Extras/a.mkv: in a folder of extras",
				"Show/Extras/deep/b.mkv: in a folder of extras", "Show/Scenes/g.mkv: in a folder of extras", "Show/Season 1/1.mkv",
				"Show/Season 1/Menus/c.mkv: in a folder of extras", "Show/Specials/s.mkv",
			},
		},
		{
			name: "series called Extras and Sample in a library of series",
			tree: []string{"Extras/Season 1/1.mkv", "Sample/01.mkv", "Trailer/Trailer.S01E01.mkv", "Show/Season 1/1.mkv"},
			want: []string{"Extras/Season 1/1.mkv", "Sample/01.mkv", "Show/Season 1/1.mkv", "Trailer/Trailer.S01E01.mkv"},
		},
		{
			name: "series called Extras in a flat library",
			tree: []string{"Film.mkv", "Extras/Season 1/1.mkv", "Bonus/Bonus (2004) - S01E01.mkv", "Menu/b.mkv"},
			want: []string{
				"Film.mkv", "Bonus/Bonus (2004) - S01E01.mkv", "Extras/Season 1/1.mkv",
				"Menu/b.mkv: in a folder of extras",
			},
		},
		{
			name: "series called Extras in a shelf of a library; a series' extras by season",
			tree: []string{"TV/Extras/Season 1/1.mkv", "TV/Show/Season 1/1.mkv", "TV/Show/Extras/Season 1/e.mkv"},
			want: []string{
				"TV/Extras/Season 1/1.mkv", "TV/Show/Extras/Season 1/e.mkv: in a folder of extras",
				"TV/Show/Season 1/1.mkv",
			},
		},
		{
			name: "a root is taken at its word",
			tree: []string{
				"Show/Season 1/1.mkv", "Show/Extras/a.mkv", ".hidden/1.mkv", "@eaDir/1.mkv",
				".anivaultignore = Show/",
			},
			roots: []string{"Show/Extras", ".hidden", "@eaDir"},
			want:  []string{"Show/Extras/a.mkv", ".hidden/1.mkv", "@eaDir/1.mkv"},
		},
		{
			name:     "files that are named",
			tree:     []string{"a.mkv", "b.srt", "c.txt", "sample.mkv", ".hack.mkv", "d.mkv", ".anivaultignore = a.mkv"},
			roots:    []string{"d.mkv", "a.mkv", "b.srt", "c.txt", "sample.mkv", ".hack.mkv", "none.mkv"},
			excludes: []string{"/d.*"},
			want: []string{
				"d.mkv: excluded by --exclude /d.*", "a.mkv", "b.srt: belongs to a video", "c.txt: not a video file",
				"sample.mkv: sample", ".hack.mkv", "none.mkv! does not exist",
			},
		},
		{
			name:  "overlapping roots once",
			tree:  []string{"Show/1.mkv", "Show/2.mkv", "Show/x.txt", "a.mkv", ".h/1.mkv"},
			roots: []string{"Show/2.mkv", "Show", ".", "Show", "Show/1.mkv", "a.mkv", "Show/x.txt", "Show/x.txt", ".h"},
			want: []string{
				"Show/2.mkv", "Show/1.mkv", ".h/: hidden folder", "a.mkv", "Show/x.txt: not a video file",
				".h/1.mkv",
			},
		},
		{
			name:  "a root that does not exist",
			tree:  []string{"a.mkv"},
			roots: []string{"nowhere", "a.mkv"},
			want:  []string{"nowhere! does not exist", "a.mkv"},
		},
		{
			name: "ignore files, nested, negated, above the root",
			tree: []string{
				".anivaultignore = # mine|*.avi|/raw/|!keep.avi||tmp/**/x.mkv", "a.avi", "keep.avi", "raw/1.mkv", "Show/raw/1.mkv",
				"Show/b.avi",
				"Show/.anivaultignore = !b.avi|[0-3].mkv", "Show/2.mkv", "Show/4.mkv", "tmp/a/b/x.mkv", "tmp/x.mkv", "tmp/y.mkv",
			},
			want: []string{
				"a.avi: ignored by .anivaultignore:2 (*.avi)", "keep.avi", "raw/: ignored by .anivaultignore:3 (/raw/)",
				"Show/2.mkv: ignored by Show/.anivaultignore:2 ([0-3].mkv)", "Show/4.mkv", "Show/b.avi",
				"Show/raw/1.mkv: ignored by Show/.anivaultignore:2 ([0-3].mkv)",
				"tmp/x.mkv: ignored by .anivaultignore:6 (tmp/**/x.mkv)", "tmp/y.mkv",
				"tmp/a/b/x.mkv: ignored by .anivaultignore:6 (tmp/**/x.mkv)",
			},
		},
		{
			name:  "an ignore file above the root counts",
			tree:  []string{".anivaultignore = Show/raw/|*.avi", "Show/raw/1.mkv", "Show/1.avi", "Show/1.mkv"},
			roots: []string{"Show"},
			want: []string{
				"Show/1.avi: ignored by .anivaultignore:2 (*.avi)", "Show/1.mkv",
				"Show/raw/: ignored by .anivaultignore:1 (Show/raw/)",
			},
		},
		{
			name:     "excludes are relative to the root and win",
			tree:     []string{".anivaultignore = !a.mkv|b.mkv", "a.mkv", "b.mkv", "c/a.mkv", "d/e/1.mkv", "f/e/1.mkv"},
			excludes: []string{"a.mkv", "!b.mkv", "/d/*"},
			want: []string{
				"a.mkv: excluded by --exclude a.mkv", "b.mkv", "c/a.mkv: excluded by --exclude a.mkv",
				"d/e/: excluded by --exclude /d/*", "f/e/1.mkv",
			},
		},
		{
			name: "links to files and folders elsewhere are followed, loops end", links: true,
			tree: []string{
				"lib/Show/1.mkv", "lib/Show/self -> .", "lib/Show/up -> ../..", "lib/Show/lib -> ..",
				"lib/x -> Show", "out/2.mkv", "out/back -> ../lib", "out/round -> .", "lib/far -> ../out", "lib/far2 -> ../out",
				"lib/2.mkv -> ../out/2.mkv", "lib/dead.mkv -> nowhere", "lib/dead -> nowhere",
			},
			roots: []string{"lib"},
			want: []string{
				"lib/2.mkv", "lib/dead.mkv: link to nothing", "lib/x/: link to a folder that is scanned anyway",
				"lib/Show/1.mkv", "lib/Show/lib/: link to a folder that is scanned anyway",
				"lib/Show/self/: link to a folder that is scanned anyway",
				"lib/Show/up/: link to a folder that is scanned anyway",
				"lib/far/2.mkv", "lib/far/back/: link to a folder that is scanned anyway",
				"lib/far/round/: link to a folder that is scanned anyway",
			},
		},
		{
			name: "a link into a hidden place is followed; links in circles; a link as root", links: true,
			tree: []string{
				"lib/.store/Show/1.mkv", "lib/Show -> .store/Show", "lib/a -> b", "lib/b -> a", "lib/c.mkv -> c.mkv",
				"root -> lib",
			},
			roots: []string{"root"},
			want:  []string{"root/.store/: hidden folder", "root/c.mkv: link to nothing", "root/Show/1.mkv"},
		},
		{
			name:  "a link to nothing that is named, as in the output of find, is left out as in a walk, and told once",
			links: true,
			tree:  []string{"lib/1.mkv", "lib/dead.mkv -> nowhere"},
			roots: []string{"lib/dead.mkv", "lib/1.mkv", "lib/dead.mkv", "lib"},
			want:  []string{"lib/dead.mkv: link to nothing", "lib/1.mkv"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && tt.links {
				t.Skip("links need a privilege on Windows")
			}
			roots := tt.roots
			if roots == nil {
				roots = []string{"."}
			}
			got := walk(t, tree(t, tt.tree...), roots, Options{Excludes: tt.excludes})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAwkwardNamesArePreserved(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a file system that takes any byte")
	}
	names := []string{
		"two\nlines.mkv", "bytes \xff\xfe.mkv", strings.Repeat("n", 251) + ".mkv", " .mkv", "\\.mkv",
		"tab\t\x1b[31m.mkv", strings.Repeat("가", 83) + ".mkv",
	}
	root := tree(t)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := Walk(t.Context(), []string{root}, Options{}, func(d Dir) error {
		for _, f := range d.Files {
			if _, err := os.Stat(f.Path); err != nil {
				t.Error(err)
			}
			got = append(got, f.Name)
		}
		return nil
	})
	slices.Sort(names)
	if diff := cmp.Diff(names, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestUnreadableFoldersAreOneErrorEach(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("nothing is unreadable here")
	}
	root := tree(t, "a/1.mkv", "b/secret/1.mkv", "c/1.mkv", "d/.anivaultignore = x", "d/1.mkv")
	for _, dir := range []string{"b/secret", "d/.anivaultignore"} {
		if err := os.Chmod(filepath.Join(root, dir), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "b/secret"), 0o700) })
	want := []string{"a/1.mkv", "b/secret! not permitted", "c/1.mkv", "d/1.mkv", "d! not permitted"}
	if diff := cmp.Diff(want, walk(t, root, []string{"."}, Options{})); diff != "" {
		t.Error(diff)
	}
}

func TestSizesAndTimes(t *testing.T) {
	root := tree(t, "zero.mkv", "some.mkv = 12345")
	sizes := map[string]int64{}
	err := Walk(t.Context(), []string{root}, Options{}, func(d Dir) error {
		for _, f := range d.Files {
			sizes[f.Name] = f.Size
			if f.ModTime.IsZero() || f.Skip != "" {
				t.Errorf("%+v", f)
			}
		}
		return nil
	})
	if diff := cmp.Diff(map[string]int64{"zero.mkv": 0, "some.mkv": 5}, sizes); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestTheWalkStopsOnRequest(t *testing.T) {
	root := tree(t, "a/1.mkv", "b/1.mkv", "c/1.mkv")
	want := errors.New("enough")
	calls := 0
	err := Walk(t.Context(), []string{root}, Options{}, func(Dir) error {
		if calls++; calls == 2 {
			return want
		}
		return nil
	})
	if !errors.Is(err, want) || calls != 2 {
		t.Errorf("%v after %d", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	err = Walk(ctx, []string{root}, Options{}, func(Dir) error { calls++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%v after %d", err, calls)
	}
}

func TestBadExcludesAreRefusedBeforeAnythingIsRead(t *testing.T) {
	for _, glob := range []string{"", "/", "!", "# x", "[a", "a[!", `a\`, "[[:what:]]", "a/[b/c"} {
		err := Walk(t.Context(), []string{t.TempDir()}, Options{Excludes: []string{glob}},
			func(Dir) error { t.Error("yielded"); return nil })
		var bad *PatternError
		if !errors.As(err, &bad) || bad.Pattern != glob || !strings.Contains(err.Error(), fmt.Sprintf("%q", glob)) {
			t.Errorf("%q: got %v", glob, err)
		}
	}
}

func TestATooLargeIgnoreFileIsReported(t *testing.T) {
	root := tree(t, "1.mkv")
	if err := os.WriteFile(filepath.Join(root, IgnoreFile), make([]byte, maxIgnoreFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1.mkv", ".! error"}, walk(t, root, []string{"."}, Options{})); diff != "" {
		t.Error(diff)
	}
}

func TestTheEmptyPathIsAnError(t *testing.T) {
	var got error
	if err := Walk(t.Context(), []string{""}, Options{}, func(d Dir) error { got = d.Err; return nil }); err != nil ||
		!errors.Is(got, fs.ErrNotExist) {
		t.Errorf("%v, %v", err, got)
	}
}

// Roots that come one by one: what `find` prints names every folder and, after it or with -depth before it, all that
// is in it.
func TestFilesListedTwiceAreYieldedOnce(t *testing.T) {
	root := tree(t, "a/01.mkv", "a/b/02.mkv", "a/b/.hidden/03.mkv", "a/b/note.txt", "c/04.mkv")
	for name, list := range map[string][]string{
		"folders first": {
			"a", "a/01.mkv", "a/b", "a/b/02.mkv", "a/b/note.txt", "a/b/.hidden", "a/b/.hidden/03.mkv", "c",
			"c/04.mkv",
		},
		"folders last": {
			"a/01.mkv", "a/b/02.mkv", "a/b/note.txt", "a/b/.hidden/03.mkv", "a/b/.hidden", "a/b", "a",
			"c/04.mkv", "c",
		},
		"twice": {
			"a/b", "a/b", "a", "c/04.mkv", "c/../c/04.mkv", "a/b/.hidden/03.mkv", "a/b/.hidden/03.mkv",
			"a/b/note.txt", "a/b/note.txt",
		},
	} {
		var got []string
		w, err := NewWalker(Options{}, func(d Dir) error {
			for _, f := range d.Files {
				if !f.IsDir {
					got = append(got, f.Name)
				}
			}
			return d.Err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range list {
			if err := w.Root(t.Context(), filepath.Join(root, filepath.FromSlash(path))); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"01.mkv", "02.mkv", "03.mkv", "04.mkv", "note.txt"}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
