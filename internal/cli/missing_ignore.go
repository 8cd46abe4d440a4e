package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/title"
	"github.com/anivault/anivault/internal/ui"
)

// ignoredSeries are the lines of the file of ignored series, which is beside the pins: tv/ID, a title, or a comment.
type ignoredSeries []string

func ignoredPath(dataDir string) string { return filepath.Join(dataDir, "ignored.txt") }

// loadIgnored reads the file of ignored series, and warns of lines that it does not understand.
func loadIgnored(path string, warn func(format string, args ...any)) (ignoredSeries, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, lang.Error("read the ignored series: %w", err)
	}
	lines := strings.Split(strings.Trim(string(content), "\ufeff\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
		if _, err := ignoredKey(lines[i]); err != nil {
			warn("%s: line %d: %s", path, i+1, lang.TextOf(err))
		}
	}
	return lines, nil
}

// ignoredKey returns what a series is compared by, tv/26209 or a title without case and punctuation; "" for a comment.
func ignoredKey(text string) (string, error) {
	kind, id, err := pins.ParseEntry(text)
	key := title.Normalize(text)
	switch {
	case text == "", text[0] == '#':
		return "", nil
	case err == nil && kind == match.Movie:
		return "", lang.Error("%s is a film, and films have no episodes", text)
	case err == nil:
		return pins.Pin{Kind: kind, ID: id}.Entry(), nil
	case strings.HasPrefix(text, "tv/"), strings.HasPrefix(text, "movie/"), strings.Contains(text, "://"), key == "":
		return "", err
	}
	return key, nil
}

// index returns the place of the first line that means one of the keys; -1 if there is none.
func (s ignoredSeries) index(keys ...string) int {
	return slices.IndexFunc(s, func(line string) bool {
		key, _ := ignoredKey(line)
		return key != "" && slices.Contains(keys, key)
	})
}

// has reports whether a series is ignored, by its id, or by a title with or without its year.
func (s ignoredSeries) has(g *report.Gap) bool {
	return s.index(g.Ref(), title.Normalize(g.Title), title.Normalize(g.OriginalTitle), title.Normalize(g.Entry())) >= 0
}

// changeIgnored adds and removes series in the file, which stays as it is if one of them is wrong.
func changeIgnored(ctx context.Context, f *factory, path string, add, remove []string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return lang.Error("make the data folder: %w", err)
	}
	unlock, err := lockfile.Acquire(ctx, path+".lock", lockfile.Exclusive, 10*time.Second)
	if err != nil {
		return lang.Error("lock the ignored series: %w", err)
	}
	defer unlock()
	s, err := loadIgnored(path, func(string, ...any) {})
	if err != nil {
		return err
	}
	for i, text := range slices.Concat(remove, add) {
		key, err := ignoredKey(text)
		at := s.index(key)
		switch {
		case err != nil:
			return usagef("for example: anivault missing --ignore tv/26209 ~/Anime", "%s", lang.TextOf(err))
		case key == "":
			return usagef("write tv/ID, or the title of a series", "%q is not a series", text)
		case i >= len(remove) && at < 0:
			s = append(s, text)
		case i < len(remove) && at < 0:
			return usagef(lang.Textf("%s lists them", path), "%s is not ignored", ui.Printable(text))
		case i < len(remove):
			s = slices.Delete(s, at, at+1)
		}
	}
	err = atomicfile.Write(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(append(s, ""), "\n"))
		return err
	})
	if err == nil {
		f.say("saved: %s\n", ui.Printable(path))
	}
	return err
}
