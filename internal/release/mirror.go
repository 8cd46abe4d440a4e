package release

// mirrored says whether a name is written backwards, as some uploaders do: an
// "S01E02" or a "1080p" read from right to left gives it away.
func mirrored(s string) bool {
	for i := 0; i+5 < len(s); i++ {
		if digit(s[i]) && digit(s[i+1]) && s[i+2] == 'E' && digit(s[i+3]) && digit(s[i+4]) && s[i+5] == 'S' &&
			(i+6 == len(s) || !wordByte(s[i+6])) && (i == 0 || !wordByte(s[i-1])) {
			return true
		}
	}
	for i := 0; i+5 <= len(s); i++ {
		if (s[i:i+5] == "p0801" || s[i:i+4] == "p027") && (i == 0 || !wordByte(s[i-1])) {
			return true
		}
	}
	return false
}

// mirror returns s from its last character to its first.
func mirror(s string) string {
	rs := []rune(s)
	for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
		rs[i], rs[j] = rs[j], rs[i]
	}
	return string(rs)
}
