package index

import (
	"strings"
	"testing"
)

// A title that is written otherwise, or without its subtitle, is found, but never as the very title.
func TestTitlesAreFoundLoosely(t *testing.T) {
	dir := t.TempDir()
	importAll(t, dir, write(t, "a", `<anime-list>
<anime anidbid="1" tmdbtv="11" tmdbseason="1"><name>Yuusha wo Sagasu: Tabi no Owari</name></anime>
<anime anidbid="2" tmdbtv="12" tmdbseason="1"><name>Hikari</name></anime>
<anime anidbid="3" tmdbtv="13" tmdbseason="1"><name>Lantern: Part One</name></anime>
<anime anidbid="4" tmdbtv="14" tmdbseason="1"><name>Irogarasu (2022)</name></anime>
<anime anidbid="5" tmdbtv="15" tmdbseason="1"><name>Hanataba o.</name></anime>
</anime-list>`), write(t, "b", "1|4|zh-Hans|寻找勇者～旅途的终点～\n2|1|x-jat|Hikari\n1|3|x-jat|yuusagashi tabi\n"))
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for text, want := range map[string]string{
		"Yūsha o Sagasu - Tabi no Owari": "tv/11 Yuusha wo Sagasu: Tabi no Owari s1",
		"Yuusha Wosagasu":                "",
		"Yuusha wo Sagasu":               "tv/11 Yuusha wo Sagasu: Tabi no Owari s1",
		"寻找勇者":                           "tv/11 寻找勇者～旅途的终点～ s1",
		"Irogarasu":                      "tv/14 Irogarasu (2022) s1", // the year tells namesakes apart
		"Hanataba wo":                    "tv/15 Hanataba o. s1",
		"尋找勇者～旅途的終點～":                    "tv/11 寻找勇者～旅途的终点～ s1",
		"Hikaari":                        "", // too short to be sure
		"Lantern":                        "", // one short word before a subtitle
		"Yuusa Gashitabi":                "", // an abbreviation
		"":                               "",
	} {
		found, err := x.LookupLoosely(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range found {
			got = append(got, show(c))
		}
		if g := strings.Join(got, "\n"); g != want {
			t.Errorf("%q is %q, want %q", text, g, want)
		}
		if exact := lookUp(t, dir, text); exact != "" {
			t.Errorf("%q counts as the very title of %q", text, exact)
		}
	}
}
