package organize

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/anivault/anivault/internal/orders"
)

func parsed(t *testing.T, text string) Template {
	t.Helper()
	tmpl, err := ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func frieren() *fieldValues {
	return &fieldValues{
		fieldTitle: "Frieren", fieldYear: "2023", fieldTMDB: "209867", fieldSeason: "1", fieldEpisode: "1",
		fieldEpisodeTitle: "One",
		fieldResolution:   "1080p", fieldName: "[G] Frieren - 01",
	}
}

func TestTemplatesRender(t *testing.T) {
	for _, row := range []struct {
		name, template, want string
		set                  map[field]string
	}{
		{"text", "abc", "abc", nil},
		{"fields", "{title} {tmdb}", "Frieren 209867", nil},
		{"padded", "{season:2}x{episode:3}", "01x001", nil},
		{"padded already", "{tmdb:2}", "209867", nil},
		{"several padded", "{episode:2}", "01-E02", map[field]string{fieldEpisode: "1-E2"}},
		{"a fraction padded", "{absolute:3}", "012.5", map[field]string{fieldAbsolute: "12.5"}},
		{"an empty one padded", "x{part:2}", "x", nil},
		{"braces", "{{tmdb-{tmdb}}}", "{tmdb-209867}", nil},
		{"an optional piece", "{title}< ({year})>", "Frieren (2023)", nil},
		{"an optional piece goes", "{title}< ({year})>", "Frieren", map[field]string{fieldYear: ""}},
		{"with all its fields", "{title}< {year} {edition}>", "Frieren", nil},
		{"a piece without fields stays", "a<b>", "ab", nil},
		{
			"braces in a piece", "{title}< {{edition-{edition}}}>", "Frieren {edition-Uncut}",
			map[field]string{fieldEdition: "Uncut"},
		},
		{"folders", "{title}/S{season}", "Frieren/S1", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := frieren()
			for f, s := range row.set {
				v[f] = s
			}
			if got := parsed(t, row.template).render(v); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestBadTemplatesAreRefusedWithThePlace(t *testing.T) {
	for _, row := range []struct{ template, want string }{
		{
			"../{title}",
			`template "../{title}": a path below --to can't have ".." between slashes; leave it out at character 1`,
		},
		{"/가/{title}", `template "/가/{title}": a path below --to can't have "" between slashes; leave it out at character 1`},
		{
			"{title}/ ./{year}",
			`template "{title}/ ./{year}": a path below --to can't have " ." between slashes; leave it out at character 9`,
		},
		{"{titel}", `template "{titel}": there is no field "titel" at character 1`},
		{"가 {title", `template "가 {title": a { without a }; write {{ for the character at character 3`},
		{"a}b", `template "a}b": a } without a {; write }} for the character at character 2`},
		{"a<b", `template "a<b": a < that is not closed at character 2`},
		{"a>b", `template "a>b": a > that closes nothing at character 2`},
		{"<a<b>>", `template "<a<b>>": a < inside < > at character 3`},
		{"{title:2}", `template "{title:2}": title is not a number: it has no digits to pad at character 1`},
		{"{season:x}", `template "{season:x}": "x" is not a number of digits from 1 to 9 at character 1`},
		{"{season:0}", `template "{season:0}": "0" is not a number of digits from 1 to 9 at character 1`},
		{"{}", `template "{}": there is no field "" at character 1`},
	} {
		t.Run(row.template, func(t *testing.T) {
			_, err := ParseTemplate(row.template)
			if bad, ok := errors.AsType[*TemplateError](err); !ok || bad.Error() != row.want {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

func TestLayoutsName(t *testing.T) {
	type names struct{ Show, Season, Episode, Movie string }
	for _, row := range []struct {
		layout string
		want   names
	}{
		{"jellyfin", names{
			"Frieren (2023) [tmdbid-209867]", "Season 01", "Frieren (2023) S01E01 - One",
			"Frieren (2023) [tmdbid-209867]/Frieren (2023) [tmdbid-209867]",
		}},
		{"emby", names{
			"Frieren (2023) [tmdbid-209867]", "Season 01", "Frieren (2023) S01E01 - One",
			"Frieren (2023) [tmdbid-209867]/Frieren (2023) [tmdbid-209867]",
		}},
		{"plex", names{
			"Frieren (2023) {tmdb-209867}", "Season 01", "Frieren (2023) - S01E01 - One",
			"Frieren (2023) {tmdb-209867}/Frieren (2023) {tmdb-209867}",
		}},
		{"kodi", names{"Frieren (2023)", "Season 01", "Frieren S01E01 - One", "Frieren (2023)/Frieren (2023)"}},
		{"custom", names{
			"F 209867", "Season 01", "[G] Frieren - 01",
			"Frieren (2023) [tmdbid-209867]/Frieren (2023) [tmdbid-209867]",
		}},
	} {
		t.Run(row.layout, func(t *testing.T) {
			l, err := NewLayout(row.layout, Templates{Show: "F {tmdb}", Episode: "{name}"})
			if err != nil {
				t.Fatal(err)
			}
			v := frieren()
			render := func(t Template) string { return t.render(v) }
			got := names{render(l.Show), render(l.Season), render(l.Episode), render(l.Movie)}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What has no id in its names has it in NFO files, and can't have AniDB's numbers, which nobody could read again.
func TestALayoutWithoutIDsSaysSo(t *testing.T) {
	for _, name := range serverLayouts() {
		l := layoutOf(t, name)
		show := l.showTemplate(orders.AniDB)
		if hasID := show.hasField(fieldAniDB); hasID == l.NFOByDefault || !hasID && l.FixedOrders == "" {
			t.Errorf("names of %s have an id: %v; only without ids it has nfoByDefault (%v), and then fixedOrders (%q), too",
				name, hasID, l.NFOByDefault, l.FixedOrders)
		}
	}
}

func TestALayoutWithoutTheEpisodesNumberIsRefused(t *testing.T) {
	for _, template := range []string{"{title}", "{title} {season}", "{title} {episode}", "{original_title} {absolute}"} {
		if _, err := NewLayout("custom", Templates{Episode: template}); err == nil {
			t.Errorf("%s is accepted", template)
		}
	}
	if _, err := NewLayout("plexx", Templates{}); err == nil {
		t.Error("an unknown layout is accepted")
	}
}

func TestTitlesAreShortened(t *testing.T) {
	for _, row := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"short enough", "One", 3, "One"},
		{"at a word", "The Journey's End of all", 16, "The Journey's…"},
		{"at the end of a word", "One Two", 6, "One…"},
		{"within a long word", "Supercalifragilistic", 10, "Superca…"},
		{"between characters", "漢漢漢漢", 10, "漢漢…"},
		{"not before a mark", "aaaae\u0327\u0301bbbb", 9, "aaaa…"},
		{"not within an emoji", "ab👩\u200d👧cdefg", 12, "ab…"},
		{"no space or dash before it", "One - Two Three", 10, "One…"},
		{"no room", "One", 2, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := shorten(row.text, row.limit); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestLongNamesLoseTheEpisodesTitleFirst(t *testing.T) {
	l, err := NewLayout("jellyfin", Templates{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name           string
		title, episode string
		max, tail      int
		want           string
		code           Code
	}{
		{"it fits", "Show", "One", 240, 4, "Show (2023) S01E01 - One", ""},
		{"the episode's title", "Show", "The Journey's End", 36, 4, "Show (2023) S01E01 - The Jour…", ""},
		{"the episode's title goes", "Show", "The Journey's End", 26, 4, "Show (2023) S01E01", ""},
		{"then the title", "A very long show", "One", 30, 4, "A very… (2023) S01E01", ""},
		{"never the number", "Show", "One", 16, 4, "", CodeNameTooLong},
		{"a path that is too long", "A show", strings.Repeat("One", 30), 240, 4, "", CodeNameTooLong},
		{"nothing is left of the title", "", "One", 240, 4, "(2023) S01E01 - One", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := namer{maxName: row.max, maxPath: 100}
			v := frieren()
			v[fieldTitle], v[fieldEpisodeTitle] = row.title, row.episode
			got, code := n.renderPath(l.Episode, v, row.tail)
			if got != row.want || code != row.code {
				t.Errorf("got %q %s, want %q %s", got, code, row.want, row.code)
			}
		})
	}
}

// FuzzPath holds that whatever titles say, a target is local, storable, within its length, and still tells its number.
func FuzzPath(f *testing.F) {
	for _, s := range []string{
		"../../etc", "a\x00b", "\u202eMKV.exe", "CON.mkv", strings.Repeat("漢", 400),
		strings.Repeat("👨\u200d👩\u200d👧\u200d👦", 60), "{tmdb-1}",
		"[tmdbid-1]", "/", "a/b", "<>", "..",
	} {
		f.Add(s, "One", uint8(240))
		f.Add("Show", s, uint8(128))
	}
	f.Fuzz(func(t *testing.T, title, episode string, limit uint8) {
		for _, name := range LayoutNames() {
			l, err := NewLayout(name, Templates{})
			if err != nil {
				t.Fatal(err)
			}
			n := namer{maxName: int(limit), maxPath: maxPathBytes}
			v := frieren()
			v[fieldTitle], v[fieldEpisodeTitle] = n.clean(title), n.clean(episode)
			for _, tmpl := range []Template{l.Show, l.Episode, l.Movie} {
				got, code := n.renderPath(tmpl, v, 4)
				if code != "" {
					continue
				}
				if !isClean(got) || !isLocal(got) || !norm.NFC.IsNormalString(got) || !utf8.ValidString(got) {
					t.Fatalf("%s: %q and %q became %q", name, title, episode, got)
				}
				components := strings.Split(got, "/")
				for i, c := range components {
					if len(c) > n.maxName || i == len(components)-1 && len(c)+4 > n.maxName {
						t.Fatalf("%s: %q is too long for %d", name, got, limit)
					}
				}
				if want := strings.Count(tmpl.text, "/") + 1; len(components) != want {
					t.Fatalf("%s: %q has %d components, not %d", name, got, len(components), want)
				}
				if tmpl.hasField(fieldSeason) && !strings.Contains(got, "S01E01") || tmpl.hasField(fieldTMDB) &&
					!strings.Contains(got, "209867") {
					t.Fatalf("%s: %q lost its number", name, got)
				}
			}
		}
	})
}

// isClean reports whether s is a relative path whose components CleanName leaves as they are, so that it stays below
// its root.
func isClean(s string) bool {
	for {
		component, rest, more := strings.Cut(s, "/")
		if component == "" || CleanName(component) != component {
			return false
		}
		if !more {
			return true
		}
		s = rest
	}
}
