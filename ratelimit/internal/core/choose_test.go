package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Option is an account that may take a request.
type Option struct {
	Usable, Ready  bool
	Priority       int
	Running, Limit int
	Last           Stamp
}

// Choose returns the place of the one that takes it, -1 for none.
func Choose(list []Option) int {
	var candidates []candidate
	for _, o := range list {
		c := candidate{
			config: &Account{Priority: o.Priority}, account: &account{lastGrant: o.Last}, running: o.Running, limit: o.Limit,
		}
		if !o.Usable {
			c.cause = ReasonAccount
		}
		if !o.Ready {
			c.wait = time.Second
		}
		candidates = append(candidates, c)
	}
	best := choose(candidates)
	return slices.IndexFunc(candidates, func(c candidate) bool { return best != nil && c.config == best.config })
}

func TestChoose(t *testing.T) {
	in := func(priority, running, limit int, last Stamp) Option {
		return Option{Usable: true, Ready: true, Priority: priority, Running: running, Limit: limit, Last: last}
	}
	full := func(c Option) Option { c.Usable = false; return c }
	slow := func(c Option) Option { c.Ready = false; return c }
	for name, tt := range map[string]struct {
		list []Option
		want int
	}{
		"nobody":                         {nil, -1},
		"nobody usable":                  {[]Option{full(in(1, 0, 1, 0))}, -1},
		"the smaller number":             {[]Option{in(20, 0, 3, 0), in(10, 4, 5, 9)}, 1},
		"the smaller share":              {[]Option{in(10, 2, 5, 0), in(10, 3, 10, 9)}, 1},
		"the one that rested longer":     {[]Option{in(10, 1, 5, 8), in(10, 1, 5, 7)}, 1},
		"a full group spills over":       {[]Option{full(in(10, 5, 5, 0)), full(in(10, 5, 5, 0)), in(20, 2, 3, 9)}, 2},
		"half of a group does not":       {[]Option{full(in(10, 5, 5, 0)), in(10, 4, 5, 9), in(20, 0, 3, 0)}, 1},
		"one with a token before":        {[]Option{slow(in(10, 0, 5, 0)), in(10, 4, 5, 9)}, 1},
		"no token is no reason to leave": {[]Option{slow(in(10, 0, 5, 0)), in(20, 0, 5, 0)}, 0},
		"no limit of its own":            {[]Option{in(10, 3, 16, 0), in(10, 1, 4, 0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Choose(tt.list); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

// What is chosen is usable, of the first group that has a usable one, and no other of it is better in all that counts.
func TestChooseAlwaysTakesFromTheFirstGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Option {
			return Option{
				Usable: rapid.Bool().Draw(t, "usable"), Ready: rapid.Bool().Draw(t, "ready"),
				Priority: rapid.IntRange(1, 3).Draw(t, "priority"), Running: rapid.IntRange(0, 5).Draw(t, "running"),
				Limit: rapid.IntRange(1, 5).Draw(t, "limit"), Last: Stamp(rapid.IntRange(0, 9).Draw(t, "last")),
			}
		}), 0, 6).Draw(t, "list")
		i := Choose(list)
		for j, c := range list {
			switch {
			case !c.Usable:
			case i < 0:
				t.Fatalf("none, but %d is usable", j)
			case c.Priority < list[i].Priority:
				t.Fatalf("%d, but %d is of an earlier group", i, j)
			case c.Priority == list[i].Priority && c.Ready && !list[i].Ready:
				t.Fatalf("%d waits, and %d need not", i, j)
			case c.Priority == list[i].Priority && c.Ready == list[i].Ready && c.Running*list[i].Limit < list[i].Running*c.Limit:
				t.Fatalf("%d has more of its limit in use than %d", i, j)
			}
		}
		if i >= 0 && !list[i].Usable {
			t.Fatalf("%d is not usable", i)
		}
	})
}

// Two equal accounts get 475 to 525 of 1,000 requests each, where each ends at some later time.
func TestEqualAccountsShareEqually(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, lasts := rapid.IntRange(1, 8).Draw(t, "limit"), rapid.IntRange(1, 20).Draw(t, "lasts")
		list := []Option{{Priority: 10, Limit: limit}, {Priority: 10, Limit: limit}}
		var got [2]int
		var ends [2][]int
		for now := 0; got[0]+got[1] < 1000; now++ {
			for i := range list {
				for len(ends[i]) > 0 && ends[i][0] <= now {
					ends[i] = ends[i][1:]
				}
				list[i].Running = len(ends[i])
				list[i].Usable, list[i].Ready = list[i].Running < limit, true
			}
			if i := Choose(list); i >= 0 {
				ends[i] = append(ends[i], now+lasts)
				list[i].Last = Stamp(now + 1)
				got[i]++
			}
		}
		if got[0] < 475 || got[0] > 525 {
			t.Fatalf("%v", got)
		}
	})
}

