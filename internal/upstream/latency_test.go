package upstream

import "testing"

func TestParseLatency(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "75ms": true, "1s-2s": true, "2s-1s": false, "x": false, "1s-x": false,
		"-1s": false,
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := ParseLatency(text); (err == nil) != ok {
				t.Errorf("%q: %v", text, err)
			}
		})
	}
}
