package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/internal/atomicfile"
	"github.com/anivault/anivault/internal/lang"
)

// Existing is a config file that a person has written. A token changes or adds one line of it; all else stays as it is,
// comments included.
type Existing struct {
	Path string
	raw  []byte
}

// ReadExisting reads the config file at path; nil where there is none.
func ReadExisting(path string) (*Existing, error) {
	raw, err := readText(path)
	if raw == nil {
		return nil, err
	}
	return &Existing{path, raw}, nil
}

// HoldsKey reports whether the file holds a token, a key or the name of a token's file. A file that can't be read may.
func (e *Existing) HoldsKey() bool {
	v, err := readYAML(e.raw)
	if err != nil {
		return len(bytes.TrimSpace(e.raw)) > 0
	}
	for _, key := range []string{"tmdb.token", "tmdb.token_file", "tmdb.api_key"} {
		if v.GetString(key) != "" {
			return true
		}
	}
	return false
}

// CheckTokenFits returns the error that PutToken would return for any token, so that nobody is asked for one that can't
// be stored.
func (e *Existing) CheckTokenFits() error {
	_, err := e.withToken("checked")
	return err
}

// PutToken writes the file with tmdb.token set, readable by its owner alone. Everything else in it stays.
func (e *Existing) PutToken(token Secret) error {
	text, err := e.withToken(token.Reveal())
	if err != nil {
		return err
	}
	return writeFile(e.Path, text)
}

// Backup copies the file to one beside it that only its owner can read, and returns its name. A backup that is there
// already is kept.
func (e *Existing) Backup() (string, error) {
	const most = 1000
	for n := range most {
		path := e.Path + ".bak"
		if n > 0 {
			path = fmt.Sprintf("%s.%d", path, n)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", lang.Error("keep the config file as it was: %w", err)
		}
		_, err = f.Write(e.raw)
		return path, errors.Join(err, f.Close())
	}
	return "", lang.Error("keep the config file as it was: there are %d backups of %s", most, e.Path)
}

func (e *Existing) withToken(token string) ([]byte, error) {
	before, err := readYAML(e.raw)
	if err != nil {
		return nil, fileError(e.Path, whyNotYAML(e.raw, err))
	}
	text, line := insertToken(e.raw, token)
	after, err := readYAML(text)
	same := err == nil && reflect.DeepEqual(withoutToken(before), withoutToken(after))
	if !same || after.GetString("tmdb.token") != token {
		return nil, fileError(e.Path, lang.Textf("the token can't be put there without changing more; "+
			"write it below \"tmdb:\" yourself (line %d), as token: \"...\"", line))
	}
	return text, nil
}

func withoutToken(v *viper.Viper) map[string]any {
	out := map[string]any{}
	for _, key := range v.AllKeys() {
		if raw := v.Get(key); key != "tmdb.token" && raw != nil {
			out[key] = raw
		}
	}
	return out
}

// insertToken changes the token's line, or adds one: at the head of the section, or with a section at the end. It
// returns the line, counted from 1. The caller checks that nothing else has changed.
func insertToken(raw []byte, token string) ([]byte, int) {
	end := "\n"
	if bytes.Contains(raw, []byte("\r\n")) {
		end = "\r\n"
	}
	lines := strings.SplitAfter(string(raw), "\n")
	entry := func(indent int, comment string) string {
		return strings.TrimRight(fmt.Sprintf("%stoken: %q  %s", strings.Repeat(" ", indent), token, comment), " ") + end
	}
	section, settings := child(document(raw), "tmdb")
	if section == nil {
		text := strings.TrimPrefix(string(raw), "\ufeff")
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += end
		}
		return []byte(text + "tmdb:" + end + entry(2, "")), len(lines)
	}
	at, indent := section.Line, section.Column+1 // a line more than its index: after the section's own
	if settings.Kind == yaml.MappingNode && len(settings.Content) > 0 {
		indent = settings.Content[0].Column - 1
	}
	if key, value := child(settings, "token"); key != nil {
		lines[key.Line-1] = entry(indent, cmp.Or(value.LineComment, key.LineComment))
		return []byte(strings.Join(lines, "")), key.Line
	}
	if head := lines[at-1]; !strings.HasSuffix(head, "\n") {
		lines[at-1] = head + end
	}
	return []byte(strings.Join(lines[:at], "") + entry(indent, "") + strings.Join(lines[at:], "")), at + 1
}

func document(raw []byte) *yaml.Node {
	var top yaml.Node
	if yaml.Unmarshal(raw, &top) != nil || len(top.Content) == 0 {
		return nil
	}
	return top.Content[0]
}

// child finds a key of a section in any case, as viper does.
func child(section *yaml.Node, name string) (key, value *yaml.Node) {
	if section == nil || section.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(section.Content); i += 2 {
		if strings.EqualFold(section.Content[i].Value, name) {
			return section.Content[i], section.Content[i+1]
		}
	}
	return nil, nil
}

// FilePath returns the config file that Load would read: the flag's, ANIVAULT_CONFIG, or the default place.
func FilePath(flag string, environ []string) (string, error) {
	path, _, err := configFile(flag, environment(environ))
	if err == nil && path == "" {
		err = errNoHome
	}
	return path, err
}

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
	return writeFile(path, []byte(newConfigText(token, language)))
}

func writeFile(path string, text []byte) error {
	return atomicfile.Write(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// newConfigText returns a new config file in which every setting but token and language is a comment.
func newConfigText(token Secret, language string) string {
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
		s := SettingOf(key)
		if key == "tmdb.language" && language != "" {
			fmt.Fprintf(&b, "  %s: %s    # %s\n", name, language, lang.Say(s.Doc))
			continue
		}
		fmt.Fprintf(&b, "  # %s: %s    # %s\n", name, cmp.Or(s.Default, `""`), lang.Say(s.Doc))
	}
	return b.String()
}
