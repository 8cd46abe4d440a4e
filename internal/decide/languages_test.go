package decide

import (
	"testing"

	"github.com/anivault/anivault/internal/match"
)

func TestTitlesAreInTheFirstLanguageThatTMDBHas(t *testing.T) {
	original := match.Entry{
		Title: "灯守の町", OriginalTitle: "灯守の町", OriginalLanguage: "ja", Titles: []match.AltTitle{
			{Title: "Toumori no Machi", Region: "JP"},
			{Title: "Lamp Keepers", Language: "en", Region: "GB"},
			{Title: "Lantern Keepers", Language: "en", Region: "US"},
			{Title: "La ville des lanternes", Language: "fr", Region: "FR"},
		},
	}
	korean := original
	korean.Title = "등불지기 마을"
	for _, row := range []struct {
		name  string
		asked languages
		entry match.Entry
		want  string
	}{
		{"TMDB has it", languages{"ko-KR", "en-US"}, korean, "등불지기 마을"},
		{"the second", languages{"ko-KR", "en-US"}, original, "Lantern Keepers"},
		{"its region", languages{"ko-KR", "en-GB"}, original, "Lamp Keepers"},
		{"another region", languages{"ko-KR", "fr-CA"}, original, "La ville des lanternes"},
		{"the original's", languages{"ko-KR", "ja", "en-US"}, original, "灯守の町"},
		{"none of them", languages{"ko-KR", "de"}, original, "灯守の町"},
		{"one language is TMDB's to choose", languages{"ko-KR"}, original, "灯守の町"},
		{"none asked for", nil, original, "灯守の町"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.asked.localize(&row.entry).Title; got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
