package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/ratelimit"
)

// This file is the one table of settings. A setting's key is its place in the config file; its variable
// is derived from it, so there is nothing to remember: tmdb.base_url is ANIVAULT_TMDB_BASE_URL. The
// limiter's settings come from ratelimit.Fields and drop the "limiter." in their variable.

// Setting describes one setting: where it may be written, what it is when nobody writes it, and how a
// written value becomes part of a Config.
type Setting struct {
	Key     string // the config file's key, with a dot between section and name
	Env     string // the environment variable
	Default string // as it would be written; empty means "not set"
	Allowed string // what may be written, for messages and documents
	Doc     string // one sentence
	Secret  bool   // never shown
	apply   func(*Config, string) error
}

// Settings returns the table, in the order in which documents list it.
func Settings() []Setting {
	all := append([]Setting(nil), ownSettings...)
	for _, f := range ratelimit.Fields() {
		all = append(all, Setting{
			Key: "limiter." + f.Key, Env: LimiterVariable(f.Key), Default: f.Default, Doc: f.Doc, Allowed: f.Range,
			apply: func(c *Config, v string) error { return f.Set(&c.Tuning, v) },
		})
	}
	return all
}

// LimiterVariable returns the environment variable of a setting of the limiter: rate_base is ANIVAULT_RATE_BASE.
func LimiterVariable(key string) string { return "ANIVAULT_" + strings.ToUpper(key) }

// Default returns the default of a setting as it would be written; key must be one of the table's.
func Default(key string) string {
	for _, s := range Settings() {
		if s.Key == key {
			return s.Default
		}
	}
	panic("no setting " + key) // a mistake of the caller's source
}

// oneOf accepts exactly the given words and hands the chosen one on.
func oneOf(set func(*Config, string), words ...string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		set(c, v)
		return nil
	}
}

// text accepts anything.
func text(set func(*Config, string)) func(*Config, string) error {
	return func(c *Config, v string) error { set(c, v); return nil }
}

func boolean(set func(*Config, bool)) func(*Config, string) error {
	return func(c *Config, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("must be true or false")
		}
		set(c, b)
		return nil
	}
}

func size(set func(*Config, int64), least int64) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := ParseSize(v)
		if err != nil {
			return err
		}
		if n < least {
			return fmt.Errorf("must be at least %d bytes", least)
		}
		set(c, n)
		return nil
	}
}

func whole(set func(*Config, int), least, most int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		set(c, n)
		return nil
	}
}

