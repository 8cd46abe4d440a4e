package app

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/tmdb"
)

type answering struct {
	status int
	body   string
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)),
		Request: r,
	}, nil
}

// What something between here and TMDB answers is no fault of the program's own, and TMDB's own refusals keep their
// codes.
func TestAnswersThatAreNotTMDBsHaveTheirCode(t *testing.T) {
	const page = "<html>blocked</html>"
	for name, row := range map[string]struct {
		answering
		code report.Code
		text string
	}{
		"an edge's 403 page": {answering{403, page}, report.CodeUpstream, "not TMDB's own answer"},
		"an edge's 404 page": {answering{404, page}, report.CodeUpstream, "not TMDB's own answer"},
		"a proxy's 401 page": {answering{401, page}, report.CodeUpstream, "not TMDB's own answer"},
		"a gateway's 404 in JSON": {
			answering{404, `{"message":"no Route matched"}`},
			report.CodeUpstream,
			"JSON of another kind",
		},
		"a login page with 200": {answering{200, page}, report.CodeMalformedResponse, "HTML page"},
		"JSON of another kind with 200": {
			answering{200, `{"error":"log in"}`},
			report.CodeMalformedResponse,
			"JSON of another kind",
		},
		"trouble told with 200": {
			answering{200, `{"success":false,"status_code":46}`},
			report.CodeUpstream,
			"code 46",
		},
		"a limit told with 200": {
			answering{200, `{"success":false,"status_code":25}`},
			report.CodeUpstream,
			"code 25",
		},
		"TMDB's own 404": {answering{404, `{"status_code":34}`}, report.CodeNotFound, "code 34"},
		"a question that a gateway does not take": {
			answering{404, `{"status_code":34,"status_message":"there is only /3 here","anivault":{"reason":"not_found"}}`},
			report.CodeUpstream,
			"the gateway refused this request: there is only /3 here",
		},
		"a gateway in CacheOnly": {
			answering{503, `{"status_code":9,"status_message":"requests are paused","anivault":{"reason":"cacheonly"}}`},
			report.CodeBlocked,
			" sends nothing: requests are paused",
		},
		"TMDB's own 404 with 200": {
			answering{200, `{"success":false,"status_code":34}`},
			report.CodeNotFound,
			"code 34",
		},
		"TMDB's own 401": {answering{401, `{"status_code":7}`}, report.CodeUnauthorized, "refused the key"},
		"a question that TMDB refuses": {
			answering{422, `{"errors":["query must be provided"]}`},
			report.CodeInternal,
			"query must be provided",
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := tmdb.New(tmdb.Options{Token: "a-token", HTTPClient: &http.Client{Transport: row.answering}})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = client.SearchTV(t.Context(), tmdb.SearchTVOptions{Query: "x"})
			code, text := Explain(err)
			if code != row.code || !strings.Contains(text.String(), row.text) {
				t.Errorf("got %s: %s", code, text)
			}
		})
	}
}
