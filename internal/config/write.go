package config

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
)

// FilePath returns the config file that Load would read: the flag's, ANIVAULT_CONFIG, or the default place.
func FilePath(flag string, environ []string) (string, error) {
	path, _, err := configFile(flag, environment(environ))
	if err == nil && path == "" {
		err = errNoHome
	}
	return path, err
}

// everyday are the settings that a fresh config file lists; it may hold any other.
var everyday = []string{
	"tmdb.language", "match.min_confidence", "match.type", "cache.max_size",
	"limiter.rate_base", "limiter.concurrency", "limiter.max_wait", "limiter.auto_recover", "limiter.budget",
	"log.level", "log.file",
}

// WriteFile writes a fresh config file, readable by its owner alone, whole or not at all. language is that of titles,
// "" for the default. It replaces an existing file; see ReadExisting.
func WriteFile(path string, token Secret, language string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return lang.Error("make the folder of %s: %w", path, err)
	}
	return writeFile(path, []byte(fileText(token, language)))
}

func writeFile(path string, text []byte) error {
	return atomicfile.Write(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// fileText returns the text of a fresh file, in which every setting but token and language is a comment. Comments are
// in the language of the process: a person reads them.
func fileText(token Secret, language string) string {
	var b strings.Builder
	b.WriteString(lang.Say("# anivault's settings; all of them: anivault config show") + "\n")
	b.WriteString("tmdb:\n")
	if token.IsSet() {
		fmt.Fprintf(&b, "  token: %q\n", token.Reveal())
	} else {
		doc := lang.Say("TMDB API Read Access Token, from https://www.themoviedb.org/settings/api")
		fmt.Fprintf(&b, "  # token: %q    # %s\n", "...", doc)
	}
	section := "tmdb"
	for _, key := range everyday {
		sec, name, _ := strings.Cut(key, ".")
		if sec != section {
			fmt.Fprintf(&b, "%s:\n", sec)
			section = sec
		}
		s := setting(key)
		if key == "tmdb.language" && language != "" {
			fmt.Fprintf(&b, "  %s: %s    # %s\n", name, language, lang.Say(s.Doc))
			continue
		}
		fmt.Fprintf(&b, "  # %s: %s    # %s\n", name, cmp.Or(s.Default, `""`), lang.Say(s.Doc))
	}
	return b.String()
}
