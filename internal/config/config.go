// Package config turns flags, environment variables, the config file and defaults into one typed Config, in that order
// of precedence. No other package reads any of them. An unknown key or a value that is not allowed is refused before
// any work starts, with its name, the value and what is allowed.
package config

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// Config is everything that can be set, checked and complete.
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
	Index       Index
	Serve       Serve
	Organize    Organize
	Watch       Watch
	Accounts    []Account // empty: the one key of TMDB

	overruled string // the variable or flag whose key stands in place of Accounts
	values    []Value
	in        source // the config file
}

// TMDB says how TMDB is reached. Of Token, TokenFile and APIKey the first that is set has been chosen:
// after Load at most one of Token and APIKey is set.
type TMDB struct {
	Token     Secret
	TokenFile string
	APIKey    Secret
	BaseURL   *url.URL // without a trailing slash or /3
	CAFile    string
	Languages []string // "ko-KR", "en-US": of titles, the first that TMDB has
}

// HasKey reports whether there is anything to authenticate with.
func (t TMDB) HasKey() bool { return t.Token.IsSet() || t.APIKey.IsSet() }

// Redis says how the coordinator is reached.
type Redis struct {
	Address              redisstore.Address
	PasswordFile, CAFile string
	Password             Secret // of PasswordFile
	CA                   []byte // PEM, of CAFile
	Prefix               string
}

// Dirs are the folders that outlive a run, and the config file that was or would be read.
type Dirs struct {
	State, Cache, Data string
	ConfigFile         string
}

// Cache holds the cache's settings.
type Cache struct{ MaxSize int64 } // bytes

// Match holds the defaults of the match command.
type Match struct {
	MinConfidence        float64
	MinEpisodeConfidence float64
	Type                 string // "auto", "tv" or "movie"
	IncludeAdult         bool
	Jobs                 int // 0: by CPU
}

// Log says what is logged where.
type Log struct {
	Level, Format, File string
	MaxSize             int64 // bytes
	MaxFiles            int
}

// Metrics says where metrics go.
type Metrics struct{ File, Textfile string }

// Index says where `index update` fetches lists; an empty address is not fetched.
type Index struct{ AnimeListsURL, AniDBTitlesURL, TMDBExportsURL, AnimeIDsURL string }

// Value is one effective setting and where it came from.
type Value struct {
	Setting Setting
	Text    string // as written; "[set]" for a secret
	Origin  string // "default", "config file", "environment ANIVAULT_X" or "flag --x"
}

// Values returns every setting's effective value, in the order of Settings.
func (c *Config) Values() []Value { return c.values }

// KeyOrigin returns where the token or key in force was written: a variable, or a file and its key. It is "" where
// there is none.
func (c *Config) KeyOrigin() string {
	if len(c.Accounts) > 0 {
		return c.in.at("accounts")
	}
	if !c.TMDB.HasKey() {
		return ""
	}
	// In the order in which they are chosen.
	for _, key := range []string{"tmdb.token", "tmdb.token_file", "tmdb.api_key"} {
		switch v := c.value(key); {
		case v.Text == "":
		case key == "tmdb.token_file":
			return c.TMDB.TokenFile
		case v.Origin == "config file":
			return c.Dirs.ConfigFile + " (" + key + ")"
		default:
			return v.place(c.in)
		}
	}
	return ""
}

func (c *Config) value(key string) Value {
	i := slices.IndexFunc(c.values, func(v Value) bool { return v.Setting.Key == key })
	if i < 0 {
		return Value{Setting: Setting{Key: key}} // of a Config that was not loaded
	}
	return c.values[i]
}

func (c *Config) isDefault(key string) bool { return c.value(key).Origin == "default" }

func (v Value) place(file source) string {
	switch kind, where, _ := strings.Cut(v.Origin, " "); kind {
	case "flag", "environment":
		return where
	case "config":
		return file.at(v.Setting.Key)
	}
	return v.Setting.Key
}

func (c *Config) place(key string) string { return c.value(key).place(c.in) }

// Refuse returns the error of a setting that proved to be wrong when it was used; key must be one of the table's.
func (c *Config) Refuse(key string, reason lang.Text) *Error {
	v := c.value(key)
	e := &Error{Name: v.place(c.in), Reason: reason}
	if !v.Setting.Secret {
		e.Value = v.Text
	}
	return e
}

