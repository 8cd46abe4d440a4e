package title

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Signs returns the signs of a title that sequels have more of than the show ("Title!!", "Title'", "Title √A") and that Normalize
// leaves out. A single mark or heart is a matter of spelling.
func Signs(text string) string {
	var out strings.Builder
	runes := []rune(norm.NFKC.String(text))
	for i, r := range runes {
		switch {
		case strings.ContainsRune("+°√", r),
			strings.ContainsRune("!♪☆★♥♡", r) && (i > 0 && runes[i-1] == r || i+1 < len(runes) && runes[i+1] == r),
			apostrophe(r) && (i+1 == len(runes) || !unicode.IsLetter(runes[i+1])):
			out.WriteRune(r)
		}
	}
	return out.String()
}
