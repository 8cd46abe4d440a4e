package report

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/match"
)

func TestACalendarHasWhatAirsNext(t *testing.T) {
	season := seasonOf(2, "2026-11-20", "2026-11-27", "2026-12-04", "2026-12-11", "")
	season.Episodes[2].Name = "One, two; three\\\nfour"
	var h Holdings
	record := fileOf("a", 2, 4) // there before its time
	h.Add(&record)
	gaps := h.Upcoming(7, []match.Season{seasonOf(0, "2026-12-01"), season}, "2026-11-27")
	now := time.Date(2026, 11, 27, 9, 0, 0, 0, time.FixedZone("", 3600))
	want := strings.ReplaceAll(`BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//anivault//missing//EN
BEGIN:VEVENT
UID:tv-7-s02e02@anivault
DTSTAMP:20261127T080000Z
DTSTART;VALUE=DATE:20261127
SUMMARY:Trigun S02E02
DESCRIPTION:
TRANSP:TRANSPARENT
END:VEVENT
BEGIN:VEVENT
UID:tv-7-s02e03@anivault
DTSTAMP:20261127T080000Z
DTSTART;VALUE=DATE:20261204
SUMMARY:Trigun S02E03
DESCRIPTION:One\, two\; three\\ four
TRANSP:TRANSPARENT
END:VEVENT
END:VCALENDAR
`, "\n", "\r\n")
	if diff := cmp.Diff(want, string(Calendar(gaps, now))); diff != "" {
		t.Error(diff)
	}
	uids := regexp.MustCompile(`UID:.*`)
	later := string(Calendar(gaps, now.AddDate(0, 0, 1)))
	if diff := cmp.Diff(uids.FindAllString(want, -1), uids.FindAllString(later, -1)); diff != "" {
		t.Errorf("the UIDs of a later day: %s", diff)
	}
}

func TestLinesOfACalendarAreFoldedBetweenCharacters(t *testing.T) {
	for name, line := range map[string]string{
		"75 octets":  "SUMMARY:" + strings.Repeat("a", 67),
		"76 octets":  "SUMMARY:" + strings.Repeat("a", 68),
		"characters": "SUMMARY:" + strings.Repeat("ぼっち・ざ・ろっく！", 12),
		"odd start":  "SUMMARY:a" + strings.Repeat("진격의 거인", 30),
	} {
		t.Run(name, func(t *testing.T) {
			folded := foldCalendarLines([]string{line})
			if got := strings.ReplaceAll(folded, "\r\n ", ""); got != line+"\r\n" {
				t.Errorf("unfolded: %q", got)
			}
			lines := strings.Split(strings.TrimSuffix(folded, "\r\n"), "\r\n")
			for _, part := range lines {
				if len(part) > 75 || strings.ToValidUTF8(part, "") != part {
					t.Errorf("a line of %d octets: %q", len(part), part)
				}
			}
			if want := (len(line) + 73) / 75; len(lines) < want {
				t.Errorf("%d lines for %d octets", len(lines), len(line))
			}
		})
	}
}
