package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

var settingFlags = []struct {
	key, name string
	usage     lang.Text
}{
	{"log.level", "log-level", "`LEVEL` logged to stderr: error, warn, info or debug"},
	{"log.format", "log-format", "`FORM` of log lines: logfmt or json"},
	{"log.file", "log-file", "log to `FILE` as well"},
	{"metrics.file", "metrics-file", "append metrics to `FILE` as NDJSON"},
	{"metrics.textfile", "metrics-textfile", "write metrics to `FILE` in Prometheus' text format"},

	{"tmdb.language", "language", "`LANGUAGE` of titles, such as ko-KR, or several: ko-KR,en-US"},
	{"limiter.max_wait", "max-wait", "`TIME` one request may wait for permission, retries included"},
	{"limiter.request_timeout", "request-timeout", "timeout for one HTTP request, a `TIME` such as 15s"},
	{"limiter.auto_recover", "auto-recover", "wait out an outage; in CacheOnly, probe TMDB every `PERIOD`, such as 15m"},
	{"match.min_confidence", "min-confidence", "below this `NUMBER` from 0 to 1 a file is ambiguous"},
	{
		"match.min_episode_confidence", "min-episode-confidence",
		"below this `NUMBER` from 0 to 1 a file has no season and episode",
	},
	{"match.type", "type", "`KIND` of the files: auto, tv or movie"},
	{"match.include_adult", "include-adult", "let TMDB's search return adult titles"},
	{"match.jobs", "jobs", "read and parse `N` files at once; does not change the number of requests (default: by CPU)"},
	{"serve.admin_listen", "admin-listen", "`ADDR` of the page and the API for admins, host:port, or off"},

	{"organize.to", "to", "`FOLDER` to organize the library in; it must exist"},
	{"organize.to_tv", "to-tv", "`FOLDER` for series, in place of --to"},
	{"organize.to_movies", "to-movies", "`FOLDER` for films, in place of --to"},
	{"organize.mode", "mode", "`HOW` files get there: hardlink, move, symlink, copy or reflink"},
	{"organize.or", "or", "`WHAT` to do where the mode can't cross file systems: off skips the file, copy copies it"},
	{
		"organize.layout", "layout",
		lang.Text(fmt.Sprintf(layoutUsage, servers())),
	},
	{"organize.min_confidence", "min-confidence", "skip files with a confidence below this `NUMBER` from 0 to 1"},
	{
		"organize.on_conflict", "on-conflict",
		"`WHAT` to do with files that would get the same name: report skips them, version gives them labels",
	},
	{
		"organize.extras", "extras",
		"`WHAT` to do with trailers, creditless openings and other extras: leave skips them, follow puts them with their " +
			"series or film",
	},
	{
		"organize.nfo", "nfo",
		"`WHICH` files for media servers are written: off, ids (which entry it is), full (all that is known), " +
			"auto (ids for kodi)",
	},
	{"organize.exec", "exec", "`PROGRAM` that runs once something was changed, with the changed folders on its stdin"},

	{"watch.settle", "settle", "wait until nothing in a folder has changed for `TIME`"},
	{"watch.rescan", "rescan", "scan everything each `TIME`, in addition to the system's notifications"},
	{"watch.poll", "poll", "scan everything each `TIME` where no notifications come, such as over a network"},
}

// noDefault are settings whose default is not in the help: -v changes it, or the help says it in words.
var noDefault = []string{"log.level", "log.format", "match.jobs"}

func servers() string {
	own := func(name string) bool { return name == "custom" }
	return strings.Join(slices.DeleteFunc(organize.LayoutNames(), own), ", ")
}

const settingKey = "setting"

func addSettings(cmd *cobra.Command, flags *pflag.FlagSet, keys ...string) {
	for _, row := range settingFlags {
		if !slices.Contains(keys, row.key) {
			continue
		}
		s := config.SettingOf(row.key)
		if s.Default == "false" {
			flags.Bool(row.name, false, string(row.usage))
		} else {
			flags.String(row.name, s.Default, string(row.usage))
		}
		_ = flags.SetAnnotation(row.name, settingKey, []string{row.key}) // it is there
		if slices.Contains(noDefault, row.key) {
			flags.Lookup(row.name).DefValue = ""
		}
		if len(s.Words) > 0 {
			completeWords(cmd, row.name, s.Words...)
		}
	}
}
