package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/ratelimit"
)

// Accounts are shown as the configuration numbers their keys, and what is changed of them by API and form holds at
// once.
func TestAccountsAreShownAndChanged(t *testing.T) {
	x := start(t, true,
		"  - {name: main, priority: 10, keys: [{token: key-bad}, {token: key-two}], account_concurrency: 5, quota: "+
			"100/24h}\n",
		"  - {name: spare, keys: [{token: key-three}]}\n",
		"  - {name: off, keys: [{token: key-one}], enabled: false}\n")
	account := func(name string) app.AccountView {
		t.Helper()
		status, text := x.admin("GET", "/api/v1/accounts", "")
		var list []app.AccountView
		if err := json.Unmarshal([]byte(text), &list); status != 200 || err != nil || len(list) != 3 {
			t.Fatalf("%d %s", status, text)
		}
		for _, a := range list {
			if a.Name == name {
				return a
			}
		}
		t.Fatalf("no %s in %s", name, text)
		return app.AccountView{}
	}
	if a := account("off"); a.Enabled || a.Standing != "disabled" || a.Reason != "in the configuration" {
		t.Errorf("%+v", a)
	}
	status, text := x.admin("POST", "/api/v1/accounts/main/test", "")
	if status != http.StatusBadGateway || !strings.Contains(text, "key 1: refused: Invalid API key") ||
		strings.Contains(text, "key 2") {
		t.Errorf("tested: %d %s", status, text)
	}
	if a := account("main"); a.Standing != "accepted" || a.Keys[0].Standing != "refused" ||
		a.Keys[1].Standing != "accepted" {
		t.Errorf("%+v", a)
	}
	if status, text = x.admin("POST", "/api/v1/accounts/spare/test", ""); status != 200 ||
		!strings.Contains(text, `"key": "key 1"`) || !strings.Contains(text, `"to": "accepted"`) {
		t.Errorf("tested: %d %s", status, text)
	}
	if _, text = x.admin("POST", "/api/v1/accounts/spare/test", ""); !strings.Contains(text, `"from": "accepted"`) {
		t.Errorf("tested again: %s", text)
	}
	permit, err := x.service.Upstream().Limiter().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer permit.Report(ratelimit.Event{Outcome: ratelimit.Cancelled})
	if a := account("main"); !a.Enabled || a.Limit != 5 || len(a.Keys) != 2 || a.Keys[1].Number != 2 || a.Quota == nil ||
		a.Quota.Limit != 100 || a.Running != 1 {
		t.Errorf("%+v", a)
	}
	for _, row := range []struct {
		name, method, path, body string
		status                   int
		text                     string
		holds                    func(app.AccountView) bool
	}{
		{
			"slots", "PATCH", "/main", `{"account_concurrency":3,"for":"8h"}`, 200, `"from": "5",`,
			func(a app.AccountView) bool { return a.Limit == 3 && a.Overrides[0].Key == "account_concurrency" },
		},
		{
			"no limit", "PATCH", "/main", `{"account_concurrency":0}`, 200, `"to": "0"`,
			func(a app.AccountView) bool { return a.Limit == 0 },
		},
		{
			"rate and quota", "PATCH", "/main", `{"rate":2.5,"quota":"50/1h"}`, 200, `"to": "50/1h"`,
			func(a app.AccountView) bool { return a.Rate == 2.5 && a.Quota.Limit == 50 },
		},
		{"no rate", "PATCH", "/main", `{"rate":0}`, 200, `"to": "off"`, func(a app.AccountView) bool { return a.Rate == 0 }},
		{
			"end of changes", "PATCH", "/main", `{"account_concurrency":null,"rate":null,"quota":null}`, 200, `"to": "5"`,
			func(a app.AccountView) bool { return a.Limit == 5 && len(a.Overrides) == 0 },
		},
		{
			"unknown limit", "PATCH", "/main", `{"slots":3}`, 422, "slots",
			func(a app.AccountView) bool { return a.Limit == 5 },
		},
		{
			"bad value", "PATCH", "/main", `{"account_concurrency":-3}`, 422, "account_concurrency",
			func(a app.AccountView) bool { return a.Limit == 5 },
		},
		{
			"enabled is none of them", "PATCH", "/main", `{"enabled":"false"}`, 422, "enabled",
			func(a app.AccountView) bool { return a.Enabled },
		},
		{
			"disable", "POST", "/main/disable", `{"for":"1h"}`, 200, `"to": "false"`,
			func(a app.AccountView) bool { return !a.Enabled && a.Standing == "disabled" },
		},
		{
			"enable", "POST", "/main/enable", "", 200, "\"to\": \"true\"\n    }\n  ]\n}", // without an end
			func(a app.AccountView) bool { return a.Enabled && a.Standing == "accepted" },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			status, text := x.admin(row.method, "/api/v1/accounts"+row.path, row.body)
			if status != row.status || !strings.Contains(text, row.text) {
				t.Errorf("%d %s", status, text)
			}
			if a := account("main"); !row.holds(a) {
				t.Errorf("%+v", a)
			}
		})
	}
	cookie := x.login()
	if status, _, _ := x.ask("POST", "/accounts/spare", "account_concurrency=4&for=1h", cookie, formType); status != 303 ||
		account("spare").Limit != 4 {
		t.Errorf("the form: %d, %+v", status, account("spare"))
	}
	_, text, _ = x.ask("GET", "/accounts", "", cookie)
	for _, want := range []string{
		"tuned an account (spare); account_concurrency: 0 → 4, for 1h",
		"{name: spare, account_concurrency: 4}", `action="/accounts/main/disable"`,
		"3 to 5 where the upstream limits by account", "<dt>Key 2</dt>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if lines := x.events.Last("spare", "admin_change"); len(lines) != 3 ||
		!strings.Contains(lines[0].Text, "what=account_concurrency from=0 to=4 for=1h") ||
		!strings.Contains(lines[2].Text, "what=key 1 from=unproven to=accepted") {
		t.Errorf("the log tells %+v", lines)
	}
}

