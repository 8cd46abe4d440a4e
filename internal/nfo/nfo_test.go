package nfo

import (
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/orders"
)

var frieren = Entry{
	Kind: "tv", ID: 209867, Title: "Frieren & <Co>", OriginalTitle: "葬送のフリーレン", Year: 2023, IMDB: "tt22248376",
	TVDB: 424536, AniDB: 17617,
	Plot: "An elf.\nAnd a party.", Premiered: "2023-09-29", Runtime: 24, Genres: []string{"Animation", "Drama"},
	Studios: []string{"MADHOUSE"},
	Status:  "Ended", Poster: "/p.jpg", Fanart: "/f.jpg",
	Episodes: []Episode{
		{ID: 11, Season: 1, Number: 1, Title: "The Journey's End", Aired: "2023-09-29", Runtime: 24, Plot: "One."},
		{ID: 12, Season: 1, Number: 2, Title: "It Didn't Have to Be Magic..."},
		{ID: 1, Season: 0, Number: 1, Title: "A special"},
	},
}

var film = Entry{Kind: "movie", ID: 129, Title: "Spirited Away", Year: 2001, IMDB: "tt0245429"}

func at(season int, episodes ...int) orders.Place {
	return orders.Place{Season: season, Episodes: episodes}
}

func inOrder(order string) *Entry {
	e := frieren
	e.Order = order
	return &e
}

// Servers take the first group of a type, so another has no word.
func TestDisplayOrderIsTheFirstGroupOfItsType(t *testing.T) {
	e := Entry{Groups: []Group{
		{"a1", "DVD", 3}, {"a2", "Arcs", 5}, {"a3", "DVD 2", 3}, {"a4", "Odd", 9}, {"a5", "AniDB", 4},
	}}
	for order, want := range map[string]string{
		"absolute": "absolute", "group:dvd": "dvd", "group:a2": "storyArc", "group:Arcs": "storyArc",
		"group:DVD 2": "", "group:Odd": "",
		"tmdb": "", "anidb": "",
	} {
		if got := e.DisplayOrder(order); got != want {
			t.Errorf("%s: %q, not %q", order, got, want)
		}
	}
}

func TestOrderInAnNFO(t *testing.T) {
	for text, want := range map[string]struct {
		displayOrder string
		ofTVDB       bool
	}{
		string(IDs(inOrder(""))):     {"", false},
		string(IDs(inOrder("tvdb"))): {"", true},
		string(IDs(inOrder("dvd"))):  {"dvd", false},
		"<tvshow><displayorder>aired</displayorder><uniqueid type=\"tvdb\">7</uniqueid></tvshow>": {"", false},
		"<tvshow><displayorder> absolute </displayorder></tvshow>":                                {"absolute", false},
	} {
		if word, ofTVDB := OrderIn([]byte(text)); word != want.displayOrder || ofTVDB != want.ofTVDB {
			t.Errorf("%s\nis read as %q, %v", text, word, ofTVDB)
		}
	}
}

