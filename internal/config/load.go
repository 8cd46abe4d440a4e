package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cast"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/ratelimit"
)

// Sources is where settings may come from. Tests hand in their own.
type Sources struct {
	// File is the config file that the person named with --config; "" means ANIVAULT_CONFIG or the
	// default place, which need not exist.
	File string
	// Environ is the environment as os.Environ gives it.
	Environ []string
	// Flags are the flags that were given, by the setting they set.
	Flags map[string]Flag
}

// Flag is a flag that was given on the command line.
type Flag struct{ Name, Value string }

// Load reads all sources. The warnings are for the person and don't stop anything; the error is an
// *Error wherever a setting is to blame: the first, with the others in it.
func Load(src Sources) (*Config, []string, error) {
	env := environment(src.Environ)
	settings := Settings()
	path, named, err := configFile(src.File, env)
	if err != nil {
		return nil, nil, err
	}
	// viper reads the file and nothing else: its own environment and default handling answers 0 for a
	// number that is none, and knows no unknown key. The table of settings does both.
	file := viper.New()
	file.SetConfigType("yaml")
	var bad faults
	if err := readFile(file, path, named, settings, &bad); err != nil {
		return nil, nil, err
	}

	cfg := &Config{Tuning: ratelimit.Default(), Dirs: Dirs{ConfigFile: path}}
	for _, s := range settings {
		val, err := effective(file, path, s, env, src.Flags)
		if err == nil && val.Text != "" {
			if err = s.apply(cfg, val.Text); err != nil {
				err = settingError(val, path, err)
			}
		}
		if err != nil {
			bad.add(err)
			continue
		}
		switch {
		case s.Secret:
			val.Text = NewSecret(val.Text).String()
		case s.isAddress():
			val.Text = shownAddress(val.Text)
		}
		cfg.values = append(cfg.values, val)
	}
	if err := bad.err(); err != nil {
		return nil, nil, err
	}
	if err := cfg.complete(env); err != nil {
		return nil, nil, err
	}
	return cfg, cfg.warnings(env), nil
}

// faults collects what can't be used.
type faults []*Error

func (f *faults) add(err error) {
	var e *Error
	if errors.As(err, &e) && !slices.ContainsFunc(*f, func(o *Error) bool { return o.Name == e.Name }) {
		*f = append(*f, e)
	}
}

// err is the first fault with the others in it; nil where there is none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	f[0].Others = f[1:]
	return f[0]
}

// effective finds the setting's value: flag, then environment, then file, then default.
func effective(file *viper.Viper, path string, s Setting, env map[string]string, flags map[string]Flag) (Value, error) {
	text, err := written(file, path, s) // also where something else wins: it is wrong all the same
	if err != nil {
		return Value{}, err
	}
	if f, ok := flags[s.Key]; ok {
		return Value{s, f.Value, "flag --" + f.Name}, nil
	}
	if text := env[s.Env]; text != "" {
		return Value{s, text, "environment " + s.Env}, nil
	}
	if !file.IsSet(s.Key) {
		return Value{s, s.Default, "default"}, nil
	}
	return Value{s, text, "config file"}, nil
}

// written is what the config file says for a setting, as text; "" where it says nothing.
func written(file *viper.Viper, path string, s Setting) (string, error) {
	raw := file.Get(s.Key)
	if raw == nil {
		return "", nil
	}
	kind := kindOf(raw)
	if _, isText := raw.(string); s.Secret && kind == aValue && !isText {
		return "", &Error{Name: path + ": " + s.Key, Reason: "must be written in quotes, or YAML reads it as a number"}
	}
	text, err := cast.ToStringE(raw)
	if err != nil || kind != aValue {
		return "", &Error{Name: path + ": " + s.Key, Reason: fmt.Sprintf("is %s; write a single value there: %s", kind, s.Allowed)}
	}
	return text, nil
}

// What a place in the config file may hold, in words.
const (
	aValue   = "a single value"
	aList    = "a list"
	aSection = "a section"
)

func kindOf(raw any) string {
	switch raw.(type) {
	case []any:
		return aList
	case map[string]any, map[any]any:
		return aSection
	}
	return aValue
}

// settingError names a refused value the way the person wrote it.
func settingError(val Value, path string, reason error) error {
	name := val.Setting.Key
	switch kind, where, _ := strings.Cut(val.Origin, " "); kind {
	case "flag", "environment":
		name = where
	case "config":
		name = path + ": " + val.Setting.Key
	}
	text := val.Text
	switch {
	case val.Setting.Secret:
		text = ""
	case val.Setting.isAddress():
		text = shownAddress(text)
	}
	why := reason.Error()
	var knob *ratelimit.TuningError // names key and value itself
	if errors.As(reason, &knob) {
		why = knob.Reason + "; " + knob.Remedy
	}
	return &Error{Name: name, Value: text, Reason: why}
}

