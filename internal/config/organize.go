package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// Organize has the settings of the organize command.
type Organize struct {
	To, ToTV, ToMovies string // target folders
	Mode               organize.Mode
	ModeFallback       string // what to do if Mode can't cross file systems: "copy", or "" to skip the file
	Layout             string
	Template           organize.Templates // for the layout custom
	MinConfidence      float64
	OnConflict         string // "report" or "version"
	Extras             string // "leave" or "follow"
	NFO                string // "auto", "off", "ids" or "full"
	AbsoluteLinks      bool
	Replace            map[string]string
	Exec               []string // the program to run afterwards, and its arguments; may be empty
}

var customTemplates = organize.LayoutTemplates("custom")

func organizeSettings(c *Config) []Setting {
	return []Setting{
		pathSetting("organize.to", "Where organize puts files.", &c.Organize.To),
		pathSetting("organize.to_tv", "Where it puts series, instead of organize.to.", &c.Organize.ToTV),
		pathSetting("organize.to_movies", "Where it puts films, instead of organize.to.", &c.Organize.ToMovies),
		choiceSetting("organize.mode", "How files get to their new names.", (*string)(&c.Organize.Mode),
			"hardlink", "hardlink", "move", "symlink", "copy", "reflink"),
		choiceSetting("organize.or", "What to do where the mode can't cross file systems: off skips the file.",
			&c.Organize.ModeFallback, "off", "off", "copy"),
		choiceSetting("organize.layout", "The media server whose naming rules are used.", &c.Organize.Layout,
			"jellyfin", organize.LayoutNames()...),
		templateSetting("show", customTemplates.Show, &c.Organize.Template.Show),
		templateSetting("season", customTemplates.Season, &c.Organize.Template.Season),
		templateSetting("episode", customTemplates.Episode, &c.Organize.Template.Episode),
		templateSetting("movie", customTemplates.Movie, &c.Organize.Template.Movie),
		ratioSetting("organize.min_confidence", "0.9", "Files with a lower confidence are skipped.",
			&c.Organize.MinConfidence),
		choiceSetting("organize.on_conflict",
			"What to do with files that would get the same name: report skips all of them, version gives them labels.",
			&c.Organize.OnConflict, "report", "report", "version"),
		choiceSetting("organize.extras",
			"What to do with extras, such as trailers and creditless openings; samples are always skipped.",
			&c.Organize.Extras, "leave", "leave", "follow"),
		choiceSetting("organize.nfo",
			"Which files for media servers are written: ids has the ids of the entry, full all that is known; auto is ids "+
				"for kodi, else off.", &c.Organize.NFO, "auto", "auto", "off", "ids", "full"),
		boolSetting("organize.absolute_links",
			"Symbolic links contain the absolute path of their file; otherwise the relative one.",
			&c.Organize.AbsoluteLinks),
		{
			Key: "organize.replace", List: true, Allowed: "pairs such as :=꞉, several with commas",
			Doc: "Characters that are replaced in titles.", set: c.Organize.setReplace,
		},
		{
			Key: "organize.exec", Args: true,
			Allowed: "a program; in the config file also a list, the program and its arguments",
			Doc:     "Program to run after a run that changed something; no shell.",
			set: func(v string) error {
				c.Organize.Exec = strings.Split(v, argSeparator)
				return nil
			},
		},
	}
}

// Watch has the settings of the watch command.
type Watch struct{ Settle, Rescan, Poll time.Duration }

func watchSettings(c *Config) []Setting {
	return []Setting{
		durationSetting("watch.settle", "60s", "How long a folder must stay unchanged before it is organized.",
			&c.Watch.Settle),
		durationSetting("watch.rescan", "10m",
			"How often the whole watched folder is scanned, in addition to the system's notifications.", &c.Watch.Rescan),
		durationSetting("watch.poll", "1m", "How often it is scanned where the system sends no notifications.",
			&c.Watch.Poll),
	}
}

func templateSetting(name, defaultText string, target *string) Setting {
	return newSetting("organize.template."+name, defaultText, "a template; see: anivault help templates",
		fmt.Sprintf("Template of names in the layout custom: %s.", name), target, acceptAny)
}

func (o *Organize) setReplace(v string) error {
	o.Replace = map[string]string{}
	for pair := range strings.SplitSeq(v, ",") {
		from, to, found := strings.Cut(pair, "=")
		if !found || from == "" {
			return lang.Error("must be pairs such as :=꞉, several with commas")
		}
		o.Replace[from] = to
	}
	return nil
}