var ownSettings = []Setting{
	{
		Key: "tmdb.token", Env: "ANIVAULT_TMDB_TOKEN", Secret: true, Allowed: "a TMDB API Read Access Token",
		Doc: "TMDB API Read Access Token (v4), sent as a Bearer header.", apply: applySecret(func(c *Config) *Secret { return &c.TMDB.Token }),
	},
	{
		Key: "tmdb.token_file", Env: "ANIVAULT_TMDB_TOKEN_FILE", Allowed: "a path",
		Doc: "File whose first line is the token; used when tmdb.token is not set.", apply: text(func(c *Config, v string) { c.TMDB.TokenFile = v }),
	},
	{
		Key: "tmdb.api_key", Env: "ANIVAULT_TMDB_API_KEY", Secret: true, Allowed: "a TMDB API key (v3)",
		Doc: "TMDB API key (v3); used when there is no token.", apply: applySecret(func(c *Config) *Secret { return &c.TMDB.APIKey }),
	},
	{
		Key: "tmdb.base_url", Env: "ANIVAULT_TMDB_BASE_URL", Default: "https://api.themoviedb.org", Allowed: "an http or https URL",
		Doc: "Where TMDB's API is; a trailing /3 is accepted. State and cache belong to one base URL.", apply: applyBaseURL,
	},
	{
		Key: "tmdb.ca_file", Env: "ANIVAULT_TMDB_CA_FILE", Allowed: "a path",
		Doc: "PEM file of further certificate authorities to trust for the base URL.", apply: text(func(c *Config, v string) { c.TMDB.CAFile = v }),
	},
	{
		Key: "tmdb.language", Env: "ANIVAULT_TMDB_LANGUAGE", Default: "en-US", Allowed: "a language such as en-US, ko-KR or ja",
		Doc: "Language of titles and episode names; TMDB's default where it has none.", apply: applyLanguage,
	},
	{
		Key: "coordinator", Env: "ANIVAULT_COORDINATOR", Default: "file", Allowed: "file or memory",
		Doc: "Who shares the limiter: file, all of your processes on this machine; memory, this process alone.",
		apply: func(c *Config, v string) error {
			if strings.HasPrefix(v, "redis:") {
				return fmt.Errorf("must be file or memory (a Redis coordinator does not exist yet)")
			}
			return oneOf(func(c *Config, v string) { c.Coordinator = v }, "file", "memory")(c, v)
		},
	},
	{
		Key: "state_dir", Env: "ANIVAULT_STATE_DIR", Allowed: "a path",
		Doc: "Where the limiter's shared state lives.", apply: text(func(c *Config, v string) { c.Dirs.State = v }),
	},
	{
		Key: "cache_dir", Env: "ANIVAULT_CACHE_DIR", Allowed: "a path",
		Doc: "Where TMDB's answers are kept.", apply: text(func(c *Config, v string) { c.Dirs.Cache = v }),
	},
	{
		Key: "data_dir", Env: "ANIVAULT_DATA_DIR", Allowed: "a path",
		Doc: "Where pins and the title index live.", apply: text(func(c *Config, v string) { c.Dirs.Data = v }),
	},
	{
		Key: "cache.max_size", Env: "ANIVAULT_CACHE_MAX_SIZE", Default: "512MB", Allowed: "a size such as 512MB",
		Doc: "Size the cache is kept below: expired answers go first, then those fetched longest ago.", apply: size(func(c *Config, n int64) { c.Cache.MaxSize = n }, 1<<20),
	},
	{
		Key: "match.min_confidence", Env: "ANIVAULT_MATCH_MIN_CONFIDENCE", Default: "0.8", Allowed: "a number from 0 to 1",
		Doc: "Below it a file is ambiguous, never a silent guess.", apply: applyConfidence,
	},
	{
		Key: "match.type", Env: "ANIVAULT_MATCH_TYPE", Default: "auto", Allowed: "auto, tv or movie",
		Doc: "What the files are.", apply: oneOf(func(c *Config, v string) { c.Match.Type = v }, "auto", "tv", "movie"),
	},
	{
		Key: "match.include_adult", Env: "ANIVAULT_MATCH_INCLUDE_ADULT", Default: "false", Allowed: "true or false",
		Doc: "Passed on to TMDB's search.", apply: boolean(func(c *Config, b bool) { c.Match.IncludeAdult = b }),
	},
	{
		Key: "match.jobs", Env: "ANIVAULT_MATCH_JOBS", Default: "0", Allowed: "a whole number from 0 (by CPU) to 256",
		Doc: "Local parsing parallelism; never the number of requests, which the limiter decides.", apply: whole(func(c *Config, n int) { c.Match.Jobs = n }, 0, 256),
	},
	{
		Key: "index.anime_lists_url", Env: "ANIVAULT_INDEX_ANIME_LISTS_URL", Default: "https://raw.githubusercontent.com/Anime-Lists/anime-lists/master/anime-list-master.xml",
		Allowed: "an https URL, or off", Doc: "Where index update fetches Anime-Lists' XML.", apply: applyList(func(c *Config) *string { return &c.Index.AnimeListsURL }),
	},
	{
		Key: "index.anidb_titles_url", Env: "ANIVAULT_INDEX_ANIDB_TITLES_URL", Default: "https://anidb.net/api/anime-titles.xml.gz",
		Allowed: "an https URL, or off", Doc: "Where index update fetches AniDB's anime-titles, once a day at most.", apply: applyList(func(c *Config) *string { return &c.Index.AniDBTitlesURL }),
	},
	{
		Key: "index.tmdb_exports_url", Env: "ANIVAULT_INDEX_TMDB_EXPORTS_URL", Default: "https://files.tmdb.org/p/exports",
		Allowed: "an https URL, or off", Doc: "The folder in which index update finds TMDB's daily exports of ids.", apply: applyList(func(c *Config) *string { return &c.Index.TMDBExportsURL }),
	},
	{
		Key: "log.level", Env: "ANIVAULT_LOG_LEVEL", Default: "warn", Allowed: "error, warn, info or debug",
		Doc: "What is logged to stderr; a log file gets info and above at least.", apply: oneOf(func(c *Config, v string) { c.Log.Level = v }, "error", "warn", "info", "debug"),
	},
	{
		Key: "log.format", Env: "ANIVAULT_LOG_FORMAT", Default: "logfmt", Allowed: "logfmt or json",
		Doc: "Form of log lines.", apply: oneOf(func(c *Config, v string) { c.Log.Format = v }, "logfmt", "json"),
	},
	{
		Key: "log.file", Env: "ANIVAULT_LOG_FILE", Allowed: "a path",
		Doc: "File to log to as well.", apply: text(func(c *Config, v string) { c.Log.File = v }),
	},
	{
		Key: "log.max_size", Env: "ANIVAULT_LOG_MAX_SIZE", Default: "10MB", Allowed: "a size such as 10MB",
		Doc: "Size at which the log file is rotated.", apply: size(func(c *Config, n int64) { c.Log.MaxSize = n }, 4<<10),
	},
	{
		Key: "log.max_files", Env: "ANIVAULT_LOG_MAX_FILES", Default: "4", Allowed: "a whole number from 1 to 100",
		Doc: "How many log files are kept, the current one included.", apply: whole(func(c *Config, n int) { c.Log.MaxFiles = n }, 1, 100),
	},
	{
		Key: "metrics.file", Env: "ANIVAULT_METRICS_FILE", Allowed: "a path, or - for stdout where it carries no results",
		Doc: "File that metrics are appended to as NDJSON.", apply: text(func(c *Config, v string) { c.Metrics.File = v }),
	},
	{
		Key: "metrics.textfile", Env: "ANIVAULT_METRICS_TEXTFILE", Allowed: "a path",
		Doc: "File that metrics are written to in Prometheus' text format.", apply: text(func(c *Config, v string) { c.Metrics.Textfile = v }),
	},
}

