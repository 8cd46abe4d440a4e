package organize

import (
	"cmp"
	"path"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/report"
)

// existing is the first episode of a show, or a film, in a library that another program or a person has named.
type existing struct {
	by    string // the program or the form
	title string // TMDB's title; "" for "Show" or "Silver Rail"
	path  string // of the video
	want  string // "" if its folders are used and nothing becomes a twin; otherwise another outcome
}

const (
	otherSeason = "the show's folder is used, but not the season's"
	ownFolder   = "the show or film gets a folder of its own"
	twin        = "the folders are used, but the video is not seen"
)

var existingShows = []existing{
	// shows' folders
	{"Sonarr {Series Title}", "", "Show/Season 1/Show - S01E01 - Title.mkv", ""},
	{"Sonarr {Series TitleYear}", "", "Show (2020)/Season 01/Show (2020) - S01E01 - Title [WEBDL-1080p].mkv", ""},
	{"Sonarr {Series TitleThe}", "The Show", "Show, The/Season 1/Show, The - S01E01 - Title.mkv", ""},
	{"Sonarr {Series TitleTheYear}", "The Show", "Show, The (2020)/Season 1/The Show - S01E01 - Title.mkv", ""},
	{"Sonarr {Series TitleTheYear} A", "A Show", "Show, A (2020)/Season 1/Show, A - S01E01.mkv", ""},
	{"Sonarr {Series TitleTheYear} An", "An Owl Show", "Owl Show, An (2020)/Season 1/S01E01.mkv", ""},
	{"Sonarr {Series CleanTitle}", "Show & Tell", "Show and Tell/Season 1/Show and Tell - S01E01.mkv", ""},
	{"Sonarr {Series CleanTitleYear}", "Show & Tell", "Show and Tell 2020/Season 1/Show and Tell - S01E01.mkv", ""},
	{"Sonarr {Series CleanTitle} accents", "Pokéshow", "Pokeshow (2020)/Season 1/Pokeshow - S01E01.mkv", ""},
	{"Sonarr {Series CleanTitleTheYear}", "The Show & Tell", "Show and Tell, The 2020/Season 1/S01E01.mkv", ""},
	{"Sonarr {Series.Title}", "Big Show", "Big.Show/Season.01/Big.Show.S01E01.mkv", ""},
	{"Sonarr {Series_TitleYear}", "Big Show", "Big_Show_(2020)/Season_1/Big_Show_-_S01E01.mkv", ""},
	{"Sonarr {tvdb-N}", "", "Serie (2020) {tvdb-77}/Season 01/Serie (2020) - S01E01 - Title.mkv", ""},
	{"Sonarr [tvdbid-N]", "", "Serie (2020) [tvdbid-77]/Season 01/Serie S01E01.mkv", ""},
	{"Sonarr [tvdb-N]", "", "Serie (2020) [tvdb-77]/Season 01/Serie S01E01.mkv", ""},
	{"Sonarr [imdbid-tt]", "", "Serie (2020) [imdbid-tt0000009]/Season 01/Serie S01E01.mkv", ""},
	{"Sonarr {imdb-tt}", "", "Serie (2020) {imdb-tt0000009}/Season 01/Serie S01E01.mkv", ""},
	{"Sonarr {tmdb-N}", "", "Serie (2020) {tmdb-1}/Season 01/Serie S01E01.mkv", ""},
	{"Sonarr bare [tt]", "", "Serie (2020) [tt0000009]/Season 01/Serie S01E01.mkv", ""},
	{"Sonarr bare (tt)", "", "Serie (2020) (tt0000009)/Season 01/Serie S01E01.mkv", ""},
	{"Kodi {tmdb=N}", "", "Serie (2020) {tmdb=1}/Season 01/Serie S01E01.mkv", ""},
	{"Kodi {tmdbid=N}", "", "Serie (2020) {tmdbid=1}/Season 01/Serie S01E01.mkv", ""},
	{"Kodi {tmdbid-N}", "", "Serie (2020) {tmdbid-1}/Season 01/Serie S01E01.mkv", ""},
	{"Kodi [tvdb=N]", "", "Serie (2020) [tvdb=77]/Season 01/Serie S01E01.mkv", ""},
	{"Kodi {tvdb=N}", "", "Serie (2020) {tvdb=77}/Season 01/Serie S01E01.mkv", ""},
	{"Kodi [imdb=tt]", "", "Serie (2020) [imdb=tt0000009]/Season 01/Serie S01E01.mkv", ""},
	{"Kodi {imdb=tt}", "", "Serie (2020) {imdb=tt0000009}/Season 01/Serie S01E01.mkv", ""},
	{"Jellyfin (tmdbid-N)", "", "Serie (2020) (tmdbid-1)/Season 01/Serie S01E01.mkv", ""},
	{"Emby [tmdbid=N]", "", "Serie (2020) [tmdbid=1]/Season 01/Serie S01E01.mkv", ""},
	{"Emby [tvdbid=N]", "", "Serie (2020) [tvdbid=77]/Season 01/Serie S01E01.mkv", ""},
	{"id before the year", "", "Serie [tmdbid-1] (2020)/Season 01/Serie S01E01.mkv", ""},
	{"id and a note", "", "Serie (2020) {tmdb-1} [1080p]/Season 01/Serie S01E01.mkv", ""},
	{"id without a space", "", "Serie (2020){tvdb-77}/Season 01/Serie S01E01.mkv", ""},
	{"HAMA [anidb-N] with title", "", "Show [anidb-5]/Season 1/Show S01E01.mkv", ownFolder},
	{"year in square brackets", "", "Show [2020]/Season 01/S01E01.mkv", ""},
	{"year without brackets", "", "Show 2020/Season 01/S01E01.mkv", ""},
	{"dotted", "", "Show.2020/Season 01/S01E01.mkv", ""},
	{"year first", "", "2020 - Show/Season 01/S01E01.mkv", ""},
	{"year first in brackets", "", "(2020) Show/Season 01/S01E01.mkv", ""},
	{"year first in brackets []", "", "[2020] Show/Season 01/S01E01.mkv", ""},
	{"tags", "", "Show (2020) [1080p]/Season 01/S01E01.mkv", ""},
	{"season range", "", "Show (2020) S01-S03/Season 01/S01E01.mkv", ownFolder},
	{"complete", "", "Show (2020) Complete/Season 01/S01E01.mkv", ""},
	{"one season, all in the folder", "", "Show (2020) Season 1/Show S01E01.mkv", ownFolder},
	{"release folder of a season", "", "Show.S01.1080p.WEB-DL-GRP/Show.S01E01.1080p.WEB-DL-GRP.mkv", ownFolder},
	{"fansub release folder", "", "[GRP] Show (2020) [1080p]/[GRP] Show - 01 [1080p].mkv", ""},
	{"fansub release folder 2", "", "[GRP] Show [BD 1080p]/[GRP] Show - 01 [1080p].mkv", ownFolder},
	{"colon as -", "Show: Two", "Show - Two (2020)/Season 1/S01E01.mkv", ""},
	{"colon deleted", "Show: Two", "Show Two (2020)/Season 1/S01E01.mkv", ""},
	{"colon full width", "Show: Two", "Show：Two (2020)/Season 1/S01E01.mkv", ""},
	{"colon ꞉", "Show: Two", "Show꞉ Two (2020)/Season 1/S01E01.mkv", ""},
	{"slash as +", "Show/Two", "Show+Two (2020)/Season 1/S01E01.mkv", ""},
	{"? as !", "Show?", "Show! (2020)/Season 1/S01E01.mkv", ""},
	{"apostrophe", "Show's End", "Show’s End (2020)/Season 1/S01E01.mkv", ""},
	{"roman digits", "Show Ⅱ", "Show II (2020)/Season 1/S01E01.mkv", ""},
	{"superscript", "Show²", "Show2 (2020)/Season 1/S01E01.mkv", ""},
	{"½", "Show ½", "Show 1-2 (2020)/Season 1/S01E01.mkv", ""},
	{"ß", "Straße", "Strasse (2020)/Season 1/S01E01.mkv", ""},
	{"ö as oe", "Schöne Show", "Schoene Show (2020)/Season 1/S01E01.mkv", ownFolder},
	{"ø", "Køge Show", "Koge Show (2020)/Season 1/S01E01.mkv", ownFolder},
	{"full-width", "Ｓｈｏｗ", "Show (2020)/Season 1/S01E01.mkv", ""},
	{"☆ as nothing", "Show☆Star", "Show Star (2020)/Season 1/S01E01.mkv", ""},
	{"× as x", "Show × Star", "Show x Star (2020)/Season 1/S01E01.mkv", ownFolder},
	{"$ as S", "$how", "Show (2020)/Season 1/S01E01.mkv", ownFolder},
	{"flat, files begin as the folder", "", "Show (2020)/Show (2020) - S01E01.mkv", ""},
	{"flat, no year", "", "Show/Show - S01E01 - Title.mkv", ""},
	{"flat, no year, 1x01", "", "Show/Show 1x01.mkv", ""},
	{"flat, no year, episode", "", "Show/Show - 01.mkv", ""},
	{"flat, number in title", "Apollo 13", "Apollo 13/Apollo 13 - S01E01.mkv", ""},
	{"flat with id", "", "Serie (2020) [tmdbid-1]/Serie (2020) S01E01.mkv", ""},
	{"flat, the year in the files", "", "Show/Show (2020) - S01E01.mkv", ""},
	{"flat, year, episode", "", "Show (2020)/Show (2020) - 01.mkv", ""},
	{"flat, numbers", "", "Show (2020)/01.mkv", ""},
	{"flat, numbers and titles", "", "Show (2020)/01 - Title.mkv", ""},
	{"flat dotted", "", "Show.2020/Show.2020.S01E01.mkv", ""},
	// seasons' folders
	{"Sonarr Season {season}", "", "Show (2020)/Season 1/Show - S01E01.mkv", ""},
	{"Sonarr S{season:00}", "", "Show (2020)/S01/Show - S01E01.mkv", ""},
	{"Sonarr Series {season}", "", "Show (2020)/Series 1/Show - S01E01.mkv", ""},
	{"Sonarr {season}", "", "Show (2020)/1/Show - S01E01.mkv", ""},
	{"Sonarr {Series.TitleYear}/{season}", "", "Show.2020/1/Show - S01E01.mkv", ""},
	{"a release's folder with a season in Dutch", "", "Show.2020/Seizoen 1/Show - S01E01.mkv", ""},
	{"Sonarr {season:00}", "", "Show (2020)/01/Show - S01E01.mkv", ""},
	{"Sonarr {Series Title} - Season {season}", "", "Show (2020)/Show - Season 1/Show - S01E01.mkv", ""},
	{"Sonarr {Series Title} Season {season:00}", "", "Show (2020)/Show Season 01/Show - S01E01.mkv", ""},
	{"Sonarr {Series Title} S{season:00}", "", "Show (2020)/Show S01/Show - S01E01.mkv", ""},
	{"Sonarr {Series.Title}.S{season:00}", "", "Show (2020)/Show.S01/Show - S01E01.mkv", ""},
	{"release folder in the show", "", "Show (2020)/Show.S01.1080p.WEB-DL.x264-GRP/Show.S01E01.mkv", otherSeason},
	{"s001", "", "Show (2020)/S001/Show - S01E01.mkv", ""},
	{"Season 001", "", "Show (2020)/Season 001/Show - S01E01.mkv", ""},
	{"Season01", "", "Show (2020)/Season01/Show - S01E01.mkv", ""},
	{"season.1", "", "Show (2020)/season.1/Show - S01E01.mkv", ""},
	{"Season 1 (2020)", "", "Show (2020)/Season 1 (2020)/Show - S01E01.mkv", ""},
	{"Season 1 - Name", "", "Show (2020)/Season 1 - The Start/Show - S01E01.mkv", ""},
	{"Season 1 [1080p]", "", "Show (2020)/Season 1 [1080p]/Show - S01E01.mkv", ""},
	{"1st Season", "", "Show (2020)/1st Season/Show - S01E01.mkv", ""},
	{"First Season", "", "Show (2020)/First Season/Show - S01E01.mkv", ""},
	{"Season One", "", "Show (2020)/Season One/Show - S01E01.mkv", ""},
	{"Season I", "", "Show (2020)/Season I/Show - S01E01.mkv", ""},
	{"Jellyfin Staffel", "", "Show (2020)/Staffel 1/Show - S01E01.mkv", ""},
	{"Jellyfin Stagione", "", "Show (2020)/Stagione 1/Show - S01E01.mkv", ""},
	{"Jellyfin sæson", "", "Show (2020)/sæson 1/Show - S01E01.mkv", ""},
	{"Jellyfin Saison", "", "Show (2020)/Saison 01/Show - S01E01.mkv", ""},
	{"Jellyfin Temporada", "", "Show (2020)/Temporada 1/Show - S01E01.mkv", ""},
	{"Jellyfin Kausi", "", "Show (2020)/Kausi 1/Show - S01E01.mkv", ""},
	{"Jellyfin Säsong", "", "Show (2020)/Säsong 1/Show - S01E01.mkv", ""},
	{"Jellyfin Seizoen", "", "Show (2020)/Seizoen 1/Show - S01E01.mkv", ""},
	{"Jellyfin Sezon", "", "Show (2020)/Sezon 1/Show - S01E01.mkv", ""},
	{"Jellyfin Sezona", "", "Show (2020)/Sezona 1/Show - S01E01.mkv", ""},
	{"Jellyfin Sezóna", "", "Show (2020)/Sezóna 1/Show - S01E01.mkv", ""},
	{"Jellyfin Sezonul", "", "Show (2020)/Sezonul 1/Show - S01E01.mkv", ""},
	{"Jellyfin Сезон", "", "Show (2020)/Сезон 1/Show - S01E01.mkv", ""},
	{"Jellyfin 시즌", "", "Show (2020)/시즌 1/Show - S01E01.mkv", ""},
	{"Jellyfin シーズン", "", "Show (2020)/シーズン1/Show - S01E01.mkv", ""},
	{"Jellyfin 1. Staffel", "", "Show (2020)/1. Staffel/Show - S01E01.mkv", ""},
	{"Jellyfin 1 Сезон", "", "Show (2020)/1 Сезон/Show - S01E01.mkv", ""},
	{"Jellyfin 1ª Temporada", "", "Show (2020)/1ª Temporada/Show - S01E01.mkv", ""},
	{"Norwegian", "", "Show (2020)/Sesong 1/Show - S01E01.mkv", ""},
	{"Hungarian", "", "Show (2020)/1. évad/Show - S01E01.mkv", ""},
	{"Czech", "", "Show (2020)/Série 1/Show - S01E01.mkv", ""},
	{"Czech 2", "", "Show (2020)/1. série/Show - S01E01.mkv", ""},
	{"Greek", "", "Show (2020)/Σεζόν 1/Show - S01E01.mkv", ""},
	{"Hebrew", "", "Show (2020)/עונה 1/Show - S01E01.mkv", ""},
	{"Arabic", "", "Show (2020)/الموسم 1/Show - S01E01.mkv", ""},
	{"Thai", "", "Show (2020)/ซีซั่น 1/Show - S01E01.mkv", ""},
	{"Vietnamese", "", "Show (2020)/Mùa 1/Show - S01E01.mkv", ""},
	{"Chinese 第1季", "", "Show (2020)/第1季/Show - S01E01.mkv", ""},
	{"Chinese 第一季", "", "Show (2020)/第一季/Show - S01E01.mkv", ""},
	{"Chinese 第 1 季", "", "Show (2020)/第 1 季/Show - S01E01.mkv", ""},
	{"Japanese 第1期", "", "Show (2020)/第1期/Show - S01E01.mkv", ""},
	{"Japanese 1期", "", "Show (2020)/1期/Show - S01E01.mkv", ""},
	{"Korean 1기", "", "Show (2020)/1기/Show - S01E01.mkv", ""},
	{"Korean 제1기", "", "Show (2020)/제1기/Show - S01E01.mkv", ""},
	{"Korean 쇼 1기", "", "Show (2020)/쇼 1기/Show - S01E01.mkv", otherSeason},
	{"no season's folder", "", "Show (2020)/Show - S01E01.mkv", ""},
	{"Book 1", "", "Show (2020)/Book 1/Show - S01E01.mkv", otherSeason},
	{"Volume", "", "Show (2020)/Volume 1/Show - S01E01.mkv", otherSeason},
	// episodes
	{"Plex s01e01", "", "Show (2020)/Season 01/Show (2020) - s01e01 - Title.mkv", ""},
	{"Plex s01e01-e03", "", "Show (2020)/Season 01/Show - s01e01-e02.mkv", ""},
	{"Sonarr extend", "", "Show (2020)/Season 01/Show - S01E01-02-03 - Title.mkv", ""},
	{"Sonarr duplicate", "", "Show (2020)/Season 01/Show - S01E01.S01E02 - Title.mkv", ""},
	{"Sonarr duplicate -", "", "Show (2020)/Season 01/Show - S01E01 - S01E03 - Title.mkv", ""},
	{"Sonarr repeat", "", "Show (2020)/Season 01/Show - S01E01E02E03 - Title.mkv", ""},
	{"Sonarr scene", "", "Show (2020)/Season 01/Show - S01E01-E02-E03 - Title.mkv", ""},
	{"Sonarr range", "", "Show (2020)/Season 01/Show - S01E01-03 - Title.mkv", ""},
	{"Sonarr prefixed range", "", "Show (2020)/Season 01/Show - S01E01-E03 - Title.mkv", ""},
	{"Sonarr 1x01", "", "Show (2020)/Season 01/Show - 1x01 - Title.mkv", ""},
	{"Sonarr 1x01-02", "", "Show (2020)/Season 01/Show - 1x01-02 - Title.mkv", ""},
	{"Sonarr 01x01", "", "Show (2020)/Season 01/Show - 01x01 - Title.mkv", ""},
	{
		"Sonarr anime", "",
		"Show (2020)/Season 01/Show (2020) - S01E01 - 001 - Title [HDTV-720p][8bit][x264][AAC 2.0][JA]-GRP.mkv", "",
	},
	{"Sonarr anime v2", "", "Show (2020)/Season 01/Show - S01E01v2 - 001 - Title.mkv", ""},
	{"Sonarr Season 1 Episode 1", "", "Show (2020)/Season 01/Show - Season 1 Episode 1 - Title.mkv", ""},
	{"Sonarr Season 01 Episode 01", "", "Show (2020)/Season 01/Season 01 Episode 01.mkv", ""},
	{"Sonarr S01.E01", "", "Show (2020)/Season 01/Show S01.E01 Title.mkv", ""},
	{"Sonarr S1E1", "", "Show (2020)/Season 01/Show S1E1 Title.mkv", ""},
	{"Sonarr s01e001", "", "Show (2020)/Season 01/Show s01e001 Title.mkv", ""},
	{"Kodi s01_e01", "", "Show (2020)/Season 01/show_s01_e01.mkv", ""},
	{"Kodi s01.ep01", "", "Show (2020)/Season 01/show.s01.ep01.mkv", ""},
	{"Kodi ep01", "", "Show (2020)/Season 01/show_ep01.mkv", ""},
	{"Kodi ep_01", "", "Show (2020)/Season 01/show_ep_01.mkv", ""},
	{"Kodi 101", "", "Show (2020)/Season 01/show.101.mkv", ""},
	{"Kodi Part I", "", "Show (2020)/Season 01/show.part.I.mkv", twin},
	{"Kodi 1.1", "", "Show (2020)/Season 01/1.1.mkv", ""},
	{"Jellyfin Episode 1", "", "Show (2020)/Season 01/Episode 1.mkv", ""},
	{"Jellyfin 01", "", "Show (2020)/Season 01/01.mkv", ""},
	{"Jellyfin 01 - Title", "", "Show (2020)/Season 01/01 - Title.mkv", ""},
	{"Jellyfin 01. Title", "", "Show (2020)/Season 01/01. Title.mkv", ""},
	{"Jellyfin Episode 01-02", "", "Show (2020)/Season 01/Episode 01-02.mkv", ""},
	{"E01", "", "Show (2020)/Season 01/E01.mkv", ""},
	{"E01 - Title", "", "Show (2020)/Season 01/E01 - Title.mkv", ""},
	{"Folge 1", "", "Show (2020)/Season 01/Folge 1.mkv", ""},
	{"第01話", "", "Show (2020)/Season 01/Show 第01話.mkv", ""},
	{"1화", "", "Show (2020)/Season 01/Show 1화.mkv", ""},
	{"01회", "", "Show (2020)/Season 01/Show.01회.mkv", ""},
	{"第1集", "", "Show (2020)/Season 01/Show 第1集.mkv", ""},
	{"#01", "", "Show (2020)/Season 01/Show #01.mkv", ""},
	{"tMM", "", "Show (2020)/Season 1/Show - S01E01 - Title.mkv", ""},
	{"a folder each", "", "Show (2020)/S01E01 - Title/Show S01E01.mkv", otherSeason},
	{"a folder each, 1x01", "", "Show (2020)/1x01/Show 1x01.mkv", otherSeason},
	{"tMM a folder each", "", "Show (2020)/Season 1/S01E01 - Title/Show S01E01.mkv", otherSeason},
	{"FileBot 1x01", "", "Show/Season 01/Show - 1x01 - Title.mkv", ""},
	{"FileBot {plex}", "", "Show (2020)/Season 01/Show (2020) - S01E01 - Title.mkv", ""},
	{"Shoko", "", "Show/[GRP] Show - 01 - Title (1080p HEVC) [ABCD1234].mkv", ""},
	{"Shoko by absolute", "", "Show/Show - 001 - Title.mkv", ""},
	{"fansub", "", "Show (2020)/[GRP] Show - 01 [1080p].mkv", ""},
	{"fansub in season", "", "Show (2020)/Season 1/[GRP] Show - 01 [1080p].mkv", ""},
	{"fansub 01v2", "", "Show (2020)/Season 1/[GRP] Show - 01v2 [1080p].mkv", ""},
	{"fansub 01 END", "", "Show (2020)/Season 1/[GRP][Show][01][1080p].mkv", ""},
	{"Plex part", "", "Show (2020)/Season 01/Show - s01e01 - pt1.mkv", ""},
	{"another extension", "", "Show (2020)/Season 01/Show - S01E01.avi", ""},
	{"strm", "", "Show (2020)/Season 01/Show - S01E01.strm", ""},
	{"mk3d", "", "Show (2020)/Season 01/Show - S01E01.mk3d", ""},
	{"wtv", "", "Show (2020)/Season 01/Show - S01E01.wtv", ""},
	{"upper-case extension", "", "Show (2020)/Season 01/Show - S01E01.MKV", ""},
	{"asf", "", "Show (2020)/Season 01/Show - S01E01.asf", ""},
	{"m2v", "", "Show (2020)/Season 01/Show - S01E01.m2v", ""},
	// below
	{"by letter", "", "S/Show (2020)/Season 01/Show S01E01.mkv", ownFolder},
	{"by genre", "", "Anime/Show (2020) {tmdb-1}/Season 01/Show S01E01.mkv", ownFolder},
}

