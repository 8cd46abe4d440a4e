package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Calendar returns an iCalendar object (RFC 5545) with an all-day event for each missing episode of the gaps, in the
// order of their dates. The UID of an event stays the same from call to call.
func Calendar(gaps []Gap, now time.Time) []byte {
	var events []string // each begins with its date
	for _, g := range gaps {
		for _, e := range g.Missing {
			day, err := time.Parse(time.DateOnly, e.AirDate)
			if err != nil {
				continue // iCalendar has no other dates, and an event needs one
			}
			place := fmt.Sprintf("S%02dE%02d", *g.Season, e.Episode)
			lines := []string{
				day.Format("20060102"), "BEGIN:VEVENT",
				fmt.Sprintf("UID:tv-%d-%s@anivault", g.TMDBID, strings.ToLower(place)),
				"DTSTAMP:" + now.UTC().Format("20060102T150405Z"),
				"DTSTART;VALUE=DATE:" + day.Format("20060102"),
				"SUMMARY:" + escapeCalendarText(cmp.Or(g.Title, g.Entry())+" "+place),
				"DESCRIPTION:" + escapeCalendarText(e.Title),
				"TRANSP:TRANSPARENT", "END:VEVENT", // transparent: the day is not busy
			}
			events = append(events, foldCalendarLines(lines))
		}
	}
	slices.Sort(events)
	text := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//anivault//missing//EN\r\n"
	for _, event := range events {
		_, event, _ = strings.Cut(event, "\r\n")
		text += event
	}
	return []byte(text + "END:VCALENDAR\r\n")
}

// escapeCalendarText escapes a value of type TEXT (RFC 5545 section 3.3.11), which has no control characters.
func escapeCalendarText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.NewReplacer(`\`, `\\`, `;`, `\;`, `,`, `\,`).Replace(s)
}

// foldCalendarLines ends each line with CRLF and folds it so that no line has more than 75 octets (section 3.1). It
// folds between characters, not within one.
func foldCalendarLines(lines []string) string {
	const most = 75
	var b strings.Builder
	for _, line := range lines {
		room := most
		for len(line) > room {
			n := room
			for !utf8.RuneStart(line[n]) {
				n--
			}
			b.WriteString(line[:n] + "\r\n ")
			line, room = line[n:], most-1
		}
		b.WriteString(line + "\r\n")
	}
	return b.String()
}
