package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
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

// ExistingFile is a config file written by the user. PutKey changes or adds only the line of the token or v3 API key,
// and keeps everything else, including comments.
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
	return usedKey(v) != ""
}

// usedKey returns the setting that holds the key that Load takes from a file, "" for none.
func usedKey(file *viper.Viper) string {
	for _, name := range []string{"tmdb.token", "tmdb.token_file", "tmdb.api_key"} {
		if file.GetString(name) != "" {
			return name
		}
	}
	return ""
}

// CheckPutKey returns the error that PutKey would return for a token, before the user is asked for one.
func (e *ExistingFile) CheckPutKey() error {
	_, err := e.withKey(Key{Token: NewSecret("checked")})
	return err
}

// PutKey sets tmdb.token or tmdb.api_key, whichever the key is, in place of either. It changes nothing else, and makes
// the file readable only by its owner.
func (e *ExistingFile) PutKey(key Key) error {
	text, err := e.withKey(key)
	if err != nil {
		return err
	}
	return atomicfile.WriteText(e.Path, 0o600, text)
}

// Backup copies the file to config.yaml.bak, readable only by its owner, and returns the path of the copy. If that file
// exists, it uses config.yaml.bak.1 and so on.
func (e *ExistingFile) Backup() (string, error) {
	path := e.Path + ".bak"
	for n := 1; ; n++ {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			path = fmt.Sprintf("%s.bak.%d", e.Path, n)
			continue
		}
		if err != nil {
			return "", lang.Error("back up the config file: %w", err)
		}
		_, err = f.Write(e.raw)
		return path, errors.Join(err, f.Close())
	}
}

func (e *ExistingFile) withKey(key Key) ([]byte, error) {
	before, err := readYAML(e.raw)
	if err != nil {
		return nil, fileError(e.Path, yamlErrorText(e.raw, err))
	}
	text, line := insertKey(e.raw, key)
	after, err := readYAML(text)
	same := err == nil && reflect.DeepEqual(withoutKey(before), withoutKey(after))
	if !same || after.GetString(usedKey(after)) != key.Secret().Reveal() {
		return nil, fileError(e.Path, lang.Textf("the token can't be put there without changing more; "+
			"write it below \"tmdb:\" yourself (line %d), as %s: \"...\"", line, key.setting()))
	}
	return text, nil
}

func withoutKey(v *viper.Viper) map[string]any {
	out := map[string]any{}
	for _, key := range v.AllKeys() {
		if raw := v.Get(key); key != "tmdb.token" && key != "tmdb.api_key" && raw != nil {
			out[key] = raw
		}
	}
	return out
}

// insertKey changes the line of the token or API key, or adds one at the beginning of the section tmdb, or adds the
// section at the end. It also returns the number of the line. The caller checks that nothing else has changed.
func insertKey(raw []byte, key Key) ([]byte, int) {
	end := "\n"
	if bytes.Contains(raw, []byte("\r\n")) {
		end = "\r\n"
	}
	lines := strings.SplitAfter(string(raw), "\n")
	entry := func(indent int, comment string) string {
		return strings.TrimRight(fmt.Sprintf("%s%s  %s", strings.Repeat(" ", indent), key.line(), comment), " ") + end
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
	for _, name := range []string{"token", "api_key"} {
		if old, value := findKey(settings, name); old != nil {
			lines[old.Line-1] = entry(indent, cmp.Or(value.LineComment, old.LineComment))
			return []byte(strings.Join(lines, "")), old.Line
		}
	}
	if head := lines[at-1]; !strings.HasSuffix(head, "\n") {
		lines[at-1] = head + end
	}
	return []byte(strings.Join(lines[:at], "") + entry(indent, "") + strings.Join(lines[at:], "")), at + 1
}

// setting returns the name of the setting of the section tmdb that holds such a key.
func (k Key) setting() string {
	if k.APIKey.IsSet() {
		return "api_key"
	}
	return "token"
}

func (k Key) line() string { return fmt.Sprintf("%s: %q", k.setting(), k.Secret().Reveal()) }

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
func WriteFile(path string, key Key, language string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return lang.Error("make the folder of %s: %w", path, err)
	}
	return atomicfile.WriteText(path, 0o600, []byte(newConfigText(key, language)))
}

// newConfigText returns the text of a new config file, in which all settings except key and language are comments.
func newConfigText(key Key, language string) string {
	var b strings.Builder
	b.WriteString(lang.Say("# anivault's settings; all of them: anivault config show") + "\n")
	b.WriteString("tmdb:\n")
	if key.Secret().IsSet() {
		fmt.Fprintf(&b, "  %s\n", key.line())
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
