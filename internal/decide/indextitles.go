package decide

import (
	"fmt"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
)

// plainTitles returns the readings to look up: the likeliest, and those of the name itself.
func plainTitles(s match.Series) []string {
	var out []string
	for i, t := range s.Titles {
		if i == 0 || t.From == release.FromName {
			out = append(out, t.Text)
		}
	}
	return out
}

// namesakes returns the readings as AniDB writes a series that has a namesake; names do not write them so.
func namesakes(s match.Series) []string {
	var out []string
	if s.Want == match.WantTV {
		for _, t := range plainTitles(s) {
			out = append(out, t+" (TV)")
		}
	}
	return out
}

// ownTitles returns the readings followed by the year or the kind of special that the names state.
func ownTitles(s match.Series) []string {
	var out []string
	for _, t := range plainTitles(s) {
		if s.Year != 0 {
			out = append(out, fmt.Sprintf("%s (%d)", t, s.Year))
		}
		if s.Special != "" {
			out = append(out, t+" "+s.Special)
			if n := int(s.LastEpisode); n > 0 && s.Episodes == 1 {
				out = append(out, fmt.Sprintf("%s %s %d", t, s.Special, n))
			}
		}
	}
	return out
}

// sequelTitles returns the readings followed by the season or the part that the names state.
func sequelTitles(s match.Series) []string {
	var out []string
	for _, t := range plainTitles(s) {
		if n := s.Season; s.HasSeason && n > 1 {
			if s.Part > 1 {
				for _, part := range []string{"Part", "Cour"} {
					out = append(out, fmt.Sprintf("%s Season %d %s %d", t, n, part, s.Part),
						fmt.Sprintf("%s %s Season %s %d", t, ordinal(n), part, s.Part))
				}
				continue
			}
			out = append(out,
				fmt.Sprintf("%s %s Season", t, ordinal(n)), fmt.Sprintf("%s Season %d", t, n), fmt.Sprintf("%s %d", t, n),
				fmt.Sprintf("%s S%d", t, n), fmt.Sprintf("%s 第%d期", t, n), fmt.Sprintf("%s 第%s季", t, chinese(n)),
				fmt.Sprintf("%s %d기", t, n))
			if n <= 5 {
				out = append(out, t+" "+[]string{"", "", "II", "III", "IV", "V"}[n])
			}
			continue
		}
		if s.Part > 1 {
			out = append(out, fmt.Sprintf("%s Part %d", t, s.Part))
		}
	}
	return out
}

func ordinal(n int) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

func chinese(n int) string {
	if digits := []rune("零一二三四五六七八九十"); n < len(digits) {
		return string(digits[n])
	}
	return fmt.Sprint(n)
}
