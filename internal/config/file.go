package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cast"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/title"
)

func fileValue(file *viper.Viper, in source, s Setting) (string, error) {
	raw := file.Get(s.Key)
	if raw == nil {
		return "", nil
	}
	kind := kindOf(raw)
	if _, isText := raw.(string); s.Secret && kind == kindValue && !isText {
		return "", &Error{Name: in.location(s.Key), Reason: "must be written in quotes, or YAML reads it as a number"}
	}
	if list, ok := raw.([]any); ok && (s.Args || s.List) {
		texts, err := cast.ToStringSliceE(list)
		switch {
		case s.Args && (err != nil || len(texts) == 0 || texts[0] == ""):
			return "", &Error{Name: in.location(s.Key), Reason: lang.Textf("must be %s", s.Allowed)}
		case s.Args:
			return strings.Join(texts, argSeparator), nil
		case err != nil || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, ",") }):
			return "", &Error{Name: in.location(s.Key), Reason: lang.Textf("must be a list of single values: %s", s.Allowed)}
		}
		return strings.Join(texts, ","), nil
	}
	text, err := cast.ToStringE(raw)
	if err != nil || kind != kindValue {
		return "", &Error{
			Name:   in.location(s.Key),
			Reason: lang.Textf("is %s; write a single value there: %s", kind, s.Allowed),
		}
	}
	if _, value := in.find(s.Key); value != nil && strings.HasPrefix(value.Value, "0") {
		text = value.Value // as written: YAML reads 0660 as an octal number
	}
	return text, nil
}

const (
	kindValue   lang.Text = "a single value"
	kindList    lang.Text = "a list"
	kindSection lang.Text = "a section"
)

func kindOf(raw any) lang.Text {
	switch raw.(type) {
	case []any:
		return kindList
	case map[string]any, map[any]any:
		return kindSection
	}
	return kindValue
}

// configFile returns the path of the config file. named is true if the user chose it, so that it must exist.
func configFile(flag string, env map[string]string) (path string, named bool, err error) {
	if flag != "" {
		return flag, true, nil
	}
	if p := env["ANIVAULT_CONFIG"]; p != "" {
		return p, true, nil
	}
	dir, err := configDir.path(env)
	if errors.Is(err, errNoHome) {
		return "", false, nil // the missing HOME is an error only if a folder needs it
	}
	return filepath.Join(dir, "config.yaml"), false, err
}

const maxFileSize = 1 << 20

type source struct {
	path   string
	home   string     // the user's home folder, for paths in lists
	root   *yaml.Node // nil for an empty or missing file
	exists bool
}

// find returns the line of a key, or that of the innermost section it would be in, and the key's value, nil for none.
func (in source) find(key string) (line int, value *yaml.Node) {
	value = in.root
	for name := range strings.SplitSeq(key, ".") {
		k, v := findKey(value, name)
		if k == nil {
			return line, nil
		}
		line, value = k.Line, v
	}
	return line, value
}

func (in source) location(key string) string {
	if line, _ := in.find(key); line > 0 {
		return fmt.Sprintf("%s:%d: %s", in.path, line, key)
	}
	return in.path + ": " + key
}

func readFile(path string, named bool) (*viper.Viper, source, error) {
	in := source{path: path}
	if path == "" || path == os.DevNull { // users name /dev/null to read no file
		return viper.New(), in, nil
	}
	raw, err := readText(path)
	switch {
	case err != nil:
		return viper.New(), in, err
	case raw == nil && named:
		return viper.New(), in, fileError(path, "does not exist; make one with: anivault config init")
	}
	file, err := readYAML(raw)
	if err != nil {
		return viper.New(), in, fileError(path, yamlErrorText(raw, err))
	}
	in.root, in.exists = parseYAMLNode(raw), raw != nil
	return file, in, nil
}

func readYAML(raw []byte) (*viper.Viper, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	return v, v.ReadConfig(bytes.NewReader(raw))
}

func unknownKeys(file *viper.Viper, in source, settings []Setting) (problems errorList) {
	known := slicesx.Map(settings, func(s Setting) string { return s.Key })
	lists := []string{"serve.clients", "accounts", "notify"} // read by a listSchema
	known = append(known, lists...)
	for _, key := range slices.Sorted(slices.Values(file.AllKeys())) {
		raw := file.Get(key)
		// inside is the index of a setting below key, if key is a section. above is the index of a setting above key, which
		// is an error, because settings have no keys below them.
		inside := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, key+".") })
		above := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(key, k+".") })
		switch {
		case above >= len(settings): // they check the keys in their lists
		case slices.Contains(known, key), inside >= 0 && raw == nil:
		case inside >= 0:
			problems.reject(in.location(key), "",
				lang.Textf("must be a section, not %s; write its settings below it, indented, such as %s",
					kindOf(raw), strings.TrimPrefix(known[inside], key+".")))
		case above >= 0:
			problems.reject(in.location(known[above]), "",
				lang.Textf("is %s; write a single value there: %s", kindSection, settings[above].Allowed))
		default:
			reason := lang.Text("is not a setting; see: anivault config show")
			if near, ok := Nearest(key, known); ok {
				reason = lang.Textf("is not a setting; did you mean %s?", near)
			}
			problems.reject(in.location(key), "", reason)
		}
	}
	return problems
}

