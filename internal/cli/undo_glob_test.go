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
	o := organizeRun{match: matchOptions{roots: []string{"in"}}}
	const want = "anivault organize --interactive in --to=lib --mode=move --or=copy --in-place --rename-existing " +
		"--extras=follow --on-conflict=version --nfo=ids --min-confidence=0.95 --language=ko-KR --type=tv"
	if got := o.interactiveCommand(cmd); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}
