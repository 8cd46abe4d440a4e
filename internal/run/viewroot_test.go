package run

import (
	"path/filepath"
	"testing"

	"github.com/anivault/anivault/internal/run/results"
)

func TestNamesAreReadFromTheNamedPathDownwards(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "Akira", "Anime")
	t.Chdir(home)
	for _, row := range []struct {
		name, path, want string
		roots            []string
	}{
		{"from the root's own folder on", "alice/Videos/zz.mkv", "Videos/zz.mkv", []string{"alice/Videos"}},
		{"an absolute root", filepath.Join(dir, "Show", "01.mkv"), "Anime/Show/01.mkv", []string{dir}},
		{"a root with a slash at its end", "alice/Videos/Show/01.mkv", "Videos/Show/01.mkv", []string{"alice/Videos/"}},
		{"the current folder", "Show/01.mkv", filepath.Base(home) + "/Show/01.mkv", []string{"."}},
		{"a file alone: with its folder", "alice/Show/01.mkv", "Show/01.mkv", []string{"alice/Show/01.mkv"}},
		{
			"a season's folder: with the one above", "alice/Show/Season 2/01.mkv", "Show/Season 2/01.mkv",
			[]string{"alice/Show/Season 2"},
		},
		{"a file in a season's folder", "alice/Show/Season 2/01.mkv", "Show/Season 2/01.mkv", nil},
		{"the file system's root", "/Show/01.mkv", "Show/01.mkv", []string{"/"}},
		{"a file in the file system's root", "/01.mkv", "01.mkv", []string{"/"}},
		{"a season's folder in the file system's root", "/Season 2/01.mkv", "Season 2/01.mkv", []string{"/Season 2"}},
		{
			"the folder above the current one", "../Show/01.mkv", filepath.Base(filepath.Dir(home)) + "/Show/01.mkv",
			[]string{".."},
		},
		{"a season below the root stays", "lib/Season 2/x/01.mkv", "lib/Season 2/x/01.mkv", []string{"lib"}},
		{"the outer of two roots", "lib/Show/01.mkv", "lib/Show/01.mkv", []string{"lib/Show", "lib"}},
	} {
		abs, err := filepath.Abs(row.path)
		if err != nil {
			t.Fatal(err)
		}
		f := results.Folder{AbsDir: filepath.Dir(abs)}
		f.NamePrefix = namePrefix(row.roots, filepath.Dir(filepath.FromSlash(row.path)), f.AbsDir)
		if got := new(pipeline).parsedPrefix(&f) + filepath.Base(abs); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
