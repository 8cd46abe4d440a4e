package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
)

// A batch question that TMDB never answers goes behind the others after each try, and its retries are no evidence of an
// outage.
func TestAFailingQuestionGoesBehindTheOthers(t *testing.T) {
	ask := func(t *testing.T, broken ...string) (lastGood time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			b := begin(t, t.TempDir(), "limiter: {concurrency: 1}\n")
			b.get("/3/configuration") // the key is proven
			fails := upstream.Action{Kind: "status", Status: 500}
			want := map[string]int{}
			var faults []upstream.Fault
			for _, path := range broken {
				want[path] = 3
				faults = append(faults, upstream.Fault{Match: upstream.Match{Path: path}, Do: fails})
			}
			b.apply(upstream.Scenario{Faults: faults})
			start := time.Now()
			var answers []<-chan answered
			for n := range 100 {
				answers = append(answers, b.later(known(n), "Priority: u=7"))
			}
			for _, a := range answers {
				<-a
			}
			tries := map[string]int{}
			twice, before := "", "" // asked twice in a row; nothing else may be left to ask in the end
			for _, e := range b.fake.Journal() {
				if e.Status != 500 {
					lastGood = e.At.Sub(start)
					if twice != "" {
						t.Errorf("%s was asked again before the others", twice)
					}
				} else if tries[e.Path]++; e.Path == before {
					twice = e.Path
				}
				before = e.Path
			}
			if diff := cmp.Diff(want, tries); diff != "" {
				t.Error(diff)
			}
			st, err := b.service.g.upstream.Limiter().Status(t.Context())
			if err != nil || st.Cause != ratelimit.ReasonFresh {
				t.Errorf("%s because of %s, %v", st.State, st.Cause, err)
			}
		})
		return lastGood
	}
	without, with := ask(t), ask(t, known(3), known(30))
	if with > without*115/100 {
		t.Errorf("the others took %s, and %s without", with, without)
	}
}

func TestConnectionsFollowTheSlots(t *testing.T) {
	b := start(t, setup{yaml: "limiter: {concurrency_total: 64, rate_base: 300, ceiling: 400, request_timeout: 10m}\n"})
	b.must(200, "/3/configuration") // the key is proven
	open := b.up.shut()
	defer open()
	for n := range 40 {
		b.later(known(n))
	}
	eventually(t, "40 are with TMDB", func() bool { return b.up.asked() == 41 })
}
