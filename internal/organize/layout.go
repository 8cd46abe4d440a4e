package organize

import (
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// Layout describes the library of a media server: the templates of its names, and how the server differs from others.
type Layout struct {
	Name    string
	Show    Template // a show's folder
	Season  Template // a season's folder in it
	Episode Template // an episode's file in the season's folder, without the extension
	Movie   Template // a film's folder and file, without the extension

	episodeSeparator string   // between the numbers of several episodes in one file
	allowsGaps       bool     // the server understands a file with episodes that are not consecutive
	supportsVersions bool     // the server supports several versions of an episode
	extrasFolder     string   // the name of the folder for extras
	movieFolder      Template // the part of Movie before the last slash; empty if films get no folder
}

// Templates are the four templates of a layout as text.
type Templates struct{ Show, Season, Episode, Movie string }

// layoutTable lists the layouts. Custom, the last one, has the defaults for templates that the user sets.
var layoutTable = []struct {
	name      string
	templates Templates
	layout    Layout
}{
	{"jellyfin", jellyfinTemplates, Layout{episodeSeparator: "-E", extrasFolder: "extras"}},
	{"plex", Templates{
		Show:    "{title}< ({year})> {{tmdb-{tmdb}}}",
		Season:  "Season {season:2}",
		Episode: "{title}< ({year})> - S{season:2}E{episode:2}< - {episode_title}>",
		Movie:   folderAndFile("{title}< ({year})> {{tmdb-{tmdb}}}< {{edition-{edition}}}>"),
	}, Layout{episodeSeparator: "-E", supportsVersions: true, extrasFolder: "Other"}},
	{"kodi", Templates{
		Show:    "{title}< ({year})>",
		Season:  "Season {season:2}",
		Episode: "{title} S{season:2}E{episode:2}< - {episode_title}>",
		Movie:   folderAndFile("{title}< ({year})>"),
	}, Layout{episodeSeparator: "E", allowsGaps: true, extrasFolder: "extras"}},
	{"emby", jellyfinTemplates, Layout{episodeSeparator: "-E", extrasFolder: "extras"}},
	{CustomLayout, jellyfinTemplates, Layout{episodeSeparator: "-E", extrasFolder: "extras"}},
}

// CustomLayout is the layout whose templates the user sets.
const CustomLayout = "custom"

var jellyfinTemplates = Templates{
	Show:    "{title}< ({year})> [tmdbid-{tmdb}]",
	Season:  "Season {season:2}",
	Episode: "{title}< ({year})> S{season:2}E{episode:2}< - {episode_title}>",
	Movie:   folderAndFile("{title}< ({year})> [tmdbid-{tmdb}]"),
}

// folderAndFile returns a film's template. With other folder names, media servers take versions for separate films.
func folderAndFile(name string) string { return name + "/" + name }

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

// NewLayout returns the layout with the name. For Custom, the non-empty templates in own replace the defaults. If a
// template is invalid, the error is a *TemplateError.
func NewLayout(name string, own Templates) (Layout, error) {
	i := slices.Index(LayoutNames(), name)
	if i < 0 {
		return Layout{}, lang.Error("there is no layout %q: there are %s", name, strings.Join(LayoutNames(), ", "))
	}
	layout, texts := layoutTable[i].layout, layoutTable[i].templates
	layout.Name = name
	for _, t := range []struct {
		to        *Template
		text, own string
	}{
		{&layout.Show, texts.Show, own.Show},
		{&layout.Season, texts.Season, own.Season},
		{&layout.Episode, texts.Episode, own.Episode},
		{&layout.Movie, texts.Movie, own.Movie},
	} {
		if name == CustomLayout && t.own != "" {
			t.text = t.own
		}
		var err error
		if *t.to, err = ParseTemplate(t.text); err != nil {
			return Layout{}, err
		}
	}
	if slash := strings.LastIndexByte(layout.Movie.text, '/'); slash >= 0 {
		layout.movieFolder, _ = ParseTemplate(layout.Movie.text[:slash]) // empty if the slash is in an optional piece
	}
	e := layout.Episode
	if !e.hasField(fieldName) && (!e.hasField(fieldSeason) || !e.hasField(fieldEpisode)) {
		return Layout{}, &TemplateError{
			Template: e.text, Position: 1,
			Problem: "the name of an episode needs {season} and {episode}, or {name}: something is missing",
		}
	}
	return layout, nil
}

// hasOwnFolder reports whether each work of this kind gets a folder of its own.
func (l *Layout) hasOwnFolder(kind string) bool {
	folder := l.movieFolder
	if kind == "tv" {
		folder = l.Show
	}
	return slices.ContainsFunc([]field{fieldTitle, fieldOriginalTitle, fieldTMDB, fieldTVDB, fieldIMDB}, folder.hasField)
}