func TestPeriodsOfTheDay(t *testing.T) {
	at := func(clock string) time.Time {
		v, err := time.Parse("15:04:05", clock)
		must(t, err)
		return v
	}
	h := func(hours float64) time.Duration { return time.Duration(hours * float64(time.Hour)) }
	a := Account{Slots: 9, Schedule: []Period{{h(8), h(23), 3}, {h(22), h(2), 5}, {h(3), h(3), 1}}}
	for clock, want := range map[string]int{
		"07:59:59": 9, "08:00:00": 3, "22:30:00": 3, "22:59:59": 3, "23:00:00": 5, "00:00:00": 5, "01:59:59": 5,
		"02:00:00": 9, "03:00:00": 9,
	} {
		t.Run(clock, func(t *testing.T) {
			if got := a.limitsAt(at(clock)).slots; got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) { // a period and its complement cover the day, and never the same moment
		minute := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 1439).Draw(t, "minute")) * time.Minute
		})
		from, to, clock := minute.Draw(t, "from"), minute.Draw(t, "to"), minute.Draw(t, "clock")
		if from != to && (Period{From: from, To: to}).contains(clock) == (Period{From: to, To: from}).contains(clock) {
			t.Fatalf("%s of %s to %s", clock, from, to)
		}
	})
}

func TestWhoseEvidenceAnAnswerIs(t *testing.T) {
	type want struct {
		keys             keyEffect
		account, address bool
	}
	for _, tt := range []struct {
		name  string
		event Event
		by    LimitedBy
		want  want
	}{
		{"an answer", Event{Outcome: OK, Status: 200}, ByAddress, want{proveKey, false, true}},
		{"an answer", Event{Outcome: OK, Status: 200}, ByAccount, want{proveKey, true, true}},
		{"a 429", Event{Outcome: Throttled, Status: 429}, ByAddress, want{leaveKeys, false, true}},
		{"a 429", Event{Outcome: Throttled, Status: 429}, ByAccount, want{leaveKeys, true, false}},
		{"a 500", Event{Outcome: Server, Status: 500}, ByAddress, want{leaveKeys, false, true}},
		{"a 500", Event{Outcome: Server, Status: 500}, ByAccount, want{leaveKeys, false, true}},
		{"no answer", Event{Outcome: Network}, ByAccount, want{leaveKeys, false, true}},
		{"a refused key", Event{Outcome: Client, Status: 401, Key: KeyRefused}, ByAddress, want{refuseKey, false, false}},
		{"a refused key", Event{Outcome: Client, Status: 401, Key: KeyRefused}, ByAccount, want{refuseKey, false, false}},
		{
			"a refused key in a 200",
			Event{Outcome: Client, Status: 200, Key: KeyRefused},
			ByAddress,
			want{refuseKey, false, false},
		},
		{
			"a suspended account",
			Event{Outcome: Client, Status: 403, Key: KeySuspended},
			ByAccount,
			want{suspendAllKeys, false, false},
		},
		{"a 404", Event{Outcome: Client, Status: 404}, ByAddress, want{proveKey, false, true}},
		{"a 404", Event{Outcome: Client, Status: 404}, ByAccount, want{proveKey, true, true}},
		{"a 403 about something else", Event{Outcome: Client, Status: 403}, ByAddress, want{leaveKeys, false, true}},
		{"come later", Event{Outcome: Deferred, Status: 503}, ByAccount, want{leaveKeys, true, true}},
		{"given up", Event{Outcome: Cancelled}, ByAccount, want{leaveKeys, false, true}},
		{"certificate", Event{Outcome: Misconfigured}, ByAccount, want{leaveKeys, false, true}},
	} {
		t.Run(fmt.Sprint(tt.name, " by ", tt.by), func(t *testing.T) {
			row := attributionOf(&tt.event, tt.by)
			if got := (want{row.keys, row.account, row.address}); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
	for o := Cancelled; o <= Deferred; o++ { // each outcome has its row
		for _, by := range []LimitedBy{ByAddress, ByAccount} {
			found := false
			for _, row := range attributionRules {
				found = found || slices.Contains(row.outcomes, o) && (row.anyLimitedBy || row.limitedBy == by)
			}
			if !found {
				t.Errorf("no row for %s by %s", o, by)
			}
		}
	}
}
