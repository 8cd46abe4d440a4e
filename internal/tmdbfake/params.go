package tmdbfake

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	pageSize   = 20
	maxPage    = 500
	maxAppend  = 20
	changeRows = 100
	maxDays    = 14
)

// page reads the page parameter; ok is false outside 1..500.
func page(q url.Values) (n int, ok bool) {
	s := q.Get("page")
	if s == "" {
		return 1, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= maxPage
}

// year reads a year; anything but 1000..9999 does not filter.
func year(q url.Values, name string) int {
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1000 || n > 9999 {
		return 0
	}
	return n
}

// language returns the language of a request.
func language(q url.Values) string { return cmp.Or(q.Get("language"), "en-US") }

// viewOf reads the language.
func viewOf(q url.Values) view {
	var v view
	v.language, v.country = SplitLocale(language(q))
	return v
}

// paged returns one page of works with the totals; a page beyond the last is
// empty and keeps them, and no row at all is still one page.
func paged(found []*Work, n, size int, row func(*Work) object) object {
	pages := max(1, (len(found)+size-1)/size)
	from := min(len(found), (n-1)*size)
	to := min(len(found), from+size)
	rows := make([]object, 0, to-from)
	for _, w := range found[from:to] {
		rows = append(rows, row(w))
	}
	return object{"page": n, "results": rows, "total_pages": pages, "total_results": len(found)}
}

// appends reads append_to_response from the raw query. With strict set, an
// item that contains %2F is dropped, as TMDB does by one report.
func appends(rawQuery string, strict bool) []string {
	for part := range strings.SplitSeq(rawQuery, "&") {
		name, raw, _ := strings.Cut(part, "=")
		if name != "append_to_response" {
			continue
		}
		raw = strings.NewReplacer("%2C", ",", "%2c", ",").Replace(raw)
		var out []string
		for item := range strings.SplitSeq(raw, ",") {
			if strict && strings.Contains(strings.ToUpper(item), "%2F") {
				continue
			}
			if s, err := url.QueryUnescape(item); err == nil && s != "" && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// dateRange reads start_date and end_date of the changes lists. A trailing
// time is tolerated. Code 0 is a good range.
func dateRange(q url.Values, today Day) (from, to Day, code int) {
	to, ok := dateParam(q.Get("end_date"), today)
	if !ok {
		return 0, 0, 23
	}
	from, ok = dateParam(q.Get("start_date"), to-1)
	if !ok {
		return 0, 0, 23
	}
	if from > to || to-from > maxDays {
		return 0, 0, 20
	}
	return from, to, 0
}

func dateParam(s string, otherwise Day) (Day, bool) {
	if s == "" {
		return otherwise, true
	}
	s, _, _ = strings.Cut(strings.ReplaceAll(s, " ", "T"), "T")
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, false
	}
	return Day(t.Unix() / 86400), true
}