// configFile says which file is read and whether the person named it, so that it has to exist.
func configFile(flag string, env map[string]string) (path string, named bool, err error) {
	if flag != "" {
		return flag, true, nil
	}
	if p := env["ANIVAULT_CONFIG"]; p != "" {
		return p, true, nil
	}
	dir, err := defaultDir(configDir, lookupIn(env))
	if errors.Is(err, errNoHome) {
		return "", false, nil // nothing to read; a folder that is needed will say so
	}
	return filepath.Join(dir, "config.yaml"), false, err
}

// maxFile bounds a config file, in bytes. All settings together take a hundredth of it.
const maxFile = 1 << 20

// readFile reads the file and adds to bad what no setting has. The error is a file that can't be read at all.
func readFile(file *viper.Viper, path string, named bool, settings []Setting, bad *faults) error {
	if path == "" {
		return nil
	}
	if path == os.DevNull { // what people name to mean "none"
		return nil
	}
	if err := checkIsFile(path); err != nil {
		return err
	}
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Name: "config file", Value: path, Reason: "does not exist; make one with: anivault config init"}
	case err != nil:
		return &Error{Name: "config file", Value: path, Reason: "cannot be read: " + rootCause(err)}
	}
	if err := file.ReadConfig(bytes.NewReader(raw)); err != nil {
		return &Error{Name: "config file", Value: path, Reason: whyNotYAML(raw, err)}
	}
	known := make([]string, 0, len(settings))
	for _, s := range settings {
		known = append(known, s.Key)
	}
	for _, key := range slices.Sorted(slices.Values(file.AllKeys())) {
		raw := file.Get(key)
		in := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, key+".") })    // key is a section
		above := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(key, k+".") }) // key lies in a setting
		switch {
		case slices.Contains(known, key), in >= 0 && raw == nil:
		case in >= 0:
			bad.add(&Error{Name: path + ": " + key, Reason: fmt.Sprintf("must be a section, not %s; write its settings below it, indented, such as %s",
				kindOf(raw), strings.TrimPrefix(known[in], key+"."))})
		case above >= 0:
			bad.add(&Error{Name: path + ": " + known[above], Reason: fmt.Sprintf("is %s; write a single value there: %s", aSection, settings[above].Allowed)})
		default:
			reason := "is not a setting; see: anivault config show"
			if near, ok := Nearest(key, known); ok {
				reason = "is not a setting; did you mean " + near + "?"
			}
			bad.add(&Error{Name: path + ": " + key, Reason: reason})
		}
	}
	return nil
}

// checkIsFile refuses what is there and can't be a config file. Why something is not there, opening it says.
func checkIsFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return &Error{Name: "config file", Value: path, Reason: "is a folder; name the file in it, such as " + filepath.Join(path, "config.yaml")}
	case err == nil && !info.Mode().IsRegular():
		return &Error{Name: "config file", Value: path, Reason: "is not a regular file"}
	case err == nil && info.Size() > maxFile:
		return &Error{Name: "config file", Value: path, Reason: fmt.Sprintf("is larger than %d bytes, too large for a config file", maxFile)}
	}
	return nil
}

// whyNotYAML says why a config file's text can't be read, and what to do. It looks at the text itself: the YAML library's
// errors are words for people.
func whyNotYAML(raw []byte, cause error) string {
	switch top := document(raw); {
	case top == nil:
	case top.Kind == yaml.SequenceNode:
		return "must hold sections such as \"tmdb:\", not " + aList + "; see: anivault config init"
	case top.Kind != yaml.MappingNode:
		return "must hold sections such as \"tmdb:\", not " + aValue + "; see: anivault config init"
	}
	why := strings.TrimPrefix(rootCause(cause), "yaml: ")
	if wrong, ok := errors.AsType[*yaml.TypeError](cause); ok { // a key that is there twice
		why = strings.Join(wrong.Errors, "; ")
	}
	return "is not valid YAML: " + why + yamlHint(string(raw))
}

