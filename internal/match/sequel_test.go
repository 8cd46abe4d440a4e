package match

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/title"
)

func TestSplitSequel(t *testing.T) {
	for _, row := range []struct {
		in, base string
		want     Sequel
	}{
		{"salt harbor", "salt harbor", Sequel{}},
		{"salt harbor 2", "salt harbor", Sequel{Season: 2}},
		{"salt harbor ii", "salt harbor", Sequel{Season: 2}},
		{"salt harbor s3", "salt harbor", Sequel{Season: 3}},
		{"salt harbor 2nd season", "salt harbor", Sequel{Season: 2}},
		{"salt harbor season 2", "salt harbor", Sequel{Season: 2}},
		{"salt harbor third season", "salt harbor", Sequel{Season: 3}},
		{"salt harbor the final season", "salt harbor", Sequel{Final: true}},
		{"salt harbor the second tide", "salt harbor", Sequel{Season: 2}},
		{"salt harbor second tide", "salt harbor", Sequel{Season: 2}},
		{"shio no minato ni no shou", "shio no minato", Sequel{Season: 2}},
		{"shio no minato dai 2 ki", "shio no minato", Sequel{Season: 2}},
		{"shio no minato zoku", "shio no minato", Sequel{Season: 2}},
		{"yan gang di er ji", "yan gang", Sequel{Season: 2}},
		{"salt harbor part 2", "salt harbor", Sequel{Part: 2}},
		{"salt harbor 2nd cour", "salt harbor", Sequel{Part: 2}},
		{"salt harbor 3rd season 2nd part", "salt harbor", Sequel{Season: 3, Part: 2}},
		{"salt harbor 2nd season 2019", "salt harbor", Sequel{Season: 2, Year: 2019}},
		{"salt harbor 2019", "salt harbor", Sequel{Year: 2019}},
		{"塩港 第二季", "塩港", Sequel{Season: 2}},
		{"塩港第2期", "塩港", Sequel{Season: 2}},
		{"塩港 第3シーズン", "塩港", Sequel{Season: 3}},
		{"塩港第2クール", "塩港", Sequel{Part: 2}},
		{"塩港2", "塩港", Sequel{Season: 2}},
		{"salt 塩港2", "salt 塩港", Sequel{Season: 2}},
		{"しおみなと記iii", "しおみなと記", Sequel{Season: 3}},
		{"シオハーバーii", "シオハーバー", Sequel{Season: 2}},
		{"塩港x", "塩港x", Sequel{}},
		{"소금항 2기", "소금항", Sequel{Season: 2}},
		{"소금항 시즌 3", "소금항", Sequel{Season: 3}},
		{"소금항 2쿨", "소금항", Sequel{Part: 2}},
		{"소금항 파트 2", "소금항", Sequel{Part: 2}},
		{"소금항 더 파이널 시즌", "소금항", Sequel{Final: true}},
		{"소금항 최종 시즌", "소금항", Sequel{Final: true}},
		{"塩港 完", "塩港", Sequel{Final: true}},
		{"塩港完", "塩港完", Sequel{}},
		{"96", "96", Sequel{}},
		{"11eyes", "11eyes", Sequel{}},
		{"2019", "2019", Sequel{}},
		{"season 2", "season 2", Sequel{}},
		{"the second", "the second", Sequel{}},
		{"go go ni", "go go ni", Sequel{}},
	} {
		t.Run(row.in, func(t *testing.T) {
			if base, got := splitSequel(row.in); base != row.base || got != row.want {
				t.Errorf("got %q %+v, want %q %+v", base, got, row.base, row.want)
			}
		})
	}
}

// The example of each rule is what that rule, and none before it, takes off.
func TestEachMarkerHasAnExample(t *testing.T) {
	for i, m := range sequelMarkers {
		t.Run(m.name, func(t *testing.T) {
			end := newTitleEnd(m.example)
			for _, before := range sequelMarkers[:i] {
				if len(end.words) < before.minWords {
					continue
				}
				if _, seq := before.cut(end); !seq.IsZero() {
					t.Errorf("%q takes it before", before.name)
				}
			}
			if base, seq := m.cut(end); base != m.base || seq != m.seq || len(end.words) < m.minWords {
				t.Errorf("%q: got %q %+v", m.example, base, seq)
			}
		})
	}
}

func TestSplitSequelKeepsABase(t *testing.T) {
	word := rapid.SampledFrom([]string{
		"2", "ii", "season", "part", "第", "2期", "final", "the", "second", "2019", "harbor",
		"塩", "no", "shou", "s2",
	})
	rapid.Check(t, func(t *rapid.T) {
		in := ""
		for range rapid.IntRange(1, 8).Draw(t, "words") {
			in += " " + word.Draw(t, "word")
		}
		in = title.Normalize(in)
		base, seq := splitSequel(in)
		if base == "" || len(base) > len(in) || seq.IsZero() != (base == in) {
			t.Fatalf("%q became %q and %+v", in, base, seq)
		}
	})
}
