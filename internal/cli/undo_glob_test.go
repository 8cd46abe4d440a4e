package cli

import (
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestAPatternMatchesNamesInEachNormalForm(t *testing.T) {
	for _, row := range []struct {
		glob, name string
		want       bool
	}{
		{"Pokémon*", "/in/" + norm.NFD.String("Pokémon 01.mkv"), true},
		{norm.NFD.String("Pokémon 01.mkv"), "/in/Pokémon 01.mkv", true},
		{"/in/*", "/in/a.mkv", true},
		{"Pokemon*", "/in/Pokémon 01.mkv", false},
		{"Dune (2021) [tmdbid-1]", "/lib/Dune (2021) [tmdbid-1]/Dune.mkv", true}, // copied from the history
		{"/in/[A] Title - 01.mkv", "/in/[A] Title - 01.mkv", true},
		{"[A] Title*", "/in/[A] Title - 01.mkv", false},
	} {
		if matchesGlob(row.glob, row.name) != row.want {
			t.Errorf("%q and %q: not %v", row.glob, row.name, row.want)
		}
	}
}

// The command of a hint does what the command did.
func TestTheCommandWithInteractiveHasItsFlags(t *testing.T) {
	cmd := newOrganize(&factory{})
	if err := cmd.ParseFlags([]string{
		"--to", "lib", "--or", "copy", "--in-place", "--mode", "move", "--extras", "follow",
		"--on-conflict", "version", "--nfo", "ids", "--min-confidence", "0.95", "--language", "ko-KR", "--type", "tv",
		"--rename-existing",
	}); err != nil {
		t.Fatal(err)
	}
	o := matchOptions{roots: []string{"in"}, exclude: []string{"*.avi"}}
	const want = "anivault organize --interactive in --to=lib --mode=move --or=copy --in-place --rename-existing " +
		"--extras=follow --on-conflict=version --nfo=ids --min-confidence=0.95 --language=ko-KR --type=tv --exclude='*.avi'"
	if got := o.commandThatAsks(cmd); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
	cmd = newMatch(&factory{})
	if err := cmd.ParseFlags([]string{"--type", "tv", "--min-confidence", "0.9", "--strict", "--offline"}); err != nil {
		t.Fatal(err)
	}
	o.exclude = nil
	if got := o.commandThatAsks(cmd); got != "anivault match --interactive in --min-confidence=0.9 --type=tv --offline" {
		t.Error(got)
	}
}
