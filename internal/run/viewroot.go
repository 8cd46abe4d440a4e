package run

import (
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/internal/release"
)

// readFrom returns a function that cuts a path to the part that is read: from the folder of its root on, or from the file's own
// folder for a path below none of the roots, and from one folder above where that folder only names a season.
//
// What is above a PATH that a person named is not the library's: a login name must not become a title that TMDB is asked
// about, and a result must not depend on how the PATH was spelt. The function is for one goroutine: it caches a folder.
func readFrom(roots []string) func(string) string {
	last, front := "", ""
	return func(path string) string {
		from := filepath.Dir(path)
		for _, r := range roots {
			r = filepath.Clean(r)
			if r != filepath.Clean(path) && below(path, r) && len(r) <= len(from) {
				from = r
			}
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return filepath.Base(path)
		}
		if from != last || front == "" {
			last, front = from, frontOf(from)
		}
		return filepath.ToSlash(filepath.Join(front, rest))
	}
}

// frontOf returns what is read of the folder from which names are read.
func frontOf(from string) string {
	name := folderName(from)
	if onlySeason(name) {
		return filepath.Join(folderName(filepath.Join(from, "..")), name)
	}
	return name
}

// below reports whether path lies below root.
func below(path, root string) bool {
	if root == "." {
		return !filepath.IsAbs(path) && !strings.HasPrefix(path, "..")
	}
	return strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}

// folderName is the name of a folder, also of "." and "..".
func folderName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if base := filepath.Base(abs); base != string(filepath.Separator) && base != "." {
		return base
	}
	return ""
}

// onlySeason reports whether a folder's name has a season and no title, such as "Season 2".
func onlySeason(name string) bool {
	f := release.Parse(name + "/x.mkv").Folder
	return f.Title == "" && len(f.Seasons) > 0
}
