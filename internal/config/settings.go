package config

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// Setting describes a setting: its key and variable, its default, and what is allowed.
type Setting struct {
	Key     string    // the config file's key, with a dot between section and name
	Env     string    // the environment variable, derived from the key: tmdb.base_url is ANIVAULT_TMDB_BASE_URL
	Default string    // as the user would write it; "" for none
	Allowed lang.Text // the allowed values, for messages and the documentation
	Choices []string  // the allowed words, if there are only a few
	Doc     string    // one sentence
	Secret  bool      // never shown
	List    bool      // items with commas between them; in the file also a YAML list
	Args    bool      // a program; in the file also a list with its arguments, which set gets joined by argSeparator
	set     func(string) error
}

// argSeparator separates a program and its arguments. No argument can contain it.
const argSeparator = "\x00"

// Settings returns all settings, in the order of the documentation. Callers must not change them.
func Settings() []Setting { return settings() }

var settings = sync.OnceValue(func() []Setting { return newSettings(new(Config)) })

func newSettings(c *Config) []Setting {
	all := slices.Concat(generalSettings(c), serveSettings(c), organizeSettings(c), watchSettings(c))
	for i := range all {
		all[i].Env = "ANIVAULT_" + strings.ToUpper(strings.ReplaceAll(all[i].Key, ".", "_"))
	}
	for _, f := range ratelimit.Fields() {
		all = append(all, Setting{
			Key: "limiter." + f.Key, Env: LimiterVariable(f.Key), Default: f.Default(), Doc: f.Doc,
			Allowed: boundsText(f.Bounds()), set: func(v string) error { return f.Set(&c.Tuning, v) },
		})
	}
	return all
}

// LimiterVariable returns the environment variable of a setting of the limiter: rate_base is ANIVAULT_RATE_BASE.
func LimiterVariable(key string) string { return "ANIVAULT_" + strings.ToUpper(key) }

// SettingByKey returns the setting with this key. It panics if there is none.
func SettingByKey(key string) Setting {
	for _, s := range Settings() {
		if s.Key == key {
			return s
		}
	}
	panic("no setting " + key) // a bug in the caller
}

func generalSettings(c *Config) []Setting {
	return []Setting{
		secretSetting("tmdb.token", "a TMDB API Read Access Token",
			"TMDB API Read Access Token (v4), sent as a Bearer header; none sends no key to an address that is not TMDB's.",
			&c.TMDB.Token),
		pathSetting("tmdb.token_file", "File whose first line is the token; used when tmdb.token is not set.",
			&c.TMDB.TokenFile),
		secretSetting("tmdb.api_key", "a TMDB API key (v3)", "TMDB API key (v3); used when there is no token.",
			&c.TMDB.APIKey),
		newSetting("tmdb.base_url", "https://api.themoviedb.org", "an http or https URL",
			"Where TMDB's API is; a trailing /3 is accepted. Each base URL has its own state and cache.", &c.TMDB.BaseURL,
			readBaseURL),
		pathSetting("tmdb.ca_file", "PEM file of further certificate authorities to trust for the base URL.", &c.TMDB.CAFile),
		newSetting("tmdb.language", "en-US", "a language such as en-US, ko-KR or ja, or several with commas",
			"Language of titles and episode names, or a list such as ko-KR,en-US: titles are in the first that TMDB has, "+
				"else in the original.", &c.TMDB.Languages, readLanguages),
		{
			Key: "coordinator", Default: "file", set: c.setCoordinator,
			Allowed: "file, memory, redis://[user@]host:port/db, rediss:// (TLS) or unix:///path?db=0",
			Doc: "Who shares the limiter: file, all of your processes on this machine; memory, this process alone; an " +
				"address, all machines that name the same Redis or Valkey.",
		},
		pathSetting("coordinator_password_file", "File whose first line is the coordinator's password.",
			&c.Redis.PasswordFile),
		pathSetting("coordinator_ca_file",
			"PEM file of the certificate authorities to trust for a rediss:// coordinator, instead of the system's.",
			&c.Redis.CAFile),
		newSetting("coordinator_prefix", "anivault", "letters, digits, dots, underscores, hyphens, colons",
			"Prefix of all keys in the coordinator.", &c.Redis.Prefix, readPrefix),
		pathSetting("state_dir", "Folder of the limiter's shared state.", &c.Dirs.State),
		pathSetting("cache_dir", "Folder of the cache.", &c.Dirs.Cache),
		pathSetting("data_dir", "Folder of the pins and the title index.", &c.Dirs.Data),
		sizeSetting("cache.max_size", "512MB",
			"Largest size of the cache: expired answers are removed first, then the oldest.", "1MiB", &c.Cache.MaxSize),
		ratioSetting("match.min_confidence", "0.8", "Files with a lower confidence are ambiguous, never a silent guess.",
			&c.Match.MinConfidence),
		ratioSetting("match.min_episode_confidence", "0.9",
			"Files with a lower confidence have their entry, but no season and episode.", &c.Match.MinEpisodeConfidence),
		choiceSetting("match.type", "What the files are.", &c.Match.Type, "auto", "auto", "tv", "movie"),
		boolSetting("match.include_adult", "Passed on to TMDB's search.", &c.Match.IncludeAdult),
		integerSetting("match.jobs", "0",
			"How many files are parsed at once; not the number of requests, which the limiter decides.",
			"from 0 (by CPU) to 256", 0, 256, &c.Match.Jobs),
		urlsSetting("index.anime_lists_url",
			"https://raw.githubusercontent.com/Anime-Lists/anime-lists/master/anime-list-master.xml,"+
				"https://cdn.jsdelivr.net/gh/Anime-Lists/anime-lists@master/anime-list-master.xml",
			"Where index update fetches Anime-Lists' XML: the first address with a good list is used.",
			&c.Index.AnimeListsURLs),
		urlsSetting("index.anidb_titles_url", "https://anidb.net/api/anime-titles.xml.gz",
			"Where index update fetches AniDB's anime-titles, once a day at most.", &c.Index.AniDBTitlesURLs),
		urlsSetting("index.tmdb_exports_url", "https://files.tmdb.org/p/exports",
			"The folder in which index update finds TMDB's daily exports of ids.", &c.Index.TMDBExportsURLs),
		urlsSetting("index.anime_ids_url",
			"https://raw.githubusercontent.com/Fribb/anime-lists/master/anime-list-full.json,"+
				"https://cdn.jsdelivr.net/gh/Fribb/anime-lists@master/anime-list-full.json",
			"Where index update fetches the ids of AniList and MyAnimeList.", &c.Index.AnimeIDsURLs),
		choiceSetting("log.level", "What is logged to stderr; a log file gets info and above at least.", &c.Log.Level, "warn",
			"error", "warn", "info", "debug"),
		choiceSetting("log.format", "Form of log lines.", &c.Log.Format, "logfmt", "logfmt", "json"),
		pathSetting("log.file", "File to log to as well.", &c.Log.File),
		sizeSetting("log.max_size", "10MB", "Size at which the log file is rotated.", "4KiB", &c.Log.MaxSize),
		integerSetting("log.max_files", "4", "How many log files are kept, the current one included.",
			"from 1 to 100", 1, 100, &c.Log.MaxFiles),
		newSetting("metrics.file", "", "a path, or - for stdout where it carries no results",
			"File that metrics are appended to as NDJSON.", &c.Metrics.File, acceptAny),
		pathSetting("metrics.textfile", "File that metrics are written to in Prometheus' text format.", &c.Metrics.Textfile),
	}
}