// Variable is an environment variable that is no setting.
type Variable struct{ Name, Doc string }

// OtherVariables returns the variables that are read outside the table of settings.
func OtherVariables() []Variable {
	return []Variable{
		{"ANIVAULT_CONFIG", "The config file to read instead of the default one."},
		{"HTTPS_PROXY", "Proxy for requests, as in other programs; so are HTTP_PROXY and NO_PROXY."},
		{"NO_COLOR", "If set, no colour unless --color always; TERM=dumb means that and no status line."},
		{"TERM", "dumb: a terminal without colours and cursor movements."},
		{"HOME", "Below it lie the files for which neither a variable nor XDG names a place."},
		{"XDG_CONFIG_HOME", "The config file is anivault/config.yaml below it (default: ~/.config)."},
		{"XDG_STATE_HOME", "The limiter's state is in anivault below it (default: ~/.local/state)."},
		{"XDG_CACHE_HOME", "The cache is in anivault below it (default: ~/.cache)."},
		{"XDG_DATA_HOME", "Pins and title index are in anivault below it (default: ~/.local/share)."},
		{"AppData", "On Windows: the config file is anivault\\config.yaml below it."},
		{"LocalAppData", "On Windows: state, cache and data are in anivault below it."},
	}
}

func applySecret(field func(*Config) *Secret) func(*Config, string) error {
	return func(c *Config, v string) error {
		v = strings.TrimSpace(v)
		if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("holds a space or a character that no key has; copy it again from https://www.themoviedb.org/settings/api")
		}
		*field(c) = NewSecret(v)
		return nil
	}
}

func applyBaseURL(c *Config, v string) error {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("must be an http or https URL such as https://api.themoviedb.org")
	case u.User != nil:
		return fmt.Errorf("must not hold a user or password")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("must not hold a query or fragment")
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/3")
	c.TMDB.BaseURL = u
	return nil
}

// applyList accepts the address of a list: https, so that nobody on the way changes it, or http on this very machine.
func applyList(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		*field(c) = ""
		if v == "off" {
			return nil
		}
		u, err := url.Parse(v)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
			return fmt.Errorf("must be an https URL, or off")
		case u.User != nil:
			return fmt.Errorf("must not hold a user or password")
		case u.Scheme == "http" && !isLoopback(u.Hostname()):
			return fmt.Errorf("must be an https URL (http on this very machine only), or off")
		}
		*field(c) = v
		return nil
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func applyLanguage(c *Config, v string) error {
	language, region, found := strings.Cut(v, "-")
	letters := func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' })
	}
	if len(language) < 2 || len(language) > 3 || !letters(language) || found && (len(region) != 2 || !letters(region)) {
		return fmt.Errorf("must be a language such as en-US, ko-KR or ja")
	}
	c.TMDB.Language = strings.ToLower(language)
	if found {
		c.TMDB.Language += "-" + strings.ToUpper(region)
	}
	return nil
}

func applyConfidence(c *Config, v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return fmt.Errorf("must be a number from 0 to 1")
	}
	c.Match.MinConfidence = f
	return nil
}

// ParseSize reads a number of bytes: digits, then nothing or one of B, KB, MB, GB, TB (powers of 1000)
// or KiB, MiB, GiB, TiB (powers of 1024), in any case.
func ParseSize(s string) (int64, error) {
	fail := fmt.Errorf("must be a size such as 512MB or 1GiB")
	digits := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(s)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil {
		return 0, fail
	}
	units := map[string]int64{
		"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}
	unit, ok := units[strings.ToLower(strings.TrimSpace(s[digits:]))]
	if !ok || n > (1<<62)/unit {
		return 0, fail
	}
	return n * unit, nil
}
