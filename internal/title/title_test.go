package title

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNormalizeUnifiesWidthCaseAndPunctuation(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"  Hello,   World! ":          "hello world",
		"Ｆｕｌｌ　Ｗｉｄｔｈ２":                 "full width2",
		"Giant Killing: Café Crème":   "giant killing cafe creme",
		"Journey’s End / Journey's":   "journeys end journeys",
		"SPY×FAMILY":                  "spyxfamily",
		"Half ½ Step":                 "half 1 2 step",
		"ぎんが・てつどう":                    "ぎんが てつどう",
		"ﾊﾝｶｸ":                        "ハンカク",
		"Große Straße":                "grosse strasse",
		"Ⅲ":                           "iii",
		"塩港Ⅱ":                         "塩港 ii",
		"塩港Ⅱ第3話":                      "塩港 ii 第3話",
		"бёрег":                       "берег",
		"bad \xff bytes":              "bad bytes",
		"한글 제목!":                      "한글 제목",
		"Title -the second subtitle-": "title the second subtitle",
	} {
		t.Run(in, func(t *testing.T) {
			if got := Normalize(in); got != want {
				t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
			}
		})
	}
}

func TestNormalizeIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Normalize(rapid.String().Draw(t, "s"))
		if again := Normalize(n); again != n {
			t.Fatalf("Normalize(%q) = %q", n, again)
		}
	})
}

func TestScriptNamesTheLanguageThatLettersImply(t *testing.T) {
	for in, want := range map[string]string{
		"Plain Title": "latin", "銀河の歌": "ja", "银河之歌": "zh", "은하의 노래": "ko", "Галактика": "ru", "2001": "",
		"銀河 Galaxy": "zh", "ギンガ Galaxy": "ja", "Élan": "latin", "佐々木": "zh", "長い銀河鉄道之歌物語": "zh",
	} {
		t.Run(in, func(t *testing.T) {
			if got := Script(in); got != want {
				t.Errorf("Script(%q) = %q, want %q", in, got, want)
			}
		})
	}
}

func TestRomanizeWritesKanaAndHangul(t *testing.T) {
	for in, want := range map[string]string{
		"とうきょう":   "toukyou",
		"がっこう":    "gakkou",
		"マッチャ":    "matcha",
		"ジャズ":     "jazu",
		"ファイト":    "faito",
		"ウィング":    "wingu",
		"ラーメン":    "raamen",
		"ティーチャー":  "tiichaa",
		"서울":      "seoul",
		"한국어":     "hangugeo",
		"빨강머리":    "ppalgangmeori",
		"신라":      "sinra",
		"설레":      "seolle",
		"Plain 2": "Plain 2",
		"銀河":      "銀河",
	} {
		t.Run(in, func(t *testing.T) {
			if got := Romanize(in); got != want {
				t.Errorf("Romanize(%q) = %q, want %q", in, got, want)
			}
		})
	}
}

func TestSimilarityRespectsNumbers(t *testing.T) {
	type row struct {
		a, b     string
		min, max float64
	}
	for _, r := range []row{
		{"Silver Rail", "silver rail!", 1, 1},
		{"K-ON", "kon", 0.98, 0.99},
		{"Silver Rail II", "Silver Rail 2", 0.98, 0.99},
		{"Silver Rail 2nd Season", "Silver Rail Second Season", 0.98, 0.99},
		{"Rail of Silver", "Silver of Rail", 0.96, 0.98},
		{"Silver Rail 2", "Silver Rail", 0, 0.6},
		{"Silver Rail 2", "Silver Rail 3", 0, 0.6},
		{"Silver Rail II", "Silver Rail III", 0, 0.6},
		{"86", "85", 0, 0.4},
		{"Silver Rail", "Sliver Rail", 0.7, 0.96},
		{"Silver Rail", "Copper Mine", 0, 0.4},
		{"X", "V", 0, 0.1},
		{"銀河之歌", "銀河之歌", 1, 1},
		{"", "", 0, 0},
	} {
		t.Run(r.a+" and "+r.b, func(t *testing.T) {
			if got := Similarity(r.a, r.b); got < r.min || got > r.max {
				t.Errorf("Similarity(%q, %q) = %.3f, want %.2f..%.2f", r.a, r.b, got, r.min, r.max)
			}
		})
	}
}

// word draws titles from a small alphabet so that near misses are common.
var word = rapid.StringMatching(`[abアい각0-9 IVX'!-]{0,14}`)

func TestSimilarityIsSymmetricAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		ab, ba := Similarity(a, b), Similarity(b, a)
		if ab != ba {
			t.Fatalf("Similarity(%q, %q) = %v, reversed %v", a, b, ab, ba)
		}
		if ab < 0 || ab > 1 {
			t.Fatalf("Similarity(%q, %q) = %v", a, b, ab)
		}
		if same := Normalize(a) == Normalize(b) && Normalize(a) != ""; same != (ab == 1) {
			t.Fatalf("Similarity(%q, %q) = %v, equal is %v", a, b, ab, same)
		}
	})
}

func TestASequelNumberNeverCountsAsTheSameTitle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.StringMatching(`[a-z]{2,9}( [a-z]{2,9}){0,3}`).Draw(t, "base")
		n := rapid.StringMatching(`[2-9]`).Draw(t, "n")
		if got := Similarity(base+" "+n, base); got >= otherNumberFactor {
			t.Fatalf("Similarity(%q, %q) = %v", base+" "+n, base, got)
		}
	})
}

