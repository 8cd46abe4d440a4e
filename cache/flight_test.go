package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// asker is a request that is under way.
type asker struct {
	source string
	err    error
	done   chan struct{}
}

// ask sends a request in the background.
func ask(ctx context.Context, tr http.RoundTripper, url string) *asker {
	a := &asker{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			a.err = err
			return
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			a.err = err
			return
		}
		resp.Body.Close()
		info, _ := InfoFrom(resp)
		a.source = info.Source.String()
	}()
	return a
}

// held is an upstream that answers when it is told to.
type held struct {
	upstream
	let chan func() (*http.Response, error)
}

func newHeld() *held {
	h := &held{let: make(chan func() (*http.Response, error))}
	h.serve = func(req *http.Request) (*http.Response, error) {
		select {
		case f := <-h.let:
			return f()
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return h
}

func good() (*http.Response, error) { return reply(200, endedBody), nil }
func bad() (*http.Response, error)  { return nil, errDown }

func TestOneOfManyAsksAndAllAreAnswered(t *testing.T) {
	a, b := pair(t)
	up := newHeld()
	tr := []*Transport{{Store: a, Next: up}, {Store: b, Next: up}}
	var all []*asker
	for i := range 10 {
		all = append(all, ask(t.Context(), tr[i%2], tvURL))
	}
	up.let <- good
	sources := map[string]int{}
	for _, x := range all {
		<-x.done
		sources[x.source]++
	}
	if up.count() != 1 || sources["network"]+sources["fresh"] != 10 || sources["network"] < 1 {
		t.Errorf("asked %d times, sources %v", up.count(), sources)
	}
}

// asking waits until the upstream was asked n times.
func (u *upstream) asking(t testing.TB, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d questions", n), func() bool { return u.count() == n })
}

func TestFollowersMayGiveUp(t *testing.T) {
	a, b := pair(t)
	up := newHeld()
	first := &Transport{Store: a, Next: up}
	leader := ask(t.Context(), first, tvURL)
	up.asking(t, 1)
	for _, tr := range []*Transport{first, {Store: b, Next: up}} { // in the same process, and in another
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		follower := ask(ctx, tr, tvURL)
		<-follower.done
		cancel()
		if !errors.Is(follower.err, context.DeadlineExceeded) {
			t.Error(follower.err)
		}
	}
	up.let <- good
	<-leader.done
	if leader.source != "network" || up.count() != 1 {
		t.Errorf("%s %v, asked %d times", leader.source, leader.err, up.count())
	}
}

func TestWhenTheLeaderLeavesAnotherLeads(t *testing.T) {
	a, b := pair(t)
	up := newHeld()
	first := &Transport{Store: a, Next: up}
	ctx, cancel := context.WithCancel(t.Context())
	leader := ask(ctx, first, tvURL)
	up.asking(t, 1)
	followers := []*asker{ask(t.Context(), first, tvURL), ask(t.Context(), &Transport{Store: b, Next: up}, tvURL)}
	eventually(t, "the other process waits", func() bool { return b.WaitingRequests() == 1 })
	cancel()
	<-leader.done
	if !errors.Is(leader.err, context.Canceled) {
		t.Errorf("leader: %v", leader.err)
	}
	up.let <- good
	for _, f := range followers {
		<-f.done
		if f.err != nil {
			t.Error(f.err)
		}
	}
	if up.count() != 2 {
		t.Errorf("asked %d times", up.count())
	}
}

func TestAClaimEndsWithFailure(t *testing.T) {
	a, b := pair(t)
	up := newHeld()
	first := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
	up.asking(t, 1)
	second := ask(t.Context(), &Transport{Store: b, Next: up}, tvURL)
	up.let <- bad
	<-first.done
	if !errors.Is(first.err, errDown) {
		t.Errorf("first: %v", first.err)
	}
	up.let <- good // the second has taken over
	<-second.done
	if second.source != "network" || up.count() != 2 {
		t.Errorf("second: %s %v, asked %d times", second.source, second.err, up.count())
	}
}

func TestWaitingForAClaimIsBoundedByMaxWait(t *testing.T) {
	a, b := pair(t)
	up := newHeld()
	first := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
	up.asking(t, 1)
	second := ask(t.Context(), &Transport{Store: b, Next: up, MaxWait: time.Millisecond}, tvURL)
	<-second.done
	if !errors.Is(second.err, ErrWait) {
		t.Error(second.err)
	}
	offline := ask(t.Context(), &Transport{Store: b, Next: &upstream{serve: answers{}.serve}, Offline: true}, tvURL)
	<-offline.done
	if !errors.Is(offline.err, errDown) {
		t.Errorf("offline waits: %v", offline.err)
	}
	up.let <- good
	<-first.done
}

// Next learns how long the request has waited for another process, and limits its own waits accordingly.
func TestTheWaitForAClaimIsHandedOn(t *testing.T) {
	a, b := pair(t)
	up := newHeld()
	first := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
	up.asking(t, 1)
	type key struct{}
	told := func(ctx context.Context, d time.Duration) context.Context { return context.WithValue(ctx, key{}, d) }
	seen := make(chan any, 2)
	second := &Transport{Store: b, AddWait: told, Next: roundTrip(func(r *http.Request) (*http.Response, error) {
		seen <- r.Context().Value(key{})
		return reply(200, endedBody), nil
	})}
	waits := ask(t.Context(), second, tvURL)
	eventually(t, "it waits", func() bool { return b.WaitingRequests() == 1 })
	begun := time.Now()
	for time.Since(begun) < time.Millisecond { // some time passes
	}
	up.let <- bad
	<-first.done
	<-waits.done
	if d, _ := (<-seen).(time.Duration); d < time.Millisecond {
		t.Errorf("after a wait Next heard of %v", d)
	}
	<-ask(t.Context(), second, tvURL+"&page=2").done
	if d := <-seen; d != nil {
		t.Errorf("without a wait Next heard of %v", d)
	}
}

func TestAPanickingUpstreamFreesTheKey(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		get(
			t, &Transport{Store: s, Next: roundTrip(func(*http.Request) (*http.Response, error) { panic("upstream") })}, tvURL,
		)
	}()
	for _, st := range []*Store{s, open(t, dir, Options{})} {
		up := &upstream{serve: always(200, endedBody)}
		if _, _, source := get(t, &Transport{Store: st, Next: up}, tvURL); source != "network" && source != "fresh" {
			t.Errorf("source %s", source)
		}
	}
}