func newSetting[T any](
	key, defaultText string, allowed lang.Text, doc string, target *T, read func(string) (T, error),
) Setting {
	return Setting{Key: key, Default: defaultText, Allowed: allowed, Doc: doc, set: parseInto(target, read)}
}

func parseInto[T any](target *T, read func(string) (T, error)) func(string) error {
	return func(v string) error {
		value, err := read(v)
		if err == nil {
			*target = value
		}
		return err
	}
}

func listSetting[T any](
	key, defaultText string, allowed lang.Text, doc string, target *[]T, read func(string) (T, error),
) Setting {
	s := newSetting(key, defaultText, allowed, doc, target, func(v string) (list []T, err error) {
		for text := range strings.SplitSeq(v, ",") {
			item, err := read(strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	})
	s.List = true
	return s
}

func secretSetting(key string, allowed lang.Text, doc string, target *Secret) Setting {
	s := newSetting(key, "", allowed, doc, target, readSecret)
	s.Secret = true
	return s
}

func pathSetting(key, doc string, target *string) Setting {
	return newSetting(key, "", "a path", doc, target, acceptAny)
}

func acceptAny(v string) (string, error) { return v, nil }

func choiceSetting(key, doc string, target *string, defaultText string, words ...string) Setting {
	last := len(words) - 1
	allowed := lang.Textf("%s or %s", strings.Join(words[:last], ", "), words[last])
	s := newSetting(key, defaultText, allowed, doc, target, readOneOf(words))
	s.Choices = words
	return s
}

func readOneOf(words []string) func(string) (string, error) {
	return func(v string) (string, error) {
		if !slices.Contains(words, v) {
			return "", lang.Error("must be one of %s", strings.Join(words, ", "))
		}
		return v, nil
	}
}

func sizeSetting(key, defaultText, doc, minimum string, target *int64) Setting {
	allowed := lang.Textf("a size such as %s", defaultText)
	return newSetting(key, defaultText, allowed, doc, target, func(v string) (int64, error) {
		n, err := ParseSize(v)
		if least, _ := ParseSize(minimum); err == nil && n < least {
			err = lang.Error("must be %s or more", minimum)
		}
		return n, err
	})
}

func integerSetting(key, defaultText, doc string, allowed lang.Text, minimum, maximum int, target *int) Setting {
	return newSetting(
		key, defaultText, lang.Textf("a whole number %s", allowed), doc, target, readInteger(minimum, maximum),
	)
}

func readInteger(minimum, maximum int) func(string) (int, error) {
	return func(v string) (int, error) {
		n, err := strconv.Atoi(v)
		if err != nil || n < minimum || n > maximum {
			return 0, lang.Error("must be a whole number from %d to %d", minimum, maximum)
		}
		return n, nil
	}
}

func boolSetting(key, doc string, target *bool) Setting {
	return newSetting(key, "false", "true or false", doc, target, func(v string) (bool, error) {
		b, err := strconv.ParseBool(v)
		if err != nil {
			err = lang.Error("must be true or false")
		}
		return b, err
	})
}

func ratioSetting(key, defaultText, doc string, target *float64) Setting {
	const allowed = "a number from 0 to 1, or a percentage such as 80%"
	return newSetting(key, defaultText, allowed, doc, target, func(v string) (float64, error) {
		number, percent := strings.CutSuffix(v, "%")
		f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if percent {
			f /= 100
		}
		if err != nil || !(f >= 0 && f <= 1) {
			return 0, lang.Error("must be %s", lang.Text(allowed))
		}
		return f, nil
	})
}

func durationSetting(key, defaultText, doc string, target *time.Duration) Setting {
	allowed := lang.Textf("a time such as %s, at most 24h", defaultText)
	return newSetting(key, defaultText, allowed, doc, target, func(v string) (time.Duration, error) {
		var t ratelimit.Tuning
		wait, _ := ratelimit.FieldByKey("max_wait")
		if err := wait.Set(&t, v); err != nil || t.MaxWait <= 0 {
			return 0, lang.Error("must be a time such as %s, above 0 and at most 24h", defaultText)
		}
		return t.MaxWait, nil
	})
}

// acceptOff makes a setting also accept off, which it stores in target as the value off.
func acceptOff[T any](s Setting, target *T, off T) Setting {
	set := s.set
	s.Allowed = lang.Textf("%s, or off", s.Allowed)
	s.set = func(v string) error {
		if v == "off" {
			*target = off
			return nil
		}
		return set(v)
	}
	return s
}

// urlsSetting is the URLs of a list for index update, tried in order. They must be https, so that nobody can change the
// list in transit; http is allowed only on this machine. The value off is stored as nil.
func urlsSetting(key, defaultText, doc string, target *[]string) Setting {
	read := func(v string) (string, error) {
		u, err := url.Parse(v)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
			return "", lang.Error("must be an https URL, or off")
		case u.User != nil:
			return "", lang.Error("must not have a user or password")
		case u.Scheme == "http" && !isLoopback(u.Hostname()):
			return "", lang.Error("must be an https URL (http on this very machine only), or off")
		}
		return v, nil
	}
	return acceptOff(listSetting(key, defaultText, "https URLs, tried in order", doc, target, read), target, nil)
}

func readSecret(v string) (Secret, error) {
	v = strings.TrimSpace(v)
	if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Secret{}, lang.Error("has a space or a character that no key has; " +
			"copy it again from https://www.themoviedb.org/settings/api")
	}
	return NewSecret(v), nil
}

