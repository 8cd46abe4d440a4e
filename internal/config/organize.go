package config

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/slicesx"
)

// Organize has the settings of the organize command.
type Organize struct {
	To            string             `setting:"organize.to"` // the target folder, unless one of the next two is set
	ToTV          string             `setting:"organize.to_tv"`
	ToMovies      string             `setting:"organize.to_movies"`
	Mode          organize.Mode      `setting:"organize.mode"`
	ModeFallback  string             `setting:"organize.or"` // if Mode can't cross file systems: "copy" or "off"
	Layout        string             `setting:"organize.layout"`
	Template      organize.Templates // for the layout custom
	MinConfidence float64            `setting:"organize.min_confidence"`
	OnConflict    string             `setting:"organize.on_conflict"` // "report" or "version"
	Extras        string             `setting:"organize.extras"`      // "leave" or "follow"
	NFO           string             `setting:"organize.nfo"`         // "auto", "off", "ids" or "full"
	AbsoluteLinks bool               `setting:"organize.absolute_links"`
	Replace       map[string]string  `setting:"organize.replace"`
	Exec          []string           `setting:"organize.exec"` // the program to run afterwards, and its arguments
}

// Watch has the settings of the watch command.
type Watch struct {
	Settle time.Duration `setting:"watch.settle"`
	Rescan time.Duration `setting:"watch.rescan"`
	Poll   time.Duration `setting:"watch.poll"`
}

func readReplacements(v string) (map[string]string, error) {
	replacements := map[string]string{}
	for pair := range strings.SplitSeq(v, ",") {
		from, to, found := strings.Cut(pair, "=")
		if !found || from == "" {
			return nil, lang.Error("must be pairs such as :=꞉, separated by commas")
		}
		replacements[from] = to
	}
	return replacements, nil
}

// NotifyTarget is an address that gets notices: a media server, or a service for people.
type NotifyTarget struct {
	Kind     string // jellyfin, emby, plex, kodi, ntfy or webhook
	URL      *url.URL
	Token    Secret // from token_file
	Paths    []PathMapping
	On       []string // events; see NotifyEvents
	Template string   // of a webhook's body; "": the notice as JSON
}

// PathMapping says that our folder From is the server's folder To.
type PathMapping struct{ From, To string }

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
	targets: func(r reader, t *NotifyTarget) map[string]any {
		return map[string]any{
			"to": &t.Kind, "url": parseInto(&t.URL, readTargetURL),
			"template": &t.Template,
			"token_file": func(v string) error {
				line, err := firstLine(ExpandHome(v, r.source.home))
				t.Token = NewSecret(strings.TrimSpace(line))
				return err
			},
			"on": func(v *yaml.Node) {
				t.On = slicesx.Map(v.Content, func(event *yaml.Node) string { return event.Value })
				if v.Kind != yaml.SequenceNode || len(t.On) == 0 ||
					slices.ContainsFunc(t.On, func(e string) bool { return !slices.Contains(NotifyEvents, e) }) {
					r.reject(v, "notify.on", strings.Join(t.On, ", "),
						lang.Textf("must be a list of events; there are %s", strings.Join(NotifyEvents, ", ")))
				}
			},
			"paths": func(v *yaml.Node) {
				if v.Kind != yaml.MappingNode {
					r.reject(v, "notify.paths", v.Value, "must be a section with our folders and the server's, such as "+
						"{/srv/library: /media}")
					return
				}
				for i := 0; i+1 < len(v.Content); i += 2 {
					t.Paths = append(t.Paths, PathMapping{ExpandHome(v.Content[i].Value, r.source.home), v.Content[i+1].Value})
				}
			},
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