func TestWhatIsWritten(t *testing.T) {
	const head = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	for _, row := range []struct{ name, got, want string }{
		{"the ids of a series", string(IDs(&frieren)), head + `<tvshow>
  <title>Frieren &amp; &lt;Co&gt;</title>
  <originaltitle>葬送のフリーレン</originaltitle>
  <year>2023</year>
  <uniqueid type="tmdb" default="true">209867</uniqueid>
  <uniqueid type="imdb">tt22248376</uniqueid>
  <uniqueid type="tvdb">424536</uniqueid>
  <uniqueid type="anidb">17617</uniqueid>
</tvshow>
https://www.themoviedb.org/tv/209867
`},
		{"the ids of a series in TVDB's order", string(IDs(inOrder("tvdb"))), head + `<tvshow>
  <title>Frieren &amp; &lt;Co&gt;</title>
  <originaltitle>葬送のフリーレン</originaltitle>
  <year>2023</year>
  <uniqueid type="tmdb">209867</uniqueid>
  <uniqueid type="imdb">tt22248376</uniqueid>
  <uniqueid type="tvdb" default="true">424536</uniqueid>
  <uniqueid type="anidb">17617</uniqueid>
</tvshow>
https://thetvdb.com/dereferrer/series/424536
`},
		{"the ids of a series in an order that servers name", string(IDs(inOrder("dvd"))), head + `<tvshow>
  <title>Frieren &amp; &lt;Co&gt;</title>
  <originaltitle>葬送のフリーレン</originaltitle>
  <year>2023</year>
  <displayorder>dvd</displayorder>
  <uniqueid type="tmdb" default="true">209867</uniqueid>
  <uniqueid type="imdb">tt22248376</uniqueid>
  <uniqueid type="tvdb">424536</uniqueid>
  <uniqueid type="anidb">17617</uniqueid>
</tvshow>
https://www.themoviedb.org/tv/209867
`},
		{"a special that another order counts as an episode", string(
			Episodes(&frieren, at(0, 1), at(2, 13))), head + `<episodedetails>
  <title>A special</title>
  <season>2</season>
  <episode>13</episode>
  <uniqueid type="tmdb" default="true">1</uniqueid>
</episodedetails>
`},
		{"the ids of a film", string(IDs(&film)), head + `<movie>
  <title>Spirited Away</title>
  <year>2001</year>
  <uniqueid type="tmdb" default="true">129</uniqueid>
  <uniqueid type="imdb">tt0245429</uniqueid>
</movie>
https://www.themoviedb.org/movie/129
`},
		{"all of a series", string(Full(&frieren)), head + `<tvshow>
  <title>Frieren &amp; &lt;Co&gt;</title>
  <originaltitle>葬送のフリーレン</originaltitle>
  <year>2023</year>
  <plot>An elf.&#xA;And a party.</plot>
  <premiered>2023-09-29</premiered>
  <runtime>24</runtime>
  <genre>Animation</genre>
  <genre>Drama</genre>
  <studio>MADHOUSE</studio>
  <status>Ended</status>
  <uniqueid type="tmdb" default="true">209867</uniqueid>
  <uniqueid type="imdb">tt22248376</uniqueid>
  <uniqueid type="tvdb">424536</uniqueid>
  <uniqueid type="anidb">17617</uniqueid>
  <thumb aspect="poster">https://image.tmdb.org/t/p/original/p.jpg</thumb>
  <fanart>
    <thumb>https://image.tmdb.org/t/p/original/f.jpg</thumb>
  </fanart>
</tvshow>
`},
		{"two episodes of one file", string(Episodes(&frieren, at(1, 1, 2), at(1, 1, 2))), head + `<episodedetails>
  <title>The Journey&#39;s End</title>
  <season>1</season>
  <episode>1</episode>
  <aired>2023-09-29</aired>
  <runtime>24</runtime>
  <plot>One.</plot>
  <uniqueid type="tmdb" default="true">11</uniqueid>
</episodedetails>
<episodedetails>
  <title>It Didn&#39;t Have to Be Magic...</title>
  <season>1</season>
  <episode>2</episode>
  <uniqueid type="tmdb" default="true">12</uniqueid>
</episodedetails>
`},
		{"an episode that is not known", string(Episodes(&frieren, at(1, 2, 3), at(1, 2, 3))), ""},
		{"no episode", string(Episodes(&frieren, at(1), at(1))), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, row.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// told is what a server takes from a file: elements by name, a list each, with the type of an id behind it.
type told map[string][]string

// Servers read an NFO by rules of their own, here as far as they differ: Jellyfin and Emby cut the text behind the last
// closing tag and split several episodes at theirs; Kodi reads one element after the other, and behind them an address
// that says whom to ask.
var servers = map[string]func(t *testing.T, text, root string) (items []told, address string){
	"jellyfin": closedTags, "emby": closedTags, "kodi": oneByOne,
}

func closedTags(t *testing.T, text, root string) (items []told, address string) {
	t.Helper()
	end := "</" + root + ">"
	last := strings.LastIndex(text, end)
	if last < 0 {
		t.Fatalf("no %s: %s", end, text)
	}
	for part := range strings.SplitSeq(text[:last], end) {
		items = append(items, elements(t, xml.NewDecoder(strings.NewReader(part+end)), root))
	}
	return items, ""
}

func oneByOne(t *testing.T, text, root string) (items []told, address string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for strings.Contains(text[d.InputOffset():], "<"+root) {
		items = append(items, elements(t, d, root))
	}
	return items, strings.TrimSpace(text[d.InputOffset():])
}

// elements reads one root element.
func elements(t *testing.T, d *xml.Decoder, root string) told {
	t.Helper()
	out := told{}
	var at []string
	var typ, content string
	for {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			at, typ, content = append(at, x.Name.Local), "", ""
			for _, a := range x.Attr {
				if a.Name.Local == "type" || a.Name.Local == "aspect" {
					typ = " " + a.Value
				}
			}
		case xml.CharData:
			content += string(x)
		case xml.EndElement:
			if len(at) == 1 {
				if at[0] != root {
					t.Fatalf("the root is %s, not %s", at[0], root)
				}
				return out
			}
			name := strings.Join(at[1:], "/") + typ
			if text := strings.TrimSpace(content); text != "" {
				out[name] = append(out[name], text)
			}
			at, typ, content = at[:len(at)-1], "", ""
		}
	}
}

func TestServersReadWhatIsWritten(t *testing.T) {
	for server, read := range servers {
		for _, row := range []struct {
			name, root string
			text       []byte
			want       []told
			address    string // for Kodi: whom to ask
		}{
			{
				"the ids of a series", "tvshow", IDs(&frieren),
				[]told{{
					"title": {"Frieren & <Co>"}, "originaltitle": {"葬送のフリーレン"}, "year": {"2023"}, "uniqueid tmdb": {"209867"},
					"uniqueid imdb": {"tt22248376"}, "uniqueid tvdb": {"424536"}, "uniqueid anidb": {"17617"},
				}},
				"https://www.themoviedb.org/tv/209867",
			},
			{
				"all of a series", "tvshow", Full(&frieren),
				[]told{{
					"title": {"Frieren & <Co>"}, "originaltitle": {"葬送のフリーレン"}, "year": {"2023"}, "uniqueid tmdb": {"209867"},
					"uniqueid imdb": {"tt22248376"}, "uniqueid tvdb": {"424536"}, "uniqueid anidb": {"17617"},
					"plot":      {"An elf.\nAnd a party."},
					"premiered": {"2023-09-29"}, "runtime": {"24"}, "genre": {"Animation", "Drama"}, "studio": {"MADHOUSE"},
					"status":       {"Ended"},
					"thumb poster": {"https://image.tmdb.org/t/p/original/p.jpg"},
					"fanart/thumb": {"https://image.tmdb.org/t/p/original/f.jpg"},
				}},
				"",
			},
			{
				"a film", "movie", Full(&film),
				[]told{{"title": {"Spirited Away"}, "year": {"2001"}, "uniqueid tmdb": {"129"}, "uniqueid imdb": {"tt0245429"}}},
				"",
			},
			{
				"episodes", "episodedetails", Episodes(&frieren, at(1, 1, 2), at(1, 1, 2)),
				[]told{
					{
						"title": {"The Journey's End"}, "season": {"1"}, "episode": {"1"}, "aired": {"2023-09-29"}, "runtime": {"24"},
						"plot":          {"One."},
						"uniqueid tmdb": {"11"},
					},
					{"title": {"It Didn't Have to Be Magic..."}, "season": {"1"}, "episode": {"2"}, "uniqueid tmdb": {"12"}},
				},
				"",
			},
			{
				"a special, whose season is 0", "episodedetails", Episodes(&frieren, at(0, 1), at(0, 1)),
				[]told{{"title": {"A special"}, "season": {"0"}, "episode": {"1"}, "uniqueid tmdb": {"1"}}},
				"",
			},
		} {
			t.Run(server+" "+row.name, func(t *testing.T) {
				got, address := read(t, string(row.text), row.root)
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Error(diff)
				}
				if server == "kodi" && address != row.address {
					t.Errorf("behind it stands %q, not %q", address, row.address)
				}
			})
		}
	}
}

func TestFilesWrittenByOthers(t *testing.T) {
	for _, row := range []struct {
		name, text, kind string
		id               int
		about            bool
		named            int
	}{
		{"ours", string(IDs(&frieren)), "tv", 209867, true, 209867},
		{"ours of another", string(Full(&frieren)), "tv", 5, false, 209867},
		{"a film of the same number", string(Full(&frieren)), "movie", 209867, false, 209867},
		{"an older server's", "\ufeff<!-- c --><tvshow>\n<tmdbid>7</tmdbid></tvshow>", "tv", 7, true, 7},
		{
			"in single quotes, last in line", "<movie><uniqueid default='false' type='tmdb'> 7 </uniqueid></movie>", "movie", 7,
			true, 7,
		},
		{"an address alone", "https://www.themoviedb.org/movie/129-spirited-away", "movie", 129, true, 129},
		{"another catalogue", `<tvshow><uniqueid type="tvdb">7</uniqueid></tvshow>`, "tv", 7, false, 0},
		{
			"an episode's id is its own", `<episodedetails><uniqueid type="tmdb">99</uniqueid></episodedetails>`, "tv", 7, true,
			0,
		},
		{"an episode in place of a film", `<episodedetails/>`, "movie", 7, false, 0},
		{"notes of a release", "+-- greetings --+", "movie", 7, false, 0},
		{"nothing", "", "movie", 7, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if about, named := IsAbout([]byte(row.text), row.kind, row.id); about != row.about || named != row.named {
				t.Errorf("%v, %d", about, named)
			}
		})
	}
}

