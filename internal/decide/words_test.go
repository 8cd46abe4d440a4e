package decide

import "testing"

func TestWhatTheIndexSaysIsSaidInWords(t *testing.T) {
	for got, want := range map[string]string{
		offlineReason(1, 0).String(): "by the lists: season 1; unchecked, because TMDB could not be asked",
		offlineReason(
			1, 12,
		).String(): "by the lists: season 1, counted on from episode 12; unchecked, because TMDB could not be asked",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