func readText(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil: // ReadFile returns a better error
	case info.IsDir():
		file := filepath.Join(path, "config.yaml")
		return nil, fileError(path, lang.Textf("is a folder; name the file in it, such as %s", file))
	case !info.Mode().IsRegular():
		return nil, fileError(path, "is not a regular file")
	case info.Size() > maxFileSize:
		return nil, fileError(path, lang.Textf("is larger than %d bytes, too large for a config file", maxFileSize))
	}
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fileError(path, lang.Textf("cannot be read: %s", rootCause(err)))
	}
	return raw, nil
}

func fileError(path string, reason lang.Text) error {
	return &Error{Name: "config file", Value: path, Reason: reason}
}

// yamlErrorText explains why raw is not a valid config file. The YAML library's own errors are hard to understand.
func yamlErrorText(raw []byte, cause error) lang.Text {
	if top := parseYAMLNode(raw); top != nil && top.Kind != yaml.MappingNode {
		kind := kindValue
		if top.Kind == yaml.SequenceNode {
			kind = kindList
		}
		return lang.Textf("must have sections such as \"tmdb:\", not %s; see: anivault config init", kind)
	}
	why := strings.TrimPrefix(rootCause(cause).String(), "yaml: ")
	if wrong, ok := errors.AsType[*yaml.TypeError](cause); ok { // such as a duplicate key
		why = strings.Join(wrong.Errors, "; ")
	}
	if hint := yamlHint(string(raw)); hint != "" {
		return lang.Textf("is not valid YAML: %s; %s", why, hint)
	}
	return lang.Textf("is not valid YAML: %s", why)
}

func yamlHint(text string) lang.Text {
	if !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) }) {
		return "save it as text in UTF-8"
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line[:len(line)-len(strings.TrimLeft(line, " \t"))], "\t") {
			return "YAML is indented with spaces, not with tabs"
		}
		if _, value, ok := strings.Cut(line, ":"); ok {
			if value = strings.TrimSpace(value); value != "" && strings.ContainsRune("@`%", rune(value[0])) {
				return "text that begins with @, ` or % needs quotes"
			}
		}
	}
	return ""
}

func rootCause(err error) lang.Text {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return lang.TextOf(pathErr.Err)
	}
	if parse, ok := errors.AsType[viper.ConfigParseError](err); ok {
		return lang.TextOf(parse.Unwrap())
	}
	return lang.TextOf(err)
}

// Nearest returns the candidate most similar to word, and whether it is similar enough to suggest: it begins with word,
// if that has at least three letters, or it differs by one edit, by two behind its first letter, or by a third of word.
func Nearest(word string, candidates []string) (string, bool) {
	longer := func(c string) bool { return len(word) >= 3 && strings.HasPrefix(c, word) }
	if i := slices.IndexFunc(candidates, longer); i >= 0 {
		return candidates[i], true
	}
	best, bestDistance := "", 1<<30
	for _, c := range candidates {
		if d := title.Distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	sameStart := word != "" && strings.HasPrefix(best, word[:1])
	return best, best != "" && (bestDistance <= max(1, utf8.RuneCountInString(word)/3) || bestDistance == 2 && sameStart)
}

// pipeTimeout is how long ReadFile waits for the content of a pipe.
var pipeTimeout = 10 * time.Second

// ReadFile reads a file that a setting names, such as a key or certificates: at most 1 MB, from a regular file or a
// pipe. It never waits longer than 10 s, so a pipe without a writer does not hang a gateway's reload.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, lang.Error("cannot be read: %s", rootCause(err))
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(pipeTimeout)) // only pipes have deadlines
	raw, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if info, unknown := f.Stat(); err == nil && len(raw) == 0 && unknown == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		raw, err = awaitWriter(f)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, lang.Error("cannot be read: nothing was written into the pipe for %s", pipeTimeout)
	case err != nil:
		return nil, lang.Error("cannot be read: %s", rootCause(err))
	case len(raw) > maxFileSize:
		return nil, lang.Error("cannot be read: it has more than %d bytes", maxFileSize)
	}
	return raw, nil
}

// awaitWriter reads a pipe that nobody has opened for writing yet.
func awaitWriter(f *os.File) (raw []byte, err error) {
	for end := time.Now().Add(pipeTimeout); len(raw) == 0 && err == nil; time.Sleep(pipeTimeout / 1000) {
		if time.Now().After(end) {
			return nil, os.ErrDeadlineExceeded
		}
		raw, err = io.ReadAll(io.LimitReader(f, maxFileSize+1))
	}
	return raw, err
}

func firstLine(path string) (string, error) {
	raw, err := ReadFile(path)
	line, _, _ := strings.Cut(strings.TrimPrefix(string(raw), "\ufeff"), "\n")
	return line, err
}
