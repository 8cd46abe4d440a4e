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

// ExistingFile is a config file written by the user. PutToken changes or adds only the line of the token, and keeps
// everything else, including comments.
type ExistingFile struct {
	Path string
	raw  []byte
}

// ReadExisting reads the config file at path. It returns nil if the file does not exist.
func ReadExisting(path string) (*ExistingFile, error) {
	raw, err := readText(path)
	if raw == nil {
		return nil, err
	}
	return &ExistingFile{path, raw}, nil
}

// HoldsKey reports whether the file has a token, a key or a token_file. Invalid YAML counts, as it may have one.
func (e *ExistingFile) HoldsKey() bool {
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

// CheckPutToken returns the error that PutToken would return, before the user is asked for a token.
func (e *ExistingFile) CheckPutToken() error {
	_, err := e.withToken("checked")
	return err
}

// PutToken sets tmdb.token in the file and makes the file readable only by its owner. It changes nothing else.
func (e *ExistingFile) PutToken(token Secret) error {
	text, err := e.withToken(token.Reveal())
	if err != nil {
		return err
	}
	return writeFile(e.Path, text)
}

// Backup copies the file to config.yaml.bak, readable only by its owner, and returns the path of the copy. If that file
// exists, it uses config.yaml.bak.1 and so on.
func (e *ExistingFile) Backup() (string, error) {
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

func (e *ExistingFile) withToken(token string) ([]byte, error) {
	before, err := readYAML(e.raw)
	if err != nil {
		return nil, fileError(e.Path, yamlErrorText(e.raw, err))
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

// insertToken changes the line of the token, or adds one at the beginning of the section tmdb, or adds the section at
// the end. It also returns the number of the line. The caller checks that nothing else has changed.
func insertToken(raw []byte, token string) ([]byte, int) {
	end := "\n"
	if bytes.Contains(raw, []byte("\r\n")) {
		end = "\r\n"
	}
	lines := strings.SplitAfter(string(raw), "\n")
	entry := func(indent int, comment string) string {
		return strings.TrimRight(fmt.Sprintf("%stoken: %q  %s", strings.Repeat(" ", indent), token, comment), " ") + end
	}
	section, settings := findKey(parseYAMLNode(raw), "tmdb")
	if section == nil {
		text := strings.TrimPrefix(string(raw), "\ufeff")
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += end
		}
		return []byte(text + "tmdb:" + end + entry(2, "")), len(lines)
	}
	at, indent := section.Line, section.Column+1 // Line counts from 1, so this is the index of the next line
	if settings.Kind == yaml.MappingNode && len(settings.Content) > 0 {
		indent = settings.Content[0].Column - 1
	}
	if key, value := findKey(settings, "token"); key != nil {
		lines[key.Line-1] = entry(indent, cmp.Or(value.LineComment, key.LineComment))
		return []byte(strings.Join(lines, "")), key.Line
	}
	if head := lines[at-1]; !strings.HasSuffix(head, "\n") {
		lines[at-1] = head + end
	}
	return []byte(strings.Join(lines[:at], "") + entry(indent, "") + strings.Join(lines[at:], "")), at + 1
}

func parseYAMLNode(raw []byte) *yaml.Node {
	var top yaml.Node
	if yaml.Unmarshal(raw, &top) != nil || len(top.Content) == 0 {
		return nil
	}
	return top.Content[0]
}

// findKey finds a key of a section, ignoring case as viper does.
func findKey(section *yaml.Node, name string) (key, value *yaml.Node) {
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

// FilePath returns the path of the config file that Load would read: flag, ANIVAULT_CONFIG, or the default.
func FilePath(flag string, environ []string) (string, error) {
	path, _, err := configFile(flag, environment(environ))
	if err == nil && path == "" {
		err = errNoHome
	}
	return path, err
}

var newFileSettings = []string{
	"tmdb.language", "match.min_confidence", "match.type", "cache.max_size",
	"limiter.rate_base", "limiter.concurrency", "limiter.max_wait", "limiter.auto_recover", "limiter.budget",
	"log.level", "log.file",
}

// WriteFile writes a new config file atomically, readable only by its owner. It replaces an existing file. language is
// the language of titles, "" for the default.
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

// newConfigText returns the text of a new config file, in which all settings except token and language are comments.
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
	for _, key := range newFileSettings {
		sec, name, _ := strings.Cut(key, ".")
		if sec != section {
			fmt.Fprintf(&b, "%s:\n", sec)
			section = sec
		}
		s := SettingByKey(key)
		if key == "tmdb.language" && language != "" {
			fmt.Fprintf(&b, "  %s: %s    # %s\n", name, language, lang.Say(s.Doc))
			continue
		}
		fmt.Fprintf(&b, "  # %s: %s    # %s\n", name, cmp.Or(s.Default, `""`), lang.Say(s.Doc))
	}
	return b.String()
}
