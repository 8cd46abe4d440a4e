package title

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var unihan = flag.String("unihan", "", "Unihan_Variants.txt, from which to write han.txt anew")

// TestHanTable writes the table with which titles in traditional and simplified characters are compared:
//
//	bunzip2 -k < /usr/share/unicode/Unihan_Variants.txt.bz2 > /tmp/variants.txt
//	go test ./internal/title -run HanTable -unihan /tmp/variants.txt
//
// The file belongs to the Unicode Character Database (https://www.unicode.org/reports/tr38/). The table has
// kSimplifiedVariant of the characters in the common block; rare ones do not occur in titles.
func TestHanTable(t *testing.T) {
	if *unihan == "" {
		t.Skip("only with -unihan")
	}
	list, err := os.Open(*unihan)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	out, err := generate(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("han.txt", out, 0o644); err != nil {
		t.Fatal(err)
	}
}

func generate(list io.Reader) ([]byte, error) {
	simple, version, err := readVariants(list)
	if err != nil {
		return nil, err
	}
	if len(simple) == 0 || version == "" {
		return nil, errors.New("the input is not Unihan_Variants.txt: no version of Unicode, or no kSimplifiedVariant")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, tableHeader, version, len(simple))
	for row := range slices.Chunk(slices.Sorted(maps.Keys(simple)), 16) {
		pairs := make([]string, len(row))
		for i, r := range row {
			pairs[i] = string(r) + string(simplest(simple, r))
		}
		fmt.Fprintln(&b, strings.Join(pairs, " "))
	}
	return b.Bytes(), nil
}

const tableHeader = `# Written by TestHanTable from Unihan_Variants.txt of Unicode %s; not to be edited.
#
# Unicode's data files are copyright 1991-2022 Unicode, Inc., and may be used, copied and modified under the Unicode
# License, https://www.unicode.org/license.txt. The pairs below are an extract of one of them, in another form: %d
# traditional characters, each followed by its simplified one, in the order of code points.

[han]
`

// readVariants returns the simplified form of each character, and the Unicode version of the list. If there are several
// forms, it returns the first common one.
func readVariants(list io.Reader) (simple map[rune]rune, version string, err error) {
	simple = map[rune]rune{}
	lines := bufio.NewScanner(list)
	for n := 1; lines.Scan(); n++ {
		if v, ok := strings.CutPrefix(lines.Text(), "# Unicode version: "); ok {
			version = v
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || fields[1] != "kSimplifiedVariant" {
			continue
		}
		from, err := codePoint(fields[0])
		if err != nil {
			return nil, "", fmt.Errorf("line %d: %w", n, err)
		}
		for _, f := range fields[2:] {
			to, err := codePoint(f)
			if err != nil {
				return nil, "", fmt.Errorf("line %d: %w", n, err)
			}
			if _, known := simple[from]; !known && from != to && isCommon(from) && isCommon(to) {
				simple[from] = to
			}
		}
	}
	return simple, version, lines.Err()
}

// codePoint reads "U+4E7E".
func codePoint(s string) (rune, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "U+"), 16, 32)
	if err != nil || !strings.HasPrefix(s, "U+") {
		return 0, fmt.Errorf("%q is no code point", s)
	}
	return rune(n), nil
}

// isCommon reports whether a character is in the basic block of Han characters.
func isCommon(r rune) bool { return r >= 0x4E00 && r <= 0x9FFF }

func simplest(simple map[rune]rune, r rune) rune {
	for range len(simple) {
		next, ok := simple[r]
		if !ok {
			break
		}
		r = next
	}
	return r
}

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

func TestAFileThatIsNotAListIsRefused(t *testing.T) {
	for _, list := range []string{
		"", "# Unicode version: 15.0.0\n", "U+9F8D\tkSimplifiedVariant\tU+9F99\n",
		"# Unicode version: 15.0.0\nU+9F8D kSimplifiedVariant 9F99\n",
	} {
		if out, err := generate(strings.NewReader(list)); err == nil {
			t.Errorf("%q made\n%s", list, out)
		}
	}
}
