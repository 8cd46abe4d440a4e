package release

import "testing"

// A date counts where it can be read in one way only.
func TestTheDateOfAName(t *testing.T) {
	for name, want := range map[string]string{
		"Silver Rail SP 2020.07.02 [1080p].mkv":     "2020-07-02",
		"[Quiet] Silver Rail (2020-7-2) [720p].mkv": "2020-07-02",
		"Silver Rail OVA 20200702.mkv":              "2020-07-02",
		"Silver Rail SP 02.07.2020 [1080p].mkv":     "",
		"Silver Rail SP 2020.31.02 [1080p].mkv":     "",
		"Silver Rail 140722 SP.mkv":                 "",
		"Silver Rail SP (2020).mkv":                 "",
	} {
		t.Run(name, func(t *testing.T) {
			if got := Parse(name).Date; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
