package config

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/ratelimit"
)

// Sources are the inputs of Load.
type Sources struct {
	// File is the argument of --config; "" means ANIVAULT_CONFIG or the default path, which need not exist.
	File string
	// Environ is the environment as os.Environ returns it.
	Environ []string
	// Flags are the flags on the command line, by the key of their setting.
	Flags map[string]Flag
}

// Flag is a flag on the command line.
type Flag struct{ Name, Value string }

// Load returns the configuration from all sources, and warnings for the user. For invalid settings it returns the first
// *Error, with the others in its field Others, and a Config that has only Dirs; Dirs.Data is "" if it is not known.
func Load(src Sources) (*Config, []lang.Text, error) {
	env := environment(src.Environ)
	path, named, err := configFile(src.File, env)
	if err != nil {
		return &Config{}, nil, err
	}
	// Viper is used only to read the file, because it turns malformed numbers into 0 and accepts unknown keys. The
	// variables, defaults and checks are in the table of settings.
	file, in, fileErr := readFile(path, named)
	in.home = env["HOME"]
	cfg := &Config{Tuning: ratelimit.Default(), Dirs: Dirs{ConfigFile: path}, file: in}
	settings := newSettings(cfg)
	problems := unknownKeys(file, in, settings)
	for _, s := range settings {
		val, err := effectiveValue(file, in, s, env, src.Flags)
		if strings.HasPrefix(string(s.Allowed), "a path") || s.Args {
			val.Text = ExpandHome(val.Text, env["HOME"])
		}
		if err == nil && (val.Text != "" || s.Default != "") { // a setting with a default can't be empty
			if err = s.set(val.Text); err != nil {
				err = settingError(val, in, err)
			}
		}
		if err != nil {
			problems.add(err)
			continue
		}
		val.Text = s.displayText(val.Text)
		cfg.values = append(cfg.values, val)
	}
	_, clients := in.find("serve.clients")
	_, targets := in.find("notify")
	cfg.Serve.Clients = readClients(in, clients, &problems)
	cfg.Accounts = readAccounts(in, &problems)
	cfg.Notify = targetSchema.readAll(reader{in, &problems}, targets)
	if err = cmp.Or(fileErr, problems.err(), cfg.resolveDirs(env)); err == nil {
		err = cfg.complete()
	}
	if err == nil {
		cfg.resolveAccounts(&problems)
		err = problems.err()
	}
	if err != nil {
		return &Config{Dirs: cfg.Dirs}, nil, err
	}
	return cfg, cfg.warnings(env), nil
}

// ExpandHome replaces a leading ~/ by the home folder, which no shell has done in a file or between quotes. home is the
// value of HOME.
func ExpandHome(path, home string) string {
	if home == "" { // Windows
		home, _ = os.UserHomeDir() // on an error home is ""
	}
	if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/"); ok && home != "" {
		return home + "/" + rest
	}
	return path
}

type errorList []*Error

func (f *errorList) add(err error) {
	e, ok := errors.AsType[*Error](err)
	if ok && !slices.ContainsFunc(*f, func(o *Error) bool { return o.Name == e.Name }) {
		*f = append(*f, e)
	}
}

func (f *errorList) reject(name, value string, reason lang.Text) {
	f.add(&Error{Name: name, Value: value, Reason: reason})
}

func (f errorList) err() error {
	if len(f) == 0 {
		return nil
	}
	f[0].Others = f[1:]
	return f[0]
}

