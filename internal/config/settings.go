package config

import (
	"cmp"
	_ "embed" // for the table of settings
	"io/fs"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/wordlist"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
)

// Setting describes a setting: its key and variable, its default, and what is allowed. Each is a row of settings.json
// and a field of Config with its key; the field's type says how a text is read.
type Setting struct {
	Key     string    // the config file's key, with a dot between section and name
	Env     string    // the environment variable, by default made of the key: ANIVAULT_TMDB_BASE_URL
	Default string    // as the user would write it; "" for none
	Allowed lang.Text // the allowed values, for messages and the documentation
	Choices []string  // the allowed words, if there are only a few
	Range   [2]int    // of a whole number: the smallest and the largest
	Minimum string    // of a size
	Doc     string    // one sentence
	Secret  bool      // never shown
	Off     bool      // the word off is allowed too
	Restart bool      // takes effect in a gateway only after a restart
	List    bool      // items with commas between them; in the file also a YAML list
	Args    bool      // a program; in the file also a list with its arguments, which set gets joined by argSeparator
	set     func(string) error
}

//go:embed settings.json
var settingsJSON []byte

var settingRows = wordlist.Table[Setting](settingsJSON)

// argSeparator separates a program and its arguments. No argument can contain it.
const argSeparator = "\x00"

// Settings returns all settings, in the order of the documentation. Callers must not change them.
var Settings = sync.OnceValue(func() []Setting { return newSettings(new(Config)) })

func newSettings(c *Config) []Setting {
	all, layouts, template := slices.Clone(settingRows()), organize.Layouts(), &c.Organize.Template
	*template = layouts[len(layouts)-1].Templates
	targets := map[string]any{
		"coordinator": c.setCoordinator, "organize.template.show": &template.Show,
		"organize.template.season": &template.Season, "organize.template.episode": &template.Episode,
		"organize.template.movie": &template.Movie,
	}
	addTargets(targets, reflect.ValueOf(c).Elem())
	for i := range all {
		all[i].Env = cmp.Or(all[i].Env, "ANIVAULT_"+strings.ToUpper(strings.ReplaceAll(all[i].Key, ".", "_")))
		all[i].bind(targets[all[i].Key])
	}
	for _, f := range ratelimit.Fields() {
		all = append(all, Setting{
			Key: "limiter." + f.Key, Env: LimiterVariable(f.Key), Default: f.Default(), Doc: f.Doc,
			Allowed: boundsText(f.Bounds()), set: func(v string) error { return f.Set(&c.Tuning, v) },
			Restart: f.Key == "processes",
		})
	}
	return all
}

// addTargets adds a pointer to each field of a struct that has the key of a setting.
func addTargets(targets map[string]any, section reflect.Value) {
	for field, value := range section.Fields() {
		if key := field.Tag.Get("setting"); key != "" {
			targets[key] = value.Addr().Interface()
		} else if field.Type.Kind() == reflect.Struct && field.IsExported() {
			addTargets(targets, value)
		}
	}
}

// bind makes s.set store the value in target. It fills in what the target's type implies, such as the allowed values.
func (s *Setting) bind(target any) {
	switch target := target.(type) {
	case func(string) error:
		s.set = target
	case *Secret:
		s.set = parseInto(target, readSecret)
	case *bool:
		s.Default, s.Allowed, s.set = "false", "true or false", parseInto(target, readBool)
	case *int:
		s.Allowed, s.set = lang.Textf("a whole number %s", s.Allowed), parseInto(target, s.readInteger)
	case *int64:
		s.Allowed, s.set = lang.Textf("a size such as %s", s.Default), parseInto(target, s.readSize)
	case *float64:
		s.Allowed, s.set = allowedRatio, parseInto(target, readRatio)
	case *time.Duration:
		s.Allowed = lang.Textf("a time such as %s, at most 24h", s.Default)
		s.set = parseInto(target, s.readDuration)
	case *fs.FileMode:
		s.set = parseInto(target, readFileMode)
	case **url.URL:
		s.set = parseInto(target, readBaseURL)
	case *ratelimit.Budget:
		s.set = parseInto(target, readLimit)
	case *[]netip.Prefix:
		s.set = parseInto(target, listOf(readProxy))
	case *map[string]string:
		s.set = parseInto(target, readReplacements)
	case *[]string:
		s.set = parseInto(target, listReaders[s.Key])
	case *organize.Mode:
		s.bindText((*string)(target))
	case *string:
		s.bindText(target)
	default:
		panic("no field for " + s.Key) // a bug: a row without a field
	}
	if s.Off {
		s.acceptOff(reflect.ValueOf(target).Elem())
	}
}

func (s *Setting) bindText(target *string) {
	if s.Key == "organize.layout" {
		s.Choices = organize.LayoutNames()
	}
	read, known := textReaders[s.Key]
	switch last := len(s.Choices) - 1; {
	case last > 0:
		s.Allowed = lang.Textf("%s or %s", strings.Join(s.Choices[:last], ", "), s.Choices[last])
		read = readIf(func(v string) bool { return slices.Contains(s.Choices, v) },
			lang.Textf("must be one of %s", strings.Join(s.Choices, ", ")))
	case !known:
		read = func(v string) (string, error) { return v, nil }
	}
	s.Default, s.Allowed = cmp.Or(s.Default, *target), cmp.Or(s.Allowed, "a path")
	s.set = parseInto(target, read)
}

