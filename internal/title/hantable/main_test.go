package main

import (
	"strings"
	"testing"
)

func TestTheTableHasTheLastCommonFormOfEachCharacter(t *testing.T) {
	const head = "# Unicode version: 15.0.0\n"
	for _, tc := range []struct{ name, list, pairs string }{
		{"one form", "U+9F8D\tkSimplifiedVariant\tU+9F99\n", "龍龙"},
		{"the character itself is no other form", "U+4E7E\tkSimplifiedVariant\tU+4E7E U+5E72\n", "乾干"},
		{"the first of several", "U+937E\tkSimplifiedVariant\tU+949F U+953A\n", "鍾钟"},
		{"forms of forms", "U+82E7\tkSimplifiedVariant\tU+82CE\nU+85B4\tkSimplifiedVariant\tU+82E7\n", "苧苎 薴苎"},
		{"in the order of code points", "U+9F8D\tkSimplifiedVariant\tU+9F99\nU+4E9E\tkSimplifiedVariant\tU+4E9A\n", "亞亚 龍龙"},
		{
			"rare ones and other facts are left out",
			"U+3469\tkSimplifiedVariant\tU+3447\nU+9F99\tkTraditionalVariant\tU+9F8D\nU+9F8D\tkSimplifiedVariant\tU+9F99\n",
			"龍龙",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := generate(strings.NewReader(head + tc.list))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(string(out), "]\n"+tc.pairs+"\n") || !strings.Contains(string(out), "Unicode 15.0.0") {
				t.Errorf("want the pairs %s, got\n%s", tc.pairs, out)
			}
		})
	}
}

func TestAListThatIsNoneIsRefused(t *testing.T) {
	for _, list := range []string{
		"", "# Unicode version: 15.0.0\n", "U+9F8D\tkSimplifiedVariant\tU+9F99\n",
		"# Unicode version: 15.0.0\nU+9F8D kSimplifiedVariant 9F99\n",
	} {
		if out, err := generate(strings.NewReader(list)); err == nil {
			t.Errorf("%q made\n%s", list, out)
		}
	}
}