func (c *Config) setCoordinator(v string) error {
	c.Coordinator = v
	if v == "file" || v == "memory" {
		return nil
	}
	if !strings.Contains(v, ":") {
		return lang.Error("must be file, memory, or an address such as redis://host:6379")
	}
	var err error
	c.Coordinator = "redis"
	c.Redis.Address, err = redisstore.ParseAddress(v)
	return err
}

func readPrefix(v string) (string, error) {
	if len(v) > 64 || strings.ContainsFunc(v, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("._-:", r)
	}) {
		return "", lang.Error("must be at most 64 letters, digits, dots, underscores, hyphens and colons")
	}
	return v, nil
}

func readBaseURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, lang.Error("must be an http or https URL such as https://api.themoviedb.org")
	case u.User != nil:
		return nil, lang.Error("must not have a user or password")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, lang.Error("must not have a query or fragment")
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/3")
	// State and cache are kept by address, so each address must have a single spelling.
	host, port, found := strings.Cut(strings.ToLower(u.Host), ":")
	if strings.HasPrefix(host, "[") { // IPv6
		return u, nil
	}
	u.Host = strings.TrimSuffix(host, ".")
	if found && port != map[string]string{"https": "443", "http": "80"}[u.Scheme] {
		u.Host += ":" + port
	}
	return u, nil
}

func readLanguages(v string) (list []string, err error) {
	for part := range strings.SplitSeq(v, ",") {
		language, region, found := strings.Cut(strings.TrimSpace(part), "-")
		if len(language) < 2 || len(language) > 3 || !isASCIILetters(language) ||
			found && (len(region) != 2 || !isASCIILetters(region)) {
			return nil, lang.Error("must be a language such as en-US, ko-KR or ja, or several with commas")
		}
		tag := strings.ToLower(language)
		if found {
			tag += "-" + strings.ToUpper(region)
		}
		if !slices.Contains(list, tag) {
			list = append(list, tag)
		}
	}
	return list, nil
}

func isASCIILetters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' })
}

// ParseSize reads a number of bytes: digits, then nothing or one of B, KB, MB, GB, TB (powers of 1000)
// or KiB, MiB, GiB, TiB (powers of 1024), in any case.
func ParseSize(s string) (int64, error) {
	fail := lang.Error("must be a size such as 512MB or 1GiB")
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