// acceptOff makes s.set also accept "off". It stores off as the zero value, but as a negative time.
func (s *Setting) acceptOff(target reflect.Value) {
	s.Allowed = lang.Textf("%s, or off", s.Allowed)
	off, set := reflect.Zero(target.Type()), s.set
	if target.Type() == reflect.TypeFor[time.Duration]() {
		off = reflect.ValueOf(time.Duration(-1))
	}
	s.set = func(v string) error {
		if v == "off" {
			target.Set(off)
			return nil
		}
		return set(v)
	}
}

// LimiterVariable returns the environment variable of a setting of the limiter: rate_base is ANIVAULT_RATE_BASE.
func LimiterVariable(key string) string { return "ANIVAULT_" + strings.ToUpper(key) }

// SettingByKey returns the setting with this key. It panics if there is none.
func SettingByKey(key string) Setting {
	all := Settings()
	return all[slices.IndexFunc(all, func(s Setting) bool { return s.Key == key })]
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

// textReaders parse the text settings that are not paths.
var textReaders = map[string]func(string) (string, error){
	"coordinator_prefix": readIf(func(v string) bool { return prefixPattern().MatchString(v) },
		"must be at most 64 letters, digits, dots, underscores, hyphens and colons"),
	"match.order":        readIf(orders.Valid, "must be tmdb, absolute, tvdb, anidb or group:NAME"),
	"serve.admin_listen": readIf(isHostAndPort, "must be host:port such as 127.0.0.1:7374, or off"),
	"serve.socket_group": readIf(isGroup, "must be a group's name or number"),
}

// listReaders parse the settings that are lists of texts.
var listReaders = map[string]func(string) ([]string, error){
	"tmdb.language": readLanguages, "serve.listen": listOf(readAddress),
	"serve.hosts": listOf(readIf(isHost, "must be host names in lower case, without scheme, port or *: "+
		"with a * any web page could reach the gateway")),
	"organize.exec":         func(v string) ([]string, error) { return strings.Split(v, argSeparator), nil },
	"index.anime_lists_url": listOf(readListURL), "index.anidb_titles_url": listOf(readListURL),
	"index.tmdb_exports_url": listOf(readListURL), "index.anime_ids_url": listOf(readListURL),
}

func listOf[T any](read func(string) (T, error)) func(string) ([]T, error) {
	return func(v string) (list []T, err error) {
		for text := range strings.SplitSeq(v, ",") {
			item, err := read(strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	}
}

// readIf returns a function that returns a text unchanged, or the reason why it is not valid.
func readIf(valid func(string) bool, reason lang.Text) func(string) (string, error) {
	return func(v string) (string, error) {
		if !valid(v) {
			return "", lang.Error("%s", reason)
		}
		return v, nil
	}
}

func (s *Setting) readSize(v string) (int64, error) {
	n, err := ParseSize(v)
	if least, _ := ParseSize(s.Minimum); err == nil && n < least {
		err = lang.Error("must be %s or more", s.Minimum)
	}
	return n, err
}

func (s *Setting) readInteger(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < s.Range[0] || n > s.Range[1] {
		return 0, lang.Error("must be a whole number from %d to %d", s.Range[0], s.Range[1])
	}
	return n, nil
}

func readBool(v string) (bool, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		err = lang.Error("must be true or false")
	}
	return b, err
}

const allowedRatio = "a number from 0 to 1, or a percentage such as 80%"

func readRatio(v string) (float64, error) {
	number, percent := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, lang.Error("must be %s", lang.Text(allowedRatio))
	}
	return f, nil
}

func (s *Setting) readDuration(v string) (time.Duration, error) {
	var t ratelimit.Tuning
	wait, _ := ratelimit.FieldByKey("max_wait")
	if err := wait.Set(&t, v); err != nil || t.MaxWait <= 0 {
		return 0, lang.Error("must be a time such as %s, above 0 and at most 24h", s.Default)
	}
	return t.MaxWait, nil
}

func readListURL(v string) (string, error) { return v, index.CheckAddress(v) }

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

var prefixPattern = lazyregexp.New(`^[\w.:-]{0,64}$`)

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

var languagePattern = lazyregexp.New(`^[A-Za-z]{2,3}(-[A-Za-z]{2})?$`)

func readLanguages(v string) (list []string, err error) {
	for part := range strings.SplitSeq(v, ",") {
		part = strings.TrimSpace(part)
		if !languagePattern().MatchString(part) {
			return nil, lang.Error("must be a language such as en-US, ko-KR or ja, or several separated by commas")
		}
		language, region, _ := strings.Cut(part, "-")
		tag := strings.TrimSuffix(strings.ToLower(language)+"-"+strings.ToUpper(region), "-")
		if !slices.Contains(list, tag) {
			list = append(list, tag)
		}
	}
	return list, nil
}

// ParseSize reads a number of bytes: digits, then nothing or one of B, KB, MB, GB, TB (powers of 1000)
// or KiB, MiB, GiB, TiB (powers of 1024), in any case.
func ParseSize(s string) (int64, error) {
	unit := strings.TrimLeft(s, "0123456789")
	n, err := strconv.ParseInt(strings.TrimSuffix(s, unit), 10, 64)
	units := map[string]int64{
		"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}
	bytes, ok := units[strings.ToLower(strings.TrimSpace(unit))]
	if err != nil || !ok || n > (1<<62)/bytes {
		return 0, lang.Error("must be a size such as 512MB or 1GiB")
	}
	return n * bytes, nil
}
