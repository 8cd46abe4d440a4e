package config

import "strings"

// Nearest returns the candidate that differs from word by the fewest edits, and whether that is few enough to be worth
// proposing: at most two edits, or a third of the word's length. What the word begins, from three letters on, is
// proposed first.
func Nearest(word string, candidates []string) (string, bool) {
	for _, c := range candidates {
		if len(word) >= 3 && strings.HasPrefix(c, word) {
			return c, true
		}
	}
	best, bestDistance := "", 1<<30
	for _, c := range candidates {
		if d := editDistance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best, best != "" && bestDistance <= max(2, len(word)/3)
}

// editDistance is Levenshtein's: insertions, deletions and substitutions of bytes cost one each.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}
