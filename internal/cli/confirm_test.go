package cli

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/ui"
)

func TestConfirmationAcceptsAYesInKorean(t *testing.T) {
	for typed, want := range map[string]bool{"YES": true, "네": true, "ㅛ": true, "": false, "아니요": false} {
		in := strings.NewReader(typed + "\n")
		f := &factory{streams: ui.Streams{In: in, Out: io.Discard, Err: io.Discard, InTTY: true, ErrTTY: true, Width: 80}}
		f.answers = bufio.NewReader(in)
		if got, err := f.confirm(t.Context(), false, "Go on?", "Nothing was done"); got != want || err != nil {
			t.Errorf("%q: got %t, %v, want %t", typed, got, err, want)
		}
	}
}
