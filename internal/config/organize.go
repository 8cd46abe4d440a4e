package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

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

// NotifyTarget is an address that gets notices: a media server, or a service for people.
type NotifyTarget struct {
	Kind     string // one of NotifyKinds
	URL      *url.URL
	Token    Secret // from token_file
	Paths    []PathMapping
	On       []string // events; see NotifyEvents
	Template string   // of a webhook's body; "": the notice as JSON
}

// PathMapping says that our folder From is the server's folder To.
type PathMapping struct{ From, To string }

// NotifyKinds are the kinds of targets: media servers, then services.
var NotifyKinds = []string{"jellyfin", "emby", "plex", "kodi", "ntfy", "webhook"}

// NotifyEvents are the events of notices.
var NotifyEvents = []string{"changed", "failed", "left", "limiter", "key", "budget", "coordinator"}

// IsMediaServer reports whether the target scans changed folders.
func (t *NotifyTarget) IsMediaServer() bool { return t.Kind != "ntfy" && t.Kind != "webhook" }

// Name returns the kind and the address without its path and query, which may hold a secret.
func (t *NotifyTarget) Name() string { return t.Kind + " " + t.URL.Scheme + "://" + t.URL.Host }

const targetForm = "each address has to and url, such as - {to: jellyfin, url: http://nas:8096, token_file: /path}"

var targetSchema = listSchema[NotifyTarget]{
	key: "notify", prefix: "notify.", notList: targetForm, notSection: targetForm,
	unknown: "is not a setting of an address; there are %s",
	newItem: func(string) (t NotifyTarget) { return t },
	fields: func(r reader, t *NotifyTarget) []schemaField {
		return []schemaField{
			{
				key: "to", allowed: lang.Text("one of " + strings.Join(NotifyKinds, ", ")),
				set: parseInto(&t.Kind, readOneOf(NotifyKinds)),
			},
			{key: "url", allowed: "an address such as http://nas:8096", secret: true, set: parseInto(&t.URL, readTargetURL)},
			{key: "token_file", allowed: "a file that can be read", set: func(v string) error {
				line, err := firstLine(v)
				t.Token = NewSecret(strings.TrimSpace(line))
				return err
			}},
			{key: "template", allowed: "a text", set: parseInto(&t.Template, acceptAny)},
			{key: "on", read: func(v *yaml.Node) {
				for _, event := range v.Content {
					t.On = append(t.On, event.Value)
				}
				if v.Kind != yaml.SequenceNode || len(t.On) == 0 ||
					slices.ContainsFunc(t.On, func(e string) bool { return !slices.Contains(NotifyEvents, e) }) {
					r.reject(v, "notify.on", strings.Join(t.On, ", "),
						lang.Textf("must be a list of events; there are %s", strings.Join(NotifyEvents, ", ")))
				}
			}},
			{key: "paths", read: func(v *yaml.Node) {
				if v.Kind != yaml.MappingNode {
					r.reject(v, "notify.paths", v.Value, "must be a section with our folders and the server's, such as "+
						"{/srv/library: /media}")
					return
				}
				for i := 0; i+1 < len(v.Content); i += 2 {
					t.Paths = append(t.Paths, PathMapping{v.Content[i].Value, v.Content[i+1].Value})
				}
			}},
		}
	},
	checkItem: func(r reader, item *yaml.Node, t *NotifyTarget) {
		switch {
		case t.Kind == "" || t.URL == nil:
			r.reject(item, "notify", "", targetForm)
		case t.Template != "" && t.Kind != "webhook":
			r.reject(item, "notify.template", "", "only a webhook has a template")
		case t.On == nil && t.IsMediaServer():
			t.On = []string{"changed"}
		case t.On == nil:
			t.On = []string{"failed", "left", "limiter", "key", "budget"}
		}
	},
}

func readTargetURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err == nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		err = strconv.ErrSyntax
	}
	return u, err
}

func readTargets(in source, problems *errorList) []NotifyTarget {
	at, node := findKey(in.root, "notify")
	if at == nil {
		return nil
	}
	return targetSchema.readAll(reader{in, problems}, node)
}
