// Command hantable writes the table with which package title compares Chinese titles in traditional and simplified
// characters.
//
//	bzcat /usr/share/unicode/Unihan_Variants.txt.bz2 | go run ./internal/title/hantable > internal/title/han.txt
//
// Its input is Unihan_Variants.txt of the Unicode Character Database (https://www.unicode.org/reports/tr38/). The table
// contains kSimplifiedVariant of the characters in the common block; rare ones do not occur in titles.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	out, err := generate(os.Stdin)
	if err == nil {
		_, err = os.Stdout.Write(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hantable:", err)
		os.Exit(1)
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

const tableHeader = `# Written by internal/title/hantable from Unihan_Variants.txt of Unicode %s; not to be edited.
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
