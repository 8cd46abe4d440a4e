package organize

import (
	"errors"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// Layout describes the library of a media server: the templates of its names, and its differences from other servers.
type Layout struct {
	Name    string
	Show    Template // a show's folder
	Season  Template // a season's folder in it
	Episode Template // an episode's file in the season's folder, without extension
	Movie   Template // a film's folder and file, without extension

	between  string // separates the numbers of several episodes
	gaps     bool   // the server reads lists of episodes with gaps
	versions bool   // the server supports several versions of an episode
	extras   string // the folder of an entry's extras
}

// Templates are a layout's four templates as text.
type Templates struct{ Show, Season, Episode, Movie string }

// layoutTable lists the layouts. The last one, Custom, has the defaults for the user's own templates.
var layoutTable = []struct {
	name      string
	templates Templates
	layout    Layout
}{
	{"jellyfin", jellyfin, Layout{between: "-E", extras: "extras"}},
	{"plex", Templates{
		Show:    "{title}< ({year})> {{tmdb-{tmdb}}}",
		Season:  "Season {season:2}",
		Episode: "{title}< ({year})> - S{season:2}E{episode:2}< - {episode_title}>",
		Movie:   twice("{title}< ({year})> {{tmdb-{tmdb}}}< {{edition-{edition}}}>"),
	}, Layout{between: "-E", versions: true, extras: "Other"}},
	{"kodi", Templates{
		Show:    "{title}< ({year})>",
		Season:  "Season {season:2}",
		Episode: "{title} S{season:2}E{episode:2}< - {episode_title}>",
		Movie:   twice("{title}< ({year})>"),
	}, Layout{between: "E", gaps: true, extras: "extras"}},
	{"emby", jellyfin, Layout{between: "-E", extras: "extras"}},
	{Custom, jellyfin, Layout{between: "-E", extras: "extras"}},
}

// Custom is the layout whose templates the user sets.
const Custom = "custom"

var jellyfin = Templates{
	Show:    "{title}< ({year})> [tmdbid-{tmdb}]",
	Season:  "Season {season:2}",
	Episode: "{title}< ({year})> S{season:2}E{episode:2}< - {episode_title}>",
	Movie:   twice("{title}< ({year})> [tmdbid-{tmdb}]"),
}

// twice returns a film's path. The file must have its folder's name, or servers take versions for separate films.
func twice(name string) string { return name + "/" + name }

// LayoutNames returns the names of the layouts.
func LayoutNames() []string {
	var names []string
	for _, row := range layoutTable {
		names = append(names, row.name)
	}
	return names
}

// LayoutTemplates returns a layout's templates as text.
func LayoutTemplates(name string) Templates {
	for _, row := range layoutTable {
		if row.name == name {
			return row.templates
		}
	}
	return Templates{}
}

// NewLayout returns the named layout. For "custom", non-empty templates of own replace the defaults. If a template is
// invalid, the error is a *TemplateError.
func NewLayout(name string, own Templates) (Layout, error) {
	i := slices.Index(LayoutNames(), name)
	if i < 0 {
		return Layout{}, lang.Error("there is no layout %q: there are %s", name, strings.Join(LayoutNames(), ", "))
	}
	layout, texts := layoutTable[i].layout, layoutTable[i].templates
	layout.Name = name
	var errs []error
	for _, t := range []struct {
		to        *Template
		text, own string
	}{
		{&layout.Show, texts.Show, own.Show},
		{&layout.Season, texts.Season, own.Season},
		{&layout.Episode, texts.Episode, own.Episode},
		{&layout.Movie, texts.Movie, own.Movie},
	} {
		if name == Custom && t.own != "" {
			t.text = t.own
		}
		var err error
		*t.to, err = ParseTemplate(t.text)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return Layout{}, errs[slices.IndexFunc(errs, func(e error) bool { return e != nil })]
	}
	e := layout.Episode
	if !e.has(fieldName) && (!e.has(fieldSeason) || !e.has(fieldEpisode)) {
		return Layout{}, &TemplateError{
			Template: e.text, At: 1,
			Problem: "the name of an episode needs {season} and {episode}, or {name}: something is missing",
		}
	}
	return layout, nil
}

func (l *Layout) isOwnFolder(kind string) bool {
	if kind == "tv" {
		return names(l.Show.nodes)
	}
	text := l.Movie.text
	slash := strings.LastIndexByte(text, '/')
	if slash < 0 {
		return false
	}
	folder, err := ParseTemplate(text[:slash])
	return err == nil && names(folder.nodes)
}

func names(nodes []node) bool {
	return slices.ContainsFunc([]field{fieldTitle, fieldOriginalTitle, fieldTMDB, fieldTVDB, fieldIMDB},
		func(f field) bool {
			return has(nodes, f)
		})
}