func FuzzTitle(f *testing.F) {
	f.Add("銀河 ii", "Ginga 2")
	f.Add("ッッーー\xff", "한글ㄱ")
	f.Fuzz(func(t *testing.T, a, b string) {
		if s := Similarity(a, b); s < 0 || s > 1 || s != Similarity(b, a) {
			t.Fatalf("Similarity(%q, %q) = %v", a, b, s)
		}
		if n := Normalize(a); Normalize(n) != n {
			t.Fatalf("Normalize is not idempotent on %q", a)
		}
		_ = Romanize(a)
		_ = Script(a)
	})
}

func TestPlainIsOneFormForWaysOfWriting(t *testing.T) {
	for _, row := range []struct {
		name, a, b string
		same       bool
	}{
		{"long vowels and particles", "Yuusha wo Sagasu", "Yūsha o Sagasu", true},
		{"traditional and simplified Chinese", "甜點轉生 龍與魔法", "甜点转生 龙与魔法", true},
		{"one of several forms", "鍾樓", "钟楼", true},
		{"simplified characters that have two meanings", "皇后", "皇後", true},
		{"Latin letters beside them", "Love Live! 虹咲學園", "Love Live! 虹咲学园", true},
		{"Japanese forms that no Chinese has", "鉄道", "鐵道", false},
		{"Japanese forms that China took over", "万国", "萬國", true},
		{"another word", "龍與魔法", "龍與魔術", false},
		{"hangul and kana stay", "はたらく龍", "はたらく龙", true},
		{"characters that have no other form", "一二三", "一二四", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, b := SpellingKey(Normalize(row.a)), SpellingKey(Normalize(row.b))
			if (a == b) != row.same {
				t.Errorf("%s is %q, %s is %q", row.a, a, row.b, b)
			}
			if Normalize(row.a) == Normalize(row.b) {
				t.Errorf("%s and %s count as the very same title", row.a, row.b)
			}
		})
	}
}

// No simplified character has another form: what is simplified twice is simplified once.
func TestTheTableOfHanIsFinal(t *testing.T) {
	if len(simplified()) < 2000 {
		t.Errorf("the table has %d characters", len(simplified()))
	}
	for from, to := range simplified() {
		if simplifyHan(string(from)) != string(to) || simplifyHan(string(to)) != string(to) {
			t.Errorf("%c becomes %c, and that %s", from, to, simplifyHan(string(to)))
		}
	}
}

func TestOneHanNeverBreaksText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Normalize(rapid.StringOf(rapid.RuneFrom([]rune("龍龙學a1 のー한é𠀀㐀丟鿿"))).Draw(t, "in"))
		out := simplifyHan(in)
		if !utf8.ValidString(out) || utf8.RuneCountInString(out) != utf8.RuneCountInString(in) || simplifyHan(out) != out {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

func TestSignsDistinguishSequels(t *testing.T) {
	for in, want := range map[string]string{
		"Lantern Club":      "",
		"Lantern Club!":     "",
		"Lantern Club!!":    "!!",
		"Lantern Club！！":    "!!",
		"Lantern Club'":     "'",
		"Lantern Club´":     "'",
		"Lantern Club*":     "*",
		"Lantern*Club":      "",
		"Lantern Club?":     "",
		"Lantern Club??":    "??",
		"Lantern!? Club":    "!?",
		"Lantern's Club":    "",
		"Lantern Club°":     "°",
		"Lantern Club +":    "+",
		"Lantern Club √A":   "√",
		"Lantern ♥ Club":    "",
		"Lantern Club ♥♥":   "♥♥",
		"Lantern Club' +!!": "'+!!",
		"'Lantern Club'":    "",
		"‘등대 클럽’":           "",
		"'3월의 등대'":          "",
		"'Lantern Club!!'":  "!!",
		"Lantern 'n' Club'": "'",
		"Lantern 'Harbor'":  "",
	} {
		t.Run(in, func(t *testing.T) {
			if got := SequelSigns(in); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestReadings(t *testing.T) {
	for _, row := range []struct {
		japanese, latin string
		want            bool
	}{
		{"灯台のひかり", "Toudai no Hikari", true},
		{"これはランタンですか?", "Kore wa Lantern Desu ka", true},
		{"さらば北の灯台 霧の航路", "Saraba Kita no Toudai: Kiri no Kouro", true},
		{"灯台のひかり", "Toudai no Hikari Shin Shou no Hajimari", false},
		{"灯台のひかり", "Salt Harbor", false},
		{"灯台", "Toudai", false}, // no kana
		{"LANTERN クラブ", "Lantern Kurabu", true},
		{"Lantern Club", "Lantern Clubs", false}, // nothing to read
		{"", "", false},
	} {
		if got := MayBeReading(row.japanese, row.latin); got != row.want {
			t.Errorf("%s as %s: %v", row.japanese, row.latin, got)
		}
	}
}

func TestShapesOfReadings(t *testing.T) {
	for _, row := range []struct {
		japanese, latin string
		want            bool
	}{
		{"霧の灯台編", "Kiri no Toudai-hen", true},
		{"霧の灯台編", "Kiri no Toudai", false},
		{"北への帰り道", "Kita e no Kaerimichi", true},
		{"嵐", "Arashi no Kouro", false},
		{"北海灯台島編", "Kita-hen", false}, // five characters in four letters
		{"星々の灯台", "Hoshiboshi no Toudai", true},
		{"島々の灯台", "Shimajima no Toudai", true},
		{"星々の灯台", "Minato no Toudai", false},
		{"", "", false},
	} {
		if _, got := ReadingMisfit(row.japanese, row.latin); got != row.want {
			t.Errorf("%s as %s: %v", row.japanese, row.latin, got)
		}
	}
}
