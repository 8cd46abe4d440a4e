package release

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSONHasWhatTheNameSaysAndNothingElse(t *testing.T) {
	for _, r := range []struct{ name, want string }{
		{"", `{"name":""}`},
		{
			"[Quiet] Silver \"Rail\" - 07v2 [BD 1080p x265 FLAC][ABCD1234].mkv",
			`{"name":"[Quiet] Silver \"Rail\" - 07v2 [BD 1080p x265 FLAC][ABCD1234].mkv","title":"Silver \"Rail\"","titles":["Silver \"Rail\""],"episodes":[7],"absolute":true,` +
				`"group":"Quiet","resolution":"1080p","version":2,"checksum":"ABCD1234","kind":"episode","source":"BluRay","video":"H.265","audio":"FLAC","extension":"mkv"}`,
		},
		{
			"Silver Rail - S00E03 [tmdbid-12].mkv",
			`{"name":"Silver Rail - S00E03 [tmdbid-12].mkv","title":"Silver Rail","titles":["Silver Rail"],"seasons":[0],"season":0,"episodes":[3],"kind":"special","ids":{"tmdb":"12"},"extension":"mkv"}`,
		},
		{"\xff\n\u2028", `{"name":"` + "\uFFFD" + `\n\u2028"}`},
	} {
		p := Parse(r.name)
		if diff := cmp.Diff(r.want, string(p.AppendJSON(nil))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", r.name, diff)
		}
	}
}

func TestJSONAppends(t *testing.T) {
	r := Parse("Silver Rail - 12.5.mkv")
	line := r.AppendJSON([]byte("before "))
	var back struct {
		Episodes []float64 `json:"episodes"`
	}
	if err := json.Unmarshal(line[len("before "):], &back); err != nil || string(line[:7]) != "before " {
		t.Fatalf("%s: %v", line, err)
	}
	if len(back.Episodes) != 1 || back.Episodes[0] != 12.5 {
		t.Errorf("episodes %v", back.Episodes)
	}
}
