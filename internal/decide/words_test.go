package decide

import "testing"

func TestIndexReasonsAreInWords(t *testing.T) {
	for got, want := range map[string]string{
		offlineReason(1, 0).String(): "from the imported lists: season 1 (not checked with TMDB)",
		offlineReason(
			1, 12,
		).String(): "from the imported lists: season 1, counted from episode 12 (not checked with TMDB)",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
