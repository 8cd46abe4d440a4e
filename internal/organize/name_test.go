package organize

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestNamesAreMadeStorable(t *testing.T) {
	for _, row := range []struct{ name, want string }{
		{"Frieren - Beyond Journey's End", "Frieren - Beyond Journey's End"},
		{"Re:Zero", "Re-Zero"},
		{"Code: Geass", "Code - Geass"},
		{"Fate/stay night", "Fate-stay night"},
		{`a\b|c`, "a-b-c"},
		{`"Oshi no Ko"`, "'Oshi no Ko'"},
		{"What? <No>*", "What No"},
		{"a   b \t c", "a b c"},
		{".hack//SIGN", "hack--SIGN"},
		{" ..a.. ", "a"},
		{"Show...", "Show"},
		{"...", ""},
		{"..", ""},
		{"", ""},
		{"?", ""},
		{"CON", "CON_"},
		{"con.mkv", "con_.mkv"},
		{"Nul .x.mkv", "Nul_ .x.mkv"},
		{"COM0", "COM0_"},
		{"LPT¹.srt", "LPT¹_.srt"},
		{"conin$", "conin$_"},
		{"CONSOLE", "CONSOLE"},
		{"COM10", "COM10"},
		{"CO?N", "CON_"},
		{"e\u0301", "é"},
		{"e\u200b\u0301", "é"},
		{"각", "각"},
		{"a\u202eb\u2066c\ufeff\u00ad", "abc"},
		{"a\x00b\nc\x7f", "abc"},
		{"\u3164", ""},
		{"👩\u200d👧", "👩\u200d👧"},
		{"\u200dا\u200c", "ا"},
		{"機動戦士　ガンダム", "機動戦士　ガンダム"},
		{"a　 b", "a b"},
		{"a\xffb", "a\ufffdb"},
		{"a:\u200b b", "a- b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := CleanName(row.name); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestNamesThatSomeSystemTakesForOne(t *testing.T) {
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"Show", "SHOW", true},
		{"é", "E\u0301", true},
		{"Straße", "STRASSE", true},
		{"가", "\u1100\u1161", true},
		{"👩\u200d👧", "👩👧", true},
		{"Σ", "ς", true},
		{"Ꮜ", "ꮜ", true},
		{"Show", "Show 2", false},
		{"か", "が", false},
	} {
		t.Run(row.a+" "+row.b, func(t *testing.T) {
			if got := FoldName(row.a) == FoldName(row.b); got != row.same {
				t.Errorf("got %v, want %v", got, row.same)
			}
		})
	}
}

// FuzzCleanName holds what every system asks of a name.
func FuzzCleanName(f *testing.F) {
	for _, s := range []string{
		"../../etc", "a\x00b", "\u202eMKV.exe", "CON.mkv", strings.Repeat("漢", 400), "👨\u200d👩\u200d👧\u200d👦", "con .",
		"a: b", "e\u200b\u0301",
		"\u200d", "NUL..", "LPT³ . .x", "\xff\xfe", "a : b:", "< a", " \u3000 a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := CleanName(s)
		if again := CleanName(got); again != got {
			t.Fatalf("%q became %q and then %q", s, got, again)
		}
		if got == "" {
			return
		}
		if !utf8.ValidString(got) || !norm.NFC.IsNormalString(got) || strings.ContainsAny(got, "/\\|:\"?*<>\x00") {
			t.Fatalf("%q became %q", s, got)
		}
		if strings.Trim(got, ". ") != got || !isLocal(got) ||
			deviceName().MatchString(strings.ToUpper(strings.TrimRight(strings.Split(got, ".")[0], " "))) {
			t.Fatalf("%q became %q", s, got)
		}
		if FoldName(got) != FoldName(FoldName(got)) {
			t.Fatalf("the key of %q is %q, and of that %q", got, FoldName(got), FoldName(FoldName(got)))
		}
	})
}

func TestATitleThatOnlyNumbersTheEpisodeIsGeneric(t *testing.T) {
	for title, want := range map[string]bool{
		"Episode 5": true, "episode 12": true, "Ep. 5": true, "EP5": true, "Épisode 3": true, "Folge 7": true,
		"3. Bölüm": true, "Серия 4": true, "エピソード5": true, "第5話": true, "第 5 话": true, "5화": true, "제 5회": true,
		"TBA": true, "tbd": true,
		"": false, "5": false, "Episode 5: Dawn": false, "The Fifth Episode": false, "Episode": false, "第五話": false,
		"5 Folgen": false, "Catch 22": false, "S.T.A.R. 4": false,
	} {
		if isGeneric(title) != want {
			t.Errorf("isGeneric(%q) = %t", title, !want)
		}
	}
}