func effectiveValue(
	file *viper.Viper, in source, s Setting, env map[string]string, flags map[string]Flag,
) (Value, error) {
	text, err := fileValue(file, in, s) // an error in the file is reported even if a flag or variable overrides the value
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

func settingError(val Value, in source, reason error) error {
	text := ""
	if !val.Setting.Secret {
		text = val.Setting.displayText(val.Text)
	}
	why := lang.TextOf(reason)
	if knob, ok := errors.AsType[*ratelimit.TuningError](reason); ok { // its Error would repeat key and value
		why = lang.Textf("%s; %s", lang.Text(knob.Reason), RemedyText(knob))
	}
	return &Error{Name: val.place(in), Value: text, Reason: why}
}

// RemedyText returns a translatable text that says which values are allowed instead of an invalid one.
func RemedyText(e *ratelimit.TuningError) lang.Text {
	if f, ok := ratelimit.FieldByKey(e.Keys[0]); ok && e.Remedy == "allowed is "+f.Range() {
		return lang.Textf("allowed is %s", boundsText(f.Bounds()))
	}
	return lang.Text(e.Remedy)
}

func boundsText(format string, args []any) lang.Text { return lang.Textf(format, args...) }

// complete fills in defaults that depend on other settings, reads the files that settings name, and checks settings
// that depend on each other.
func (c *Config) complete() error {
	if c.IsDefault("limiter.concurrency") { // the user may have set only concurrency_total
		c.Tuning.Concurrency = min(c.Tuning.Concurrency, c.Tuning.ConcurrencyTotal)
	}
	if err := cmp.Or(c.Tuning.Validate(), c.CheckConnectionLimit(c.Tuning)); err != nil {
		return c.combinationError(err)
	}
	if err := c.loadRedisFiles(); err != nil {
		return err
	}
	return c.loadKey()
}

func (c *Config) resolveDirs(env map[string]string) error {
	for _, d := range []struct {
		dir      *string
		standard standardDir
	}{{&c.Dirs.State, stateDir}, {&c.Dirs.Cache, cacheDir}, {&c.Dirs.Data, dataDir}} {
		if *d.dir == "" {
			var err error
			if *d.dir, err = d.standard.path(env); err != nil {
				return err
			}
		}
		abs, err := filepath.Abs(*d.dir)
		if err != nil {
			return lang.Error("resolve folder %q: %w", *d.dir, err)
		}
		*d.dir = abs
	}
	return nil
}

func (c *Config) combinationError(err error) error {
	knob, ok := errors.AsType[*ratelimit.TuningError](err)
	if !ok {
		return err
	}
	var said []string
	for i, key := range knob.Keys {
		v := c.value("limiter." + key)
		if v.Origin == "default" {
			said = append(said, fmt.Sprintf("%s=%s (%s)", key, knob.Values[i], v.Origin))
		} else {
			said = append(said, fmt.Sprintf("%s=%s", v.place(c.file), knob.Values[i]))
		}
	}
	why := lang.Textf("%s; %s", lang.Text(knob.Reason), RemedyText(knob))
	return &Error{Name: strings.Join(said, " with "), Reason: why}
}

func (c *Config) loadRedisFiles() error {
	if c.Coordinator != "redis" {
		return nil
	}
	if file := c.Redis.PasswordFile; file != "" {
		line, err := firstLine(file)
		if c.Redis.Password = NewSecret(strings.TrimRight(line, "\r")); err == nil && !c.Redis.Password.IsSet() {
			err = lang.Error("its first line is empty; write the password there")
		}
		if err != nil {
			return c.ErrorFor("coordinator_password_file", lang.TextOf(err))
		}
	}
	if file := c.Redis.CAFile; file != "" {
		raw, err := ReadFile(file)
		if err != nil {
			return c.ErrorFor("coordinator_ca_file", lang.TextOf(err))
		}
		if !x509.NewCertPool().AppendCertsFromPEM(raw) {
			return c.ErrorFor("coordinator_ca_file", "has no certificate in PEM form")
		}
		c.Redis.CA = raw
	}
	return nil
}

func (c *Config) loadKey() error {
	if !c.TMDB.Token.IsSet() && c.TMDB.TokenFile != "" {
		line, err := firstLine(c.TMDB.TokenFile)
		switch {
		case err != nil:
		case strings.TrimSpace(line) == "":
			err = lang.Error("its first line is empty; write the token there")
		default:
			c.TMDB.Token, err = readSecret(line)
		}
		if err != nil {
			return &Error{Name: "tmdb.token_file", Value: c.TMDB.TokenFile, Reason: lang.TextOf(err)}
		}
	}
	if c.TMDB.Token.IsSet() {
		c.TMDB.APIKey = Secret{}
	}
	c.clearNoneKey()
	return nil
}

func (c *Config) warnings(env map[string]string) []lang.Text {
	const holdsKey = "%s holds a key and others can read it; run: chmod 600 %[1]s"
	var out []lang.Text
	checkReadable := func(path, format string) {
		text := lang.Textf(format, path)
		if path != "" && readableByOthers(path) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, val := range c.values {
		if val.Setting.Secret && val.Origin == "config file" {
			checkReadable(c.Dirs.ConfigFile, holdsKey)
		}
	}
	for _, a := range c.Accounts {
		for _, k := range a.Keys {
			checkReadable(cmp.Or(k.File, c.Dirs.ConfigFile), holdsKey)
		}
	}
	checkReadable(c.TMDB.TokenFile, holdsKey)
	checkReadable(c.Serve.TLSKey, holdsKey)
	if c.accountsOverriddenBy != "" {
		text := "%s overrides %s: only its key is used"
		if !c.HasKey() {
			text = "%s overrides %s: no key is sent"
		}
		out = append(out, lang.Textf(text, c.accountsOverriddenBy, c.file.location("accounts")))
	}
	checkReadable(c.Redis.PasswordFile, "%s holds a password and others can read it; run: chmod 600 %[1]s")
	known := slicesx.Map(OtherVariables(), func(v Variable) string { return v.Name })
	known = append(known, slicesx.Map(Settings(), func(s Setting) string { return s.Env })...)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, "ANIVAULT_") || slices.Contains(known, name) {
			continue
		}
		text := lang.Textf("%s is not a variable that anivault reads", name)
		if near, ok := Nearest(name, known); ok {
			text = lang.Textf("%s is not a variable that anivault reads; did you mean %s?", name, near)
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