// yamlHint names what most often makes a text invalid YAML; "" where it holds none of it.
func yamlHint(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) }) {
		return "; save it as text in UTF-8"
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line[:len(line)-len(strings.TrimLeft(line, " \t"))], "\t") {
			return "; YAML is indented with spaces, not with tabs"
		}
		if _, value, ok := strings.Cut(line, ":"); ok {
			if value = strings.TrimSpace(value); value != "" && strings.ContainsRune("@`%", rune(value[0])) {
				return "; text that begins with @, ` or % needs quotes"
			}
		}
	}
	return ""
}

// complete fills in what depends on several settings and checks them together.
func (c *Config) complete(env map[string]string) error {
	if err := c.Tuning.Validate(); err != nil {
		return c.crossed(err)
	}
	lookup := lookupIn(env)
	for _, d := range []struct {
		dir  *string
		kind dirKind
	}{{&c.Dirs.State, stateDir}, {&c.Dirs.Cache, cacheDir}, {&c.Dirs.Data, dataDir}} {
		if *d.dir == "" {
			var err error
			if *d.dir, err = defaultDir(d.kind, lookup); err != nil {
				return err
			}
		}
		abs, err := filepath.Abs(*d.dir)
		if err != nil {
			return fmt.Errorf("resolve folder %q: %w", *d.dir, err)
		}
		*d.dir = abs
	}
	return c.chooseKey()
}

// crossed names limiter settings that don't go together the way the person wrote them.
func (c *Config) crossed(err error) error {
	var knob *ratelimit.TuningError
	if !errors.As(err, &knob) {
		return err
	}
	var said []string
	for i, key := range knob.Keys {
		for _, v := range c.values {
			if v.Setting.Key != "limiter."+key {
				continue
			}
			switch kind, where, _ := strings.Cut(v.Origin, " "); kind {
			case "flag", "environment":
				said = append(said, fmt.Sprintf("%s=%s", where, knob.Values[i]))
			default:
				said = append(said, fmt.Sprintf("%s=%s (%s)", key, knob.Values[i], v.Origin))
			}
		}
	}
	return &Error{Name: strings.Join(said, " with "), Reason: knob.Reason + "; " + knob.Remedy}
}

// chooseKey keeps the first of token, token_file and api_key that is set.
func (c *Config) chooseKey() error {
	if !c.TMDB.Token.IsSet() && c.TMDB.TokenFile != "" {
		raw, err := os.ReadFile(c.TMDB.TokenFile)
		if err != nil {
			return &Error{Name: "tmdb.token_file", Value: c.TMDB.TokenFile, Reason: "cannot be read: " + rootCause(err)}
		}
		line, _, _ := strings.Cut(string(raw), "\n")
		if strings.TrimSpace(line) == "" {
			return &Error{Name: "tmdb.token_file", Value: c.TMDB.TokenFile, Reason: "its first line is empty; write the token there"}
		}
		if err := applySecret(func(c *Config) *Secret { return &c.TMDB.Token })(c, line); err != nil {
			return &Error{Name: "tmdb.token_file", Value: c.TMDB.TokenFile, Reason: err.Error()}
		}
	}
	if c.TMDB.Token.IsSet() {
		c.TMDB.APIKey = Secret{}
	}
	return nil
}

// warnings are what a person should know without being stopped.
func (c *Config) warnings(env map[string]string) []string {
	var out []string
	for _, val := range c.values {
		if val.Setting.Secret && val.Origin == "config file" && readableByOthers(c.Dirs.ConfigFile) {
			out = append(out, fmt.Sprintf("%s holds a key and others can read it; run: chmod 600 %s", c.Dirs.ConfigFile, c.Dirs.ConfigFile))
		}
	}
	if c.TMDB.TokenFile != "" && readableByOthers(c.TMDB.TokenFile) {
		out = append(out, fmt.Sprintf("%s holds a key and others can read it; run: chmod 600 %s", c.TMDB.TokenFile, c.TMDB.TokenFile))
	}
	var known []string
	for _, v := range OtherVariables() {
		known = append(known, v.Name)
	}
	for _, s := range Settings() {
		known = append(known, s.Env)
	}
	var unknown []string
	for name := range env {
		if strings.HasPrefix(name, "ANIVAULT_") && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		text := name + " is not a variable that anivault reads"
		if near, ok := Nearest(name, known); ok {
			text += "; did you mean " + near + "?"
		}
		out = append(out, text)
	}
	return out
}

func environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	return env
}

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// rootCause is the innermost error's text: the path and verb around it are said elsewhere.
func rootCause(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	var parse viper.ConfigParseError
	if errors.As(err, &parse) {
		return parse.Unwrap().Error()
	}
	return err.Error()
}
