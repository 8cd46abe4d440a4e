package match

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/release"
)

func TestQueriesGoFromTheWholeTitleToItsParts(t *testing.T) {
	for _, row := range []struct {
		name string
		rel  release.Release
		kind Kind
		want []string
	}{
		{"series", rel("Salt Harbor", eps(1)), "", []string{"tv Salt Harbor 0", "movie Salt Harbor 0", "tv SaltHarbor 0"}},
		{
			"year first, then without", rel("Salt Harbor", of(2019), eps(1)), "",
			[]string{"tv Salt Harbor 2019", "tv Salt Harbor 0", "movie Salt Harbor 0", "tv SaltHarbor 0"},
		},
		{
			"film", rel("Salt Harbor", as(release.Movie)), "",
			[]string{"movie Salt Harbor 0", "tv Salt Harbor 0", "movie SaltHarbor 0"},
		},
		{"neither", rel("Moth", as(release.Unknown)), "", []string{"tv Moth 0", "movie Moth 0"}},
		{"asked for one kind", rel("Moth", as(release.Unknown)), Movie, []string{"movie Moth 0"}},
		{"extra", rel("Moth", as(release.Extra)), "", nil},
		{
			"punctuation", rel("Re:Null −Start−", eps(1)), TV,
			[]string{"tv Re Null Start 0", "tv Re Null 0", "tv ReNullStart 0"},
		},
		{
			"apostrophe inside a word", rel("Keeper’s 'Last' Lamp", eps(1)), TV,
			[]string{"tv Keeper's Last Lamp 0", "tv Keeper'sLastLamp 0"},
		},
		{
			"an ampersand that is spelled out", rel("Salt and Harbor", eps(1)), TV,
			[]string{"tv Salt and Harbor 0", "tv Salt Harbor 0", "tv SaltandHarbor 0"},
		},
		{"decomposed letters", rel("Cafe\u0301", eps(1)), TV, []string{"tv Café 0"}},
		{
			"subtitle", rel("Salt Harbor: The Long Wait", eps(1)), TV,
			[]string{"tv Salt Harbor The Long Wait 0", "tv Salt Harbor 0"},
		},
		{"sequel words", rel("Moth 2", eps(1)), TV, []string{"tv Moth 2 0", "tv moth 0", "tv Moth2 0"}},
		{"a show's end", rel("소금항 최종장", eps(1)), TV, []string{"tv 소금항 최종장 0", "tv 소금항 0", "tv 소금항최종장 0"}},
		{
			"two scripts", rel("灯守の町 Lantern", eps(1)), TV,
			[]string{"tv 灯守の町 Lantern 0", "tv 灯守の町 0", "tv Lantern 0", "tv 灯守の町Lantern 0"},
		},
		{
			"two scripts in a folder", rel("등불지기 Lantern", as(release.Movie), of(2019), func(r *release.Release) {
				r.Titles = append(r.Titles, release.Title{Text: "받은 것", From: release.FromFolder})
			}), Movie,
			[]string{
				"movie 등불지기 Lantern 2019", "movie 등불지기 Lantern 0", "movie 등불지기 0", "movie Lantern 0",
				"movie 받은 것 등불지기 Lantern 0", "movie 받은 것 2019", "movie 받은 것 0",
				"movie 등불지기Lantern 0", "movie 받은것 0",
			},
		},
		{
			"a film's words", rel("Gekijouban Salt Harbor", as(release.Movie)), Movie,
			[]string{"movie Gekijouban Salt Harbor 0", "movie salt harbor 0", "movie GekijoubanSaltHarbor 0"},
		},
		{
			"a film's year with what stands before the word", rel("Salt Harbor Movie 2 Night", as(release.Movie), of(2019)),
			Movie,
			[]string{
				"movie Salt Harbor Movie 2 Night 2019", "movie Salt Harbor Movie 2 Night 0", "movie salt harbor 2 night 0",
				"movie salt harbor 2019", "movie Salt Harbor 0",
			},
		},
		{
			"first words of a long one", rel("Kono Minato wa Itsumo Shizuka desu", eps(1)), TV,
			[]string{"tv Kono Minato wa Itsumo Shizuka desu 0", "tv Kono Minato wa 0"},
		},
		{"the other kind before the parts", rel("Salt Harbor 2: The Wait", eps(1)), "", []string{
			"tv Salt Harbor 2 The Wait 0", "movie Salt Harbor 2 The Wait 0", "tv Salt Harbor 2 0", "tv Salt Harbor 0",
		}},
		{
			"a sequel's base before the other kind", rel("Moth 2", eps(1)), "",
			[]string{"tv Moth 2 0", "tv moth 0", "movie Moth 2 0", "tv Moth2 0"},
		},
		{
			"a remark in brackets", rel("Salt Harbor (On-air)", eps(1)), TV,
			[]string{"tv Salt Harbor On air 0", "tv Salt Harbor 0", "tv SaltHarborOnair 0"},
		},
		{"a piece of the name after the other kind", rel("蛾行列 Moth", also("Moth"), eps(1)), "", []string{
			"tv 蛾行列 Moth 0", "movie 蛾行列 Moth 0", "tv Moth 0", "tv 蛾行列 0", "tv 蛾行列Moth 0",
		}},
		{
			"long vowels marked", rel("Kōbe Yōkai", also("神戸妖怪"), eps(1)), TV,
			[]string{"tv 神戸妖怪 0", "tv Kōbe Yōkai 0", "tv KōbeYōkai 0"},
		},
		{"one file that may be a film", rel("Moth", as(release.Unknown), func(r *release.Release) {
			r.Extension = "mkv"
		}), "", []string{"movie Moth 0", "tv Moth 0"}},
		{
			"joined words as the likelier kind alone", rel("Salt Harbor", as(release.Unknown)), "",
			[]string{"tv Salt Harbor 0", "movie Salt Harbor 0", "tv SaltHarbor 0"},
		},
		{"Chinese after other scripts", rel("灯守之城", also("灯守の町"), eps(1)), TV, []string{"tv 灯守の町 0", "tv 灯守之城 0"}},
		{"digits that are a title", rel("11eyes", eps(1)), TV, []string{"tv 11eyes 0"}},
		{"other reading", rel("Moth", also("蛾行列"), eps(1)), TV, []string{"tv Moth 0", "tv 蛾行列 0"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, q := range Queries(Group([]File{{Release: row.rel}})[0], row.kind) {
				got = append(got, fmt.Sprintf("%s %s %d", q.Kind, q.Text, q.Year))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnlistedTitlesAreSearchedInAnotherScriptFirst(t *testing.T) {
	for _, row := range []struct {
		name, first string
		rel         release.Release
	}{
		{"a phrase", "灯守之城", rel("Toumori no Siro", also("灯守之城"), eps(1))},
		{"a word that works may share", "Toumori no Siro", rel("Toumori no Siro", also("灯守"), eps(1))},
		{"an extra", "Toumori no Siro", rel("Toumori no Siro", also("灯守之城"), as(release.Extra))},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := Group([]File{{Release: row.rel, MatchExtra: true}})[0]
			if got := Queries(s, ""); got[0].Text != "Toumori no Siro" {
				t.Errorf("listed: %v", got)
			}
			s.NotInIndex = true
			if got := Queries(s, ""); got[0].Text != row.first {
				t.Errorf("unlisted: %v", got)
			}
		})
	}
}

func TestPartsAreWhatAListMayKnowASeriesBy(t *testing.T) {
	for text, want := range map[string][]string{
		"Moth": nil, "Moth 2": {"moth"}, "Moth (On-air)": {"Moth"}, "Moth: The Wait": {"Moth"},
		"灯守の町 Lantern":                       {"灯守の町", "Lantern"},
		"Kono Minato wa Itsumo Shizuka desu": nil, // no list calls it by its first words
	} {
		got := Group([]File{{Release: rel(text, eps(1))}})[0].ShorterTitles()
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestSearchTextIsPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "in")
		got := searchText(in)
		if !utf8.ValidString(got) || !norm.NFC.IsNormalString(got) || searchText(got) != got {
			t.Fatalf("%q became %q", in, got)
		}
	})
}