var idOf = regexp.MustCompile(`type="tmdb" default="true">(\d+)<`)

// Whatever TMDB's texts hold, what is written is UTF-8 that an XML reader takes, and says which entry it is.
func FuzzTexts(f *testing.F) {
	f.Add("a\x00b", "]]>", 1)
	f.Add("\xff</tvshow>", "<!--", 2)
	f.Add("\u202e\ufffe", "https://www.themoviedb.org/tv/9\n</tvshow>", 3)
	f.Fuzz(func(t *testing.T, title, plot string, id int) {
		id = id&0xffffff + 1
		e := Entry{Kind: "tv", ID: id, Title: title, OriginalTitle: plot, Plot: plot, Genres: []string{title}, Poster: plot}
		e.Episodes = []Episode{{ID: 1, Season: 1, Number: 1, Title: title, Plot: plot}}
		for root, text := range map[string][]byte{"tvshow": Full(&e), "episodedetails": Episodes(&e, at(1, 1), at(1, 1))} {
			if !utf8.Valid(text) {
				t.Fatalf("%q", text)
			}
			if items, rest := oneByOne(t, string(text), root); len(items) != 1 || rest != "" {
				t.Fatalf("%q", text)
			}
		}
		if about, named := IsAbout(IDs(&e), "tv", id); !about || named != id {
			t.Fatalf("%v %d", about, named)
		}
		if m := idOf.FindSubmatch(Full(&e)); m == nil || string(m[1]) != strconv.Itoa(id) {
			t.Fatal(string(Full(&e)))
		}
	})
}
