package match

import (
	"fmt"
	"strconv"
	"strings"
)

// text is the place for people: "S02E05", "S02E05-E06".
func (at placement) text() string {
	text := fmt.Sprintf("S%02d", at.season)
	if n := len(at.slots); n > 0 {
		text += fmt.Sprintf("E%02d", at.slots[0].episode.Number)
		if n > 1 {
			text += fmt.Sprintf("-E%02d", at.slots[n-1].episode.Number)
		}
	}
	return text
}

// numbers lists episodes for people: "3", "101 and 102", "1-12 and 14".
func numbers(eps []int) string {
	var runs []string
	for i := 0; i < len(eps); {
		last := i
		for last+1 < len(eps) && eps[last+1] == eps[last]+1 {
			last++
		}
		if last < i+2 { // one or two are listed one by one
			last = i
			runs = append(runs, strconv.Itoa(eps[i]))
		} else {
			runs = append(runs, fmt.Sprintf("%d-%d", eps[i], eps[last]))
		}
		i = last + 1
	}
	if n := len(runs); n > 1 {
		return strings.Join(runs[:n-1], ", ") + " and " + runs[n-1]
	}
	return strings.Join(runs, "")
}

// episodesText is "episode 3" or "episodes 101 and 102".
func episodesText(eps []int) string {
	if len(eps) == 1 {
		return "episode " + numbers(eps)
	}
	return "episodes " + numbers(eps)
}

// nowhere returns that episodes fit nowhere, for people.
func nowhere(eps []int) string {
	if len(eps) == 1 {
		return episodesText(eps) + " fits nowhere"
	}
	return episodesText(eps) + " fit nowhere"
}