// Who switches from another program keeps its library, and no show, season, episode or film gets a twin.
func TestShowsOfOtherPrograms(t *testing.T) {
	for _, layout := range []string{"jellyfin", "plex", "kodi"} {
		for _, row := range existingShows {
			t.Run(layout+"/"+row.by, func(t *testing.T) {
				title := cmp.Or(row.title, "Show")
				record := func(file string, n int) report.Record {
					return with(tv(file, 1, n), func(r *report.Record) {
						r.Title, r.IDs = title, &report.WorkIDs{TVDB: 77, IMDB: "tt0000009"}
					})
				}
				d := tree("/in/a.mkv", "/in/b.mkv", "/out/"+row.path)
				p := NewPlanner(options(t, layout), d)
				for _, r := range []report.Record{record("/in/a.mkv", 1), record("/in/b.mkv", 9)} {
					p.Add(&r)
				}
				lines := strings.Join(planLines(p.Plan(noDetails)), "\n")
				season, got := path.Dir(row.path), ""
				if !strings.Contains(season, "/") {
					season += "/Season 01" // a new one, because there is none
				}
				switch {
				case !strings.Contains(lines, "link b.mkv > "+strings.SplitN(row.path, "/", 2)[0]+"/"):
					got = ownFolder
				case !strings.Contains(lines, "exists /in/a.mkv"):
					got = twin
				case !strings.Contains(lines, "link b.mkv > "+season+"/"+CleanName(title)+" "):
					got = otherSeason
				}
				if got != row.want {
					t.Errorf("%q, want %q:\n%s", got, row.want, lines)
				}
			})
		}
	}
}

