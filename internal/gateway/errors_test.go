package gateway

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// docs/gateway.md has each refusal with its status and code, and no other.
func TestDocumentsHaveEachRefusal(t *testing.T) {
	page, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| status | code | reason |")
	if !ok {
		t.Fatal("docs/gateway.md has no table of refusals")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	words := func(cell string) []string {
		return strings.Fields(strings.NewReplacer(",", " ", "`", " ").Replace(cell))
	}
	told := map[string]bool{}
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		statuses, codes := words(cells[0]), words(cells[1])
		for _, name := range words(cells[2]) {
			told[name] = true
			rows := slices.DeleteFunc(slices.Clone(reasons), func(r *reason) bool { return r.name != name })
			if len(rows) == 0 {
				t.Errorf("docs/gateway.md has %s, which is no refusal", name)
			}
			for _, r := range rows {
				if !slices.Contains(statuses, strconv.Itoa(r.status)) || r.code != "" && !slices.Contains(codes, r.code) ||
					r.code == "" && len(codes) > 0 {
					t.Errorf("docs/gateway.md: %s is %d %s, not %v %v", name, r.status, r.code, statuses, codes)
				}
			}
		}
	}
	for _, r := range reasons {
		if !told[r.name] {
			t.Errorf("docs/gateway.md has no %s (%d)", r.name, r.status)
		}
	}
}

// A gateway in front gives its clients the same reason if this one is refused for it, unless the reason only says how
// this gateway or the request to it is: then it fails for them with the reason upstream.
func TestEachRefusalIsRelayedOrNot(t *testing.T) {
	own := strings.Fields("request_timeout upstream network malformed_response tls shutting_down not_cached limiter " +
		"internal unauthorized cross_site not_found method host loop")
	for _, r := range reasons {
		if isOwn := slices.Contains(own, r.name); isOwn == (relayed[r.name] != nil) {
			t.Errorf("%s: should a gateway in front of this one say so, too? Add it to relayed (answer.go), or else to own here",
				r.name)
		}
	}
	for name := range relayed {
		if !slices.ContainsFunc(reasons, func(r *reason) bool { return r.name == name }) {
			t.Errorf("relayed has %s, which is no refusal", name)
		}
	}
}

// Who is refused because TMDB's last 429 asks for two seconds may come back after two, not after a minute.
func TestA429SaysWhenToComeBack(t *testing.T) {
	for header, want := range map[string]int{"2": 2, "": 60} {
		resp := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}}
		if header != "" {
			resp.Header.Set("Retry-After", header)
		}
		err := checkReply(mustRequest(t, "http://x/3/tv/1"), resp, &reply{status: resp.StatusCode})
		if r := refusalOf(err); r.reason != reasonPause || r.retryAfter(time.Now()) != want {
			t.Errorf("Retry-After %q: %v, %d", header, r, r.retryAfter(time.Now()))
		}
	}
}
