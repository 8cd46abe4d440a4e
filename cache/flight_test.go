package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
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

// inBubble runs a test with virtual time over two stores of one directory.
func inBubble(t *testing.T, f func(t *testing.T, a, b *Store)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var stores [2]*Store
		for i := range stores {
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			stores[i] = s
		}
		f(t, stores[0], stores[1])
		for _, s := range stores {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
	verifyDir(t, dir)
}

func TestOneOfManyAsksAndAllAreAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, a, b *Store) {
		up := newHeld()
		var all []*asker
		for i := range 10 {
			all = append(all, ask(t.Context(), &Transport{Store: []*Store{a, b}[i%2], Next: up}, tvURL))
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
	})
}

func TestFollowersLeaveWhenTheyLike(t *testing.T) {
	inBubble(t, func(t *testing.T, a, b *Store) {
		up := newHeld()
		leader := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
		synctest.Wait()
		for _, s := range []*Store{a, b} { // in the same process, and in another
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			begin := time.Now()
			follower := ask(ctx, &Transport{Store: s, Next: up}, tvURL)
			<-follower.done
			if !errors.Is(follower.err, context.DeadlineExceeded) || time.Since(begin) != 3*time.Second {
				t.Errorf("after %v: %v", time.Since(begin), follower.err)
			}
			cancel()
		}
		up.let <- good
		<-leader.done
		if leader.source != "network" || up.count() != 1 {
			t.Errorf("%s %v, asked %d times", leader.source, leader.err, up.count())
		}
	})
}

func TestWhenTheLeaderLeavesAnotherLeads(t *testing.T) {
	inBubble(t, func(t *testing.T, a, b *Store) {
		up := newHeld()
		ctx, cancel := context.WithCancel(t.Context())
		leader := ask(ctx, &Transport{Store: a, Next: up}, tvURL)
		synctest.Wait()
		followers := []*asker{
			ask(t.Context(), &Transport{Store: a, Next: up}, tvURL),
			ask(t.Context(), &Transport{Store: b, Next: up}, tvURL),
		}
		synctest.Wait()
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
	})
}

func TestAClaimEndsWithFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, a, b *Store) {
		up := newHeld()
		first := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
		synctest.Wait()
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
	})
}

func TestAClaimLivesAsLongAsItsOwnerMoves(t *testing.T) {
	inBubble(t, func(t *testing.T, a, b *Store) {
		up := newHeld()
		first := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
		synctest.Wait()
		// Far beyond the claim timeout, with merges and new journals in between.
		waiter := ask(t.Context(), &Transport{Store: b, Next: up}, tvURL)
		for i := range 20 {
			time.Sleep(time.Second)
			putAnswer(t, a, tvKey(fmt.Sprint(i)), time.Now(), day, 10)
		}
		if up.count() != 1 {
			t.Fatalf("asked %d times while the first was asking", up.count())
		}
		up.let <- good
		<-first.done
		<-waiter.done
		if waiter.source != "fresh" || up.count() != 1 {
			t.Errorf("waiter: %s %v, asked %d times", waiter.source, waiter.err, up.count())
		}
	})
}

func TestWaitingForAClaimIsBoundedByMaxWait(t *testing.T) {
	inBubble(t, func(t *testing.T, a, b *Store) {
		up := newHeld()
		first := ask(t.Context(), &Transport{Store: a, Next: up}, tvURL)
		synctest.Wait()
		begin := time.Now()
		second := ask(t.Context(), &Transport{Store: b, Next: up, MaxWait: time.Minute}, tvURL)
		<-second.done
		if !errors.Is(second.err, ErrWait) || time.Since(begin) != time.Minute {
			t.Errorf("after %v: %v", time.Since(begin), second.err)
		}
		offline := ask(t.Context(), &Transport{Store: b, Next: &upstream{serve: answers{}.serve}, Offline: true}, tvURL)
		<-offline.done
		if !errors.Is(offline.err, errDown) || time.Since(begin) != time.Minute {
			t.Errorf("offline waits: %v after %v", offline.err, time.Since(begin))
		}
		up.let <- good
		<-first.done
	})
}

func TestJournalsAreMergedWhenTheyAreDue(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(dir, Options{MergeRecords: 5, MergeEvery: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		unmerged := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.proc.unmerged()
		}
		put := func(n int) {
			for i := range n {
				putAnswer(t, s, tvKey(fmt.Sprint(i)), time.Now(), day, 10)
			}
		}
		steps := []struct {
			put   int
			sleep time.Duration
			left  int
		}{
			{4, time.Minute - time.Second, 4},
			{0, 2 * time.Second, 0}, // a minute old
			{5, time.Millisecond, 0},
			{1, 30 * time.Second, 1},
			{3, 31 * time.Second, 0},
		}
		for i, st := range steps {
			put(st.put)
			time.Sleep(st.sleep)
			synctest.Wait()
			if got := unmerged(); got != st.left {
				t.Errorf("step %d: %d records are not merged, want %d", i, got, st.left)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	verifyDir(t, dir)
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
		get(t, &Transport{Store: s, Next: roundTrip(func(*http.Request) (*http.Response, error) { panic("upstream") })}, tvURL)
	}()
	for _, st := range []*Store{s, open(t, dir, Options{})} {
		up := &upstream{serve: always(200, endedBody)}
		if _, _, source := get(t, &Transport{Store: st, Next: up}, tvURL); source != "network" && source != "fresh" {
			t.Errorf("source %s", source)
		}
	}
}
