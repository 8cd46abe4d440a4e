package title

import "strings"

var (
	longVowels = strings.NewReplacer("ou", "o", "oo", "o", "oh", "o", "uu", "u", "aa", "a",
		"ii", "i", "jy", "j", "dzu", "zu", "du", "zu", "tsu", "tu", "shi", "si", "chi", "ti")
	particles = strings.NewReplacer(" wo ", " o ", " he ", " e ", " ha ", " wa ")
)

// Plain returns a normalised title (Normalize) in one form for all the ways of writing long vowels and particles of
// Japanese in Latin letters, and of parting words: "yuusha wo", "yusha o" and "yūsha-o". Chinese comes out in simplified
// characters.
func Plain(norm string) string {
	return oneHan(strings.ReplaceAll(longVowels.Replace(particles.Replace(norm+" ")), " ", ""))
}
