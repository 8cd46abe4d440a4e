package title

import "testing"

func TestSignsTellSequelsApart(t *testing.T) {
	for in, want := range map[string]string{
		"Lantern Club":      "",
		"Lantern Club!":     "",
		"Lantern Club!!":    "!!",
		"Lantern Club！！":    "!!",
		"Lantern Club'":     "'",
		"Lantern's Club":    "",
		"Lantern Club°":     "°",
		"Lantern Club +":    "+",
		"Lantern Club √A":   "√",
		"Lantern ♥ Club":    "",
		"Lantern Club ♥♥":   "♥♥",
		"Lantern Club' +!!": "'+!!",
	} {
		t.Run(in, func(t *testing.T) {
			if got := Signs(in); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