// Variable is an environment variable beside those of the settings.
type Variable struct{ Name, Doc string }

// OtherVariables returns the variables that are read outside the table of settings.
func OtherVariables() []Variable {
	return []Variable{
		{"ANIVAULT_CONFIG", "The config file to read instead of the default one."},
		{"HTTPS_PROXY", "Proxy for requests, as in other programs; so are HTTP_PROXY and NO_PROXY."},
		{"NOTIFY_SOCKET", "Where systemd hears that serve is ready or stopping."},
		{"NO_COLOR", "If set, no colour unless --color always; TERM=dumb means that and no status line."},
		{"TERM", "dumb: a terminal without colours and cursor movements."},
		{"ANIVAULT_RUN_ID", "Set for the program of organize.exec: the run that changed something."},
		{"ANIVAULT_CHANGED", "Set for the program of organize.exec: how many files were put in place."},
		{"VISUAL", "The editor for a plan that organize has shown; split at spaces, no shell."},
		{"EDITOR", "As VISUAL, where that is not set (default: vi)."},
		{"LC_ALL", "The language of messages, Korean where it begins with ko, else English; the flag --lang wins."},
		{"LC_MESSAGES", "As LC_ALL, where that is not set."},
		{"LANG", "As LC_ALL, where neither that nor LC_MESSAGES is set."},
		{"HOME", "Below it lie the files for which neither a variable nor XDG names a place."},
		{"XDG_CONFIG_HOME", "The config file is anivault/config.yaml below it (default: ~/.config)."},
		{"XDG_STATE_HOME", "The limiter's state is in anivault below it (default: ~/.local/state)."},
		{"XDG_CACHE_HOME", "The cache is in anivault below it (default: ~/.cache)."},
		{"XDG_DATA_HOME", "Pins and title index are in anivault below it (default: ~/.local/share)."},
		{"AppData", "On Windows: the config file is anivault\\config.yaml below it."},
		{"LocalAppData", "On Windows: state, cache and data are in anivault below it."},
	}
}

// Error is a setting that can't be used.
type Error struct {
	Name   string    // as the person wrote it: a flag, a variable, or a key with its file
	Value  string    // "" for secrets
	Reason lang.Text // what is allowed, or what to do

	Others []*Error // what else can't be used, for those who want to hear all at once
}

// Error implements error: name, value, remedy.
func (e *Error) Error() string { return e.Text().String() }

// Text is what Error says, for people.
func (e *Error) Text() lang.Text {
	name := lang.Text(e.Name)
	if e.Value == "" {
		return lang.Textf("%s: %s", name, e.Reason)
	}
	return lang.Textf("%s: %q: %s", name, e.Value, e.Reason)
}

// standardDir is where files live unless a setting says otherwise: the XDG base directories on Unix (also on macOS,
// where people who use a terminal expect ~/.config), %AppData% and %LocalAppData% on Windows.
type standardDir struct{ xdg, belowHome, windows, sub string }

var (
	configDir = standardDir{"XDG_CONFIG_HOME", ".config", "AppData", ""}
	stateDir  = standardDir{"XDG_STATE_HOME", ".local/state", "LocalAppData", "state"}
	cacheDir  = standardDir{"XDG_CACHE_HOME", ".cache", "LocalAppData", "cache"}
	dataDir   = standardDir{"XDG_DATA_HOME", ".local/share", "LocalAppData", "data"}
)

var errNoHome = &Error{
	Name: "HOME",
	Reason: "it is not set, and files live below it; set it, or ANIVAULT_STATE_DIR, ANIVAULT_CACHE_DIR and " +
		"ANIVAULT_DATA_DIR",
}

func (d standardDir) path(env map[string]string) (string, error) {
	const appName = "anivault"
	if runtime.GOOS == "windows" {
		if env[d.windows] == "" {
			return "", &Error{Name: "%" + d.windows + "%", Reason: "it is not set, and files live below it"}
		}
		return filepath.Join(env[d.windows], appName, d.sub), nil
	}
	if base := env[d.xdg]; filepath.IsAbs(base) { // the XDG specification: relative paths are ignored
		return filepath.Join(base, appName), nil
	}
	if env["HOME"] == "" {
		return "", errNoHome
	}
	return filepath.Join(env["HOME"], filepath.FromSlash(d.belowHome), appName), nil
}

func readableByOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}
