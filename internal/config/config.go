// Package config turns flags, environment variables, the config file and defaults into one typed Config, in that order
// of precedence. No other package reads any of them. Load returns an error for an unknown key or an invalid value, with
// its name, the value and what is allowed.
package config

import (
	_ "embed" // for the table of other variables
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/wordlist"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// Config has the values of all settings.
type Config struct {
	TMDB        TMDB
	Tuning      ratelimit.Tuning
	Coordinator string // "file", "memory" or "redis"
	Redis       Redis
	Dirs        Dirs
	Cache       Cache
	Match       Match
	Log         Log
	Metrics     Metrics
	Index       index.Addresses
	Serve       Serve
	Organize    Organize
	Watch       Watch
	Accounts    []Account // empty if there is a single key, in TMDB
	Notify      []NotifyTarget

	accountsOverriddenBy string // the variable or flag whose key is used instead of Accounts
	values               []Value
	file                 source // the config file
}

// TMDB has the settings for requests to TMDB. Load uses the first of Token, TokenFile and APIKey that is set, so that
// at most one of Token and APIKey is set afterwards.
type TMDB struct {
	Token     Secret   `setting:"tmdb.token"`
	TokenFile string   `setting:"tmdb.token_file"`
	APIKey    Secret   `setting:"tmdb.api_key"`
	BaseURL   *url.URL `setting:"tmdb.base_url"` // without a trailing slash or /3
	CAFile    string   `setting:"tmdb.ca_file"`
	Languages []string `setting:"tmdb.language"` // of titles, in order of preference: "ko-KR", "en-US"
}

// HasKey reports whether there is anything to authenticate with.
func (t TMDB) HasKey() bool { return t.Token.IsSet() || t.APIKey.IsSet() }

// Redis has the settings for the coordinator.
type Redis struct {
	Address      redisstore.Address
	PasswordFile string `setting:"coordinator_password_file"`
	CAFile       string `setting:"coordinator_ca_file"`
	Password     Secret // the content of PasswordFile
	CA           []byte // the content of CAFile, in PEM form
	Prefix       string `setting:"coordinator_prefix"`
}

// Dirs are the folders for files that outlive a run, and the path of the config file, which need not exist.
type Dirs struct {
	State      string `setting:"state_dir"`
	Cache      string `setting:"cache_dir"`
	Data       string `setting:"data_dir"`
	ConfigFile string
}

// Cache has the settings of the cache.
type Cache struct {
	MaxSize int64 `setting:"cache.max_size"` // bytes
}

// Match has the settings of the match command.
type Match struct {
	MinConfidence        float64 `setting:"match.min_confidence"`
	MinEpisodeConfidence float64 `setting:"match.min_episode_confidence"`
	Type                 string  `setting:"match.type"` // "auto", "tv" or "movie"
	Order                string  `setting:"match.order"`
	IncludeAdult         bool    `setting:"match.include_adult"`
	Jobs                 int     `setting:"match.jobs"` // 0: one per CPU
}

// Log has the settings of the log.
type Log struct {
	Level    string `setting:"log.level"`
	Format   string `setting:"log.format"`
	File     string `setting:"log.file"`
	MaxSize  int64  `setting:"log.max_size"` // bytes
	MaxFiles int    `setting:"log.max_files"`
}

// Metrics has the paths of the files that metrics are written to.
type Metrics struct {
	File     string `setting:"metrics.file"`
	Textfile string `setting:"metrics.textfile"`
}

// Value is the effective value of a setting, and where it was set.
type Value struct {
	Setting Setting
	Text    string // as written; "[set]" for a secret
	Origin  string // "default", "config file", "environment ANIVAULT_X" or "flag --x"
}

// Values returns every setting's effective value, in the order of Settings.
func (c *Config) Values() []Value { return c.values }

// KeyOrigin returns where the TMDB key was set: a variable, a flag, or a file and a key in it. It is "" without a key.
func (c *Config) KeyOrigin() string {
	if len(c.Accounts) > 0 {
		return c.file.location("accounts")
	}
	if !c.TMDB.HasKey() {
		return ""
	}
	// In order of precedence.
	for _, key := range []string{"tmdb.token", "tmdb.token_file", "tmdb.api_key"} {
		switch v := c.value(key); {
		case v.Text == "":
		case key == "tmdb.token_file":
			return c.TMDB.TokenFile
		case v.Origin == "config file":
			return c.Dirs.ConfigFile + " (" + key + ")"
		default:
			return v.place(c.file)
		}
	}
	return ""
}

func (c *Config) value(key string) Value {
	i := slices.IndexFunc(c.values, func(v Value) bool { return v.Setting.Key == key })
	if i < 0 {
		return Value{Setting: Setting{Key: key}} // this Config was not made by Load
	}
	return c.values[i]
}

// IsDefault reports whether a setting has its default value because it was set nowhere.
func (c *Config) IsDefault(key string) bool { return c.value(key).Origin == "default" }

func (v Value) place(file source) string {
	switch kind, where, _ := strings.Cut(v.Origin, " "); kind {
	case "flag", "environment":
		return where
	case "config":
		return file.location(v.Setting.Key)
	}
	return v.Setting.Key
}

func (c *Config) place(key string) string { return c.value(key).place(c.file) }

// ErrorFor returns an error for a setting whose value proved wrong when it was used. key must be one of Settings.
func (c *Config) ErrorFor(key string, reason lang.Text) *Error {
	v := c.value(key)
	e := &Error{Name: v.place(c.file), Reason: reason}
	if !v.Setting.Secret {
		e.Value = v.Text
	}
	return e
}

// Variable is an environment variable that is not a setting.
type Variable struct{ Name, Doc string }

// OtherVariables returns the environment variables that anivault reads or sets besides those of the settings.
var OtherVariables = wordlist.Table[Variable](variablesJSON)

//go:embed variables.json
var variablesJSON []byte

// Error is the error for a setting with an invalid value.
type Error struct {
	Name   string    // where the user wrote the value: a flag, a variable, or a key with its file
	Value  string    // "" for secrets
	Reason lang.Text // what is allowed, or what to do

	Others []*Error // further errors of the same configuration, for `config validate`
}

func (e *Error) Error() string { return e.Text().String() }

// Text returns the translatable text of Error.
func (e *Error) Text() lang.Text {
	name := lang.Text(e.Name)
	if e.Value == "" {
		return lang.Textf("%s: %s", name, e.Reason)
	}
	return lang.Textf("%s: %q: %s", name, redactTokens(e.Value), e.Reason)
}

// standardDir describes a default folder: an XDG base directory on Unix (also on macOS, where users of a terminal
// expect ~/.config), and a folder in %AppData% or %LocalAppData% on Windows.
type standardDir struct{ xdgVariable, homeSubfolder, windowsVariable, windowsSubfolder string }

var (
	configDir = standardDir{"XDG_CONFIG_HOME", ".config", "AppData", ""}
	stateDir  = standardDir{"XDG_STATE_HOME", ".local/state", "LocalAppData", "state"}
	cacheDir  = standardDir{"XDG_CACHE_HOME", ".cache", "LocalAppData", "cache"}
	dataDir   = standardDir{"XDG_DATA_HOME", ".local/share", "LocalAppData", "data"}
)

var errNoHome = &Error{
	Name: "HOME",
	Reason: "it is not set, and anivault keeps its files below it; set it, or ANIVAULT_STATE_DIR, ANIVAULT_CACHE_DIR " +
		"and ANIVAULT_DATA_DIR",
}

func (d standardDir) path(env map[string]string) (string, error) {
	const appName = "anivault"
	if runtime.GOOS == "windows" {
		if env[d.windowsVariable] == "" {
			return "", &Error{Name: "%" + d.windowsVariable + "%", Reason: "it is not set, and anivault keeps its files " +
				"below it"}
		}
		return filepath.Join(env[d.windowsVariable], appName, d.windowsSubfolder), nil
	}
	if base := env[d.xdgVariable]; filepath.IsAbs(base) { // the XDG specification: relative paths are ignored
		return filepath.Join(base, appName), nil
	}
	if env["HOME"] == "" {
		return "", errNoHome
	}
	return filepath.Join(env["HOME"], filepath.FromSlash(d.homeSubfolder), appName), nil
}

func readableByOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}