var existingFilms = []existing{
	{"Radarr", "", "Silver Rail (2001)/Silver Rail (2001) Bluray-1080p.mkv", ""},
	{"Radarr CleanTitle", "Silver & Rail", "Silver and Rail (2001)/Silver and Rail (2001) Bluray-1080p.mkv", ""},
	{"Radarr TitleThe", "The Silver Rail", "Silver Rail, The (2001)/The Silver Rail (2001).mkv", ""},
	{"Radarr accents", "Amélie", "Amelie (2001)/Amelie (2001).mkv", ""},
	{"Radarr {tmdb-N}", "", "Ein Film (2001) {tmdb-7}/Ein Film (2001) {tmdb-7} {edition-Extended} [Bluray-1080p].mkv", ""},
	{"Radarr {imdb-tt}", "", "Ein Film (2001) {imdb-tt0000009}/Ein Film (2001).mkv", ""},
	{"Radarr [imdb-tt]", "", "Ein Film (2001) [imdb-tt0000009]/Ein Film (2001).mkv", ""},
	{"Radarr [imdbid-tt]", "", "Ein Film (2001) [imdbid-tt0000009]/Ein Film (2001).mkv", ""},
	{"Radarr [tmdbid-N]", "", "Ein Film (2001) [tmdbid-7]/Ein Film (2001).mkv", ""},
	{"Radarr (tmdbid-N)", "", "Ein Film (2001) (tmdbid-7)/Ein Film (2001).mkv", ""},
	{"Radarr {tmdbid-N}", "", "Ein Film (2001) {tmdbid-7}/Ein Film (2001).mkv", ""},
	{"Radarr [tt]", "", "Ein Film (2001) [tt0000009]/Ein Film (2001).mkv", ""},
	{
		"Radarr {edition-}", "", "Silver Rail (2001) {edition-Extended}/Silver Rail (2001) {edition-Extended}.mkv",
		ownFolder,
	},
	{"Radarr (year) no folder", "", "Silver Rail (2001).mkv", ""},
	{"no folder, {tmdb-N}", "", "Ein Film (2001) {tmdb-7}.mkv", ""},
	{"no folder, [imdbid-]", "", "Ein Film (2001) [imdbid-tt0000009].mkv", ""},
	{"no folder, dotted", "", "Silver Rail.2001.1080p.BluRay.x264-GRP.mkv", ""},
	{"no folder, The", "The Silver Rail", "Silver Rail, The (2001).mkv", ""},
	{"no folder, &", "Silver & Rail", "Silver and Rail (2001).mkv", ""},
	{"no folder, no year", "", "Silver Rail.mkv", ownFolder},
	{"no folder, Director's Cut", "", "Silver Rail (2001) - Director's Cut.mkv", ""},
	{"no folder, part 1", "", "Silver Rail (2001) - part1.mkv", ""},
	{"no folder, original title", "", "Le Rail (2001).mkv", ""},
	{"original title's folder", "", "Le Rail (2001)/Le Rail (2001).mkv", ""},
	{"release", "", "Silver Rail.2001.1080p.BluRay.x264-GRP/silver.rail.2001.1080p.bluray.x264-grp.mkv", ""},
	{
		"YTS", "",
		"Silver Rail (2001) [1080p] [BluRay] [5.1] [YTS.MX]/Silver Rail.2001.1080p.BluRay.x264.AAC5.1-[YTS.MX].mp4", "",
	},
	{"paren tags", "", "Silver Rail (2001) (1080p BluRay x265 GRP)/Silver Rail (2001) (1080p BluRay x265 GRP).mkv", ""},
	{"year in []", "", "Silver Rail [2001]/Silver Rail.mkv", ""},
	{"no brackets", "", "Silver Rail 2001/Silver Rail.mkv", ""},
	{"year first", "", "2001 - Silver Rail/Silver Rail.mkv", ""},
	{"year first ()", "", "(2001) Silver Rail/Silver Rail.mkv", ""},
	{"3D", "", "Silver Rail (2001) 3D/Silver Rail (2001) 3D HSBS.mkv", ""},
	{"tMM", "", "Silver Rail (2001)/Silver Rail (2001) 1080p DTS.mkv", ""},
	{"tMM edition", "", "Silver Rail - Extended (2001)/Silver Rail - Extended (2001).mkv", ownFolder},
	{"Kodi cd1", "", "Silver Rail (2001)/Silver Rail (2001) cd1.avi", ""},
	{"Plex pt1", "", "Silver Rail (2001)/Silver Rail (2001) - pt1.mkv", ""},
	{"disc", "", "Silver Rail (2001)/VIDEO_TS/VIDEO_TS.IFO", ""},
	{"bluray", "", "Silver Rail (2001)/BDMV/index.bdmv", ""},
	{"a release of a disc", "", "Silver.Rail.2001.COMPLETE.BLURAY-GRP/BDMV/index.bdmv", ""},
	{"a release in parts", "", "Silver Rail 2001 DVDRip/CD1/film.avi", ""},
	{"iso", "", "Silver Rail (2001)/Silver Rail (2001).iso", ""},
	{"disc in a subfolder", "", "Silver Rail (2001)/Disc 1/BDMV/index.bdmv", ""},
	{"film in a subfolder", "", "Silver Rail (2001)/Silver Rail.2001.1080p-GRP/film.mkv", ""},
	{"parts in folders", "", "Silver Rail (2001)/CD1/film.avi", ""},
	{"collection", "", "Silver Rail Collection/Silver Rail (2001)/Silver Rail (2001).mkv", ownFolder},
	{"letter", "", "F/Silver Rail (2001)/Silver Rail (2001).mkv", ownFolder},
	{"decade", "", "2000s/Silver Rail (2001) {tmdb-7}/Silver Rail (2001).mkv", ownFolder},
	{"number", "300", "300 (2001)/300.mkv", ""},
	{"number in front", "12 Rails", "12 Rails (2001)/12 Rails.mkv", ""},
	{"number behind", "Rail 13", "Rail 13 (2001)/Rail 13 (2001) 1080p.mkv", ""},
	{"number behind, no year", "Rail 13", "Rail 13 (2001)/Rail 13.mkv", ""},
	{"number behind, dotted", "Rail 13", "Rail 13 (2001)/Rail.13.2001.1080p.mkv", ""},
	{"episode in the title", "Rail Episode 4", "Rail Episode 4 (2001)/Rail Episode 4 (2001).mkv", ""},
	{"episode in the file", "Rail", "Rail (2001)/Rail Episode IV - A Hope (2001).mkv", ""},
	{"a date", "Rail", "Rail (2001)/Rail 9-11 (2001).mkv", ""},
	{"folder without year", "", "Silver Rail/Silver Rail (2001).mkv", ""},
	{"folder without year 2", "", "Silver Rail/Silver Rail.mkv", ownFolder},
	{"folder without year 3", "", "Silver Rail/Silver Rail.2001.1080p.mkv", ""},
}

func TestFilmsOfOtherPrograms(t *testing.T) {
	for _, layout := range []string{"jellyfin", "plex", "kodi"} {
		for _, row := range existingFilms {
			t.Run(layout+"/"+row.by, func(t *testing.T) {
				d := tree("/in/a.mkv", "/out/"+row.path)
				p := NewPlanner(options(t, layout), d)
				r := with(film("/in/a.mkv", 7), func(r *report.Record) {
					r.Title, r.IDs, r.OriginalTitle = cmp.Or(row.title, "Silver Rail"), &report.WorkIDs{IMDB: "tt0000009"}, "Le Rail"
				})
				p.Add(&r)
				lines := strings.Join(planLines(p.Plan(noDetails)), "\n")
				got := ""
				if !strings.Contains(lines, "exists /in/a.mkv") {
					got = ownFolder
				}
				if got != row.want {
					t.Errorf("%q, want %q:\n%s", got, row.want, lines)
				}
			})
		}
	}
}