// Limits that are changed by API, by page and by an operator's command hold at the next grant: over HTTP, with requests
// that wait.
func TestSeed003ChangedLimitsHoldAtTheNextGrant(t *testing.T) {
	x := start(t, true, "  - {name: main, keys: [{token: key-one}], account_concurrency: 1}\n")
	if status, text := x.admin("POST", "/api/v1/accounts/main/test", ""); status != 200 { // the key is proven
		t.Fatalf("%d %s", status, text)
	}
	open := x.shut()
	defer open()
	var asking sync.WaitGroup
	defer asking.Wait()
	defer open()
	for id := range 4 {
		asking.Go(func() {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
				x.gateway+"/3/tv/"+strconv.Itoa(9000001+id), nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+x.user)
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s", resp.Status)
			}
		})
	}
	arrived := func(n int) {
		t.Helper()
		<-x.arrived
		if st := x.limiter(); st.Running != n {
			t.Errorf("%d run, not %d", st.Running, n)
		}
	}
	arrived(1)
	if _, text := x.admin("GET", "/", ""); !strings.Contains(text, "<dd>1 of 16; full: main</dd>") ||
		!strings.Contains(text, "<dt>TMDB answers in</dt>") {
		t.Errorf("the overview: %s", text)
	}
	if status, text := x.admin("PATCH", "/api/v1/accounts/main", `{"account_concurrency":2}`); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	arrived(2)
	if status, _,
		_ := x.ask("POST", "/accounts/main", "account_concurrency=3&for=1h", x.login(), formType); status != 303 {
		t.Fatalf("the form: %d", status)
	}
	arrived(3)
	o := ratelimit.Operator{Store: x.service.Upstream().Store()} // what accounts tune does
	if err := o.TuneAccount(t.Context(), "main", map[string]string{"account_concurrency": "4"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	arrived(4)
}
