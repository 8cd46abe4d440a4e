package tmdb

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a title holds, the server reads back what was meant, and append_to_response reaches it unescaped.
func TestQueriesSurviveTheirWriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQuery()
		want := url.Values{}
		for name, value := range rapid.MapOf(rapid.StringMatching(`[a-z_]{1,8}`), rapid.String()).Draw(t, "values") {
			if name != appendParameter {
				q.set(name, value)
				want.Set(name, value)
			}
		}
		items := rapid.SliceOfN(rapid.StringMatching(`[a-z_]{1,6}(/[0-9]{1,3})?`), 1, MaxAppends).Draw(t, "items")
		if q.setAppends(items).err != nil {
			t.Fatal(q.err)
		}
		want.Set(appendParameter, strings.Join(items, ","))
		text := q.encode()
		got, err := url.ParseQuery(text)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %v", text, err)
		}
		for name := range want {
			if !slices.Equal(got[name], want[name]) {
				t.Fatalf("%s: %q, want %q", name, got[name], want[name])
			}
		}
		if !strings.Contains(text, appendParameter+"="+strings.Join(items, ",")) {
			t.Fatalf("escaped: %s", text)
		}
		if parts := strings.Split(text, "&"); !slices.IsSortedFunc(parts, func(a, b string) int {
			a, _, _ = strings.Cut(a, "=")
			b, _, _ = strings.Cut(b, "=")
			return strings.Compare(a, b)
		}) {
			t.Fatalf("not in order: %s", text)
		}
	})
}

// A base URL means the same with and without what may stand at its end.
func TestBaseURLsMeanTheSameHoweverTheyEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]string{"https://", "http://"}).Draw(t, "scheme") +
			rapid.StringMatching(`[a-z]{1,8}(\.[a-z]{2,3})?(:[1-9][0-9]{0,3})?`).Draw(t, "host") +
			rapid.SampledFrom([]string{"", "/mirror", "/a/b"}).Draw(t, "path")
		plain, err := parseBaseURL(base)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"/", "/3", "/3/", "//3//"} {
			u, err := parseBaseURL(base + end)
			if err != nil || u.String() != plain.String() {
				t.Fatalf("%s%s is %v (%v), want %s", base, end, u, err, plain)
			}
		}
	})
}
