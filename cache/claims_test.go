package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"
)

// pair opens two stores over one directory that merge only when told to.
func pair(t *testing.T) (a, b *Store) {
	t.Helper()
	dir := t.TempDir()
	o := Options{MergeEvery: time.Hour}
	return open(t, dir, o), open(t, dir, o)
}

func TestWhoWantsToClaimLooksAgainWhenSomethingHasChanged(t *testing.T) {
	k := slot(responses, tvKey("1"))
	rows := map[string]struct {
		between func(t *testing.T, other *Store)
		want    claimResult
	}{
		"nothing has happened": {func(*testing.T, *Store) {}, claimMine},
		"the answer is in a journal": {func(t *testing.T, other *Store) {
			putAnswer(t, other, tvKey("1"), time.Now(), day, 10)
		}, claimLook},
		"the answer has come and been merged": {func(t *testing.T, other *Store) {
			putAnswer(t, other, tvKey("1"), time.Now(), day, 10)
			if _, err := other.Merge(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, claimLook},
		"another is asking": {func(t *testing.T, other *Store) {
			_, saw, err := other.entry(t.Context(), tvKey("1"))
			if err != nil {
				t.Fatal(err)
			}
			if res, err := other.claim(t.Context(), k, saw); res != claimMine || err != nil {
				t.Fatal(res, err)
			}
		}, claimBusy},
		"another key was written": {func(t *testing.T, other *Store) {
			putAnswer(t, other, tvKey("2"), time.Now(), day, 10)
		}, claimMine},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			e, saw, err := a.entry(t.Context(), tvKey("1"))
			if e != nil || err != nil {
				t.Fatal(e, err)
			}
			r.between(t, b)
			if res, err := a.claim(t.Context(), k, saw); res != r.want || err != nil {
				t.Errorf("got %d, want %d: %v", res, r.want, err)
			}
		})
	}
}

func TestAwaitingCountsWhoWaitsForAnothersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t)
		k := slot(responses, tvKey("1"))
		_, saw, err := b.entry(t.Context(), tvKey("1"))
		if err != nil {
			t.Fatal(err)
		}
		if res, err := b.claim(t.Context(), k, saw); res != claimMine || err != nil {
			t.Fatal(res, err)
		}
		if _, _, err := a.entry(t.Context(), tvKey("1")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error)
		go func() { waited <- a.awaitClaim(ctx, k) }()
		synctest.Wait()
		if got := a.Awaiting(); got != 1 {
			t.Errorf("while it waits: %d", got)
		}
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) || a.Awaiting() != 0 {
			t.Errorf("afterwards: %d, %v", a.Awaiting(), err)
		}
	})
}

func TestOnlyTheNewestJournalSaysWhatIsAsked(t *testing.T) {
	a, b := pair(t)
	k := slot(responses, tvKey("1"))
	claim := func(s *Store) claimResult {
		t.Helper()
		_, saw, err := s.entry(t.Context(), tvKey("1"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.claim(t.Context(), k, saw)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := claim(a); res != claimMine {
		t.Fatal(res)
	}
	putAnswer(t, a, tvKey("2"), time.Now(), day, 10)
	if _, err := a.rotate(); err != nil { // as in a merge that then fails
		t.Fatal(err)
	}
	if res := claim(b); res != claimBusy {
		t.Errorf("while it is asked, with a new journal: %d", res)
	}
	a.release(k)
	if res := claim(b); res != claimMine {
		t.Errorf("the old journal still counts: %d", res)
	}
}

func TestADamagedFileIsSetAsideOnceByAllWhoFoundIt(t *testing.T) {
	a, b := pair(t)
	overwrite(t, a.dbPath(), []byte("garbage"))
	var found [2]*DamageError
	for i, s := range []*Store{a, b} {
		if _, _, err := s.openCache(bolt.Options{ReadOnly: true}, checkDeep); !errors.As(err, &found[i]) {
			t.Fatal(err)
		}
	}
	a.setAside(t.Context(), found[0])
	putAnswer(t, a, tvKey("1"), time.Now(), day, 10)
	if _, err := a.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.setAside(t.Context(), found[1]) // comes late
	aside, err := filepath.Glob(a.dbPath() + ".corrupt-*")
	if err != nil || len(aside) != 1 {
		t.Errorf("%v %v", aside, err)
	}
	if _, err := os.Stat(a.dbPath()); err != nil {
		t.Errorf("the new one is gone: %v", err)
	}
}
