package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/cache/internal/store"
)

// TestStoresTogetherAreOneMap: several stores over one directory, opened and closed at will, are the same as one map.
func TestStoresTogetherAreOneMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "cache-model-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		clk := newClock()
		options := Options{Now: clk.Now, testOptions: noSync}
		openOne := func() *Store {
			s, err := openStore(dir, options)
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		stores := []*Store{openOne(), openOne()}
		defer func() {
			for _, s := range stores {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
			}
		}()
		model := map[string]string{}
		keys := rapid.SampledFrom([]string{"a", "b", "c", "long/" + strings.Repeat("k", 300)})
		pick := func() (int, *Bucket) {
			i := rapid.IntRange(0, len(stores)-1).Draw(rt, "store")
			b, err := stores[i].Bucket("results")
			if err != nil {
				rt.Fatal(err)
			}
			return i, b
		}
		ctx := context.Background()
		check := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(*rapid.T) {
				_, b := pick()
				k, v := keys.Draw(rt, "key"), rapid.StringN(0, 50, -1).Draw(rt, "value")
				clk.advance(time.Microsecond)
				check(b.Put(ctx, Item{Key: k, Value: []byte(v)}))
				model[k] = v
			},
			"delete": func(*rapid.T) {
				_, b := pick()
				k := keys.Draw(rt, "key")
				clk.advance(time.Microsecond)
				check(b.Delete(ctx, k))
				delete(model, k)
			},
			"reopen": func(*rapid.T) {
				i, _ := pick()
				check(stores[i].Close())
				stores[i] = openOne()
			},
			"clear": func(*rapid.T) {
				i, _ := pick()
				clk.advance(time.Microsecond)
				check(stores[i].Clear(ctx))
				clk.advance(time.Microsecond)
				clear(model)
			},
			"compact": func(*rapid.T) {
				i, _ := pick()
				_, err := stores[i].Compact(ctx)
				check(err)
			},
			"prune": func(*rapid.T) {
				i, _ := pick()
				_, err := stores[i].Prune(ctx, PruneOptions{})
				check(err)
			},
			"carry over": func(*rapid.T) {
				i, _ := pick()
				var text strings.Builder
				_, err := stores[i].Export(ctx, &text)
				check(err)
				clk.advance(time.Microsecond)
				check(stores[i].Clear(ctx))
				clk.advance(time.Microsecond)
				_, err = stores[1-i].Import(ctx, strings.NewReader(text.String()), nil)
				check(err)
			},
			"": func(*rapid.T) {
				_, b := pick()
				got := map[string]string{}
				check(b.Range(ctx, func(it Item) error {
					got[it.Key] = string(it.Value)
					return nil
				}))
				if diff := cmp.Diff(model, got); diff != "" {
					rt.Fatalf("range: %s", diff)
				}
				all := slices.Sorted(maps.Keys(model))
				items, err := b.GetBatch(ctx, append(all, "absent"))
				check(err)
				for j, k := range all {
					if items[j].Key != k || string(items[j].Value) != model[k] {
						rt.Fatalf("get %q: %+v, want %q", k, items[j], model[k])
					}
				}
				if items[len(all)].Key != "" {
					rt.Fatal("an absent key is there")
				}
				rep, err := stores[0].Verify(ctx)
				check(err)
				if len(rep.Problems) > 0 {
					rt.Fatalf("verify: %v", rep.Problems)
				}
			},
		})
	})
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	s := open(t, dir, Options{})
	putAnswer(t, s, tvKey("1"), time.Now(), day, 10)
	putAnswer(t, s, tvKey("2"), time.Now(), day, 10)
	seen := 0
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if seen++; filepath.Separator == '/' && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", p, info.Mode().Perm())
		}
		return nil
	})
	if err != nil || seen < 5 {
		t.Errorf("%d files: %v", seen, err)
	}
	tag, err := os.ReadFile(filepath.Join(dir, "CACHEDIR.TAG"))
	if err != nil || !strings.HasPrefix(string(tag), "Signature: 8a477f597d28d172789f06886806bc55\n") {
		t.Errorf("CACHEDIR.TAG: %q %v", tag, err)
	}
}

func TestWritesThatMakeNoSenseAreRefused(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"HTML":       s.Put(t.Context(), &Entry{Key: "k", Status: 200, Body: []byte("<html>")}),
		"no key":     s.Put(t.Context(), &Entry{Status: 200, Body: []byte(endedBody)}),
		"long key":   b.Put(t.Context(), Item{Key: strings.Repeat("k", store.MaxKey+1)}),
		"empty key":  b.Put(t.Context(), Item{Value: []byte("v")}),
		"huge value": b.Put(t.Context(), Item{Key: "k", Value: make([]byte, store.MaxValue+1)}),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, name := range []string{"", "meta", "responses", "Über", "-x", "a b"} {
		if _, err := s.Bucket(name); err == nil {
			t.Errorf("bucket %q was taken", name)
		}
	}
	for _, o := range []Options{{MaxSize: -1}, {LockWait: -1}, {ClaimTimeout: -1}} {
		if _, err := openStore(t.TempDir(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := Open("", Options{}); err == nil {
		t.Error("no directory was taken")
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	putAnswer(t, s, tvKey("1"), time.Now(), day, 10)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(
		t.Context(), &Entry{Key: "k", Status: 200, Body: []byte(endedBody)},
	); !errors.Is(err, store.ErrClosed) {
		t.Errorf("put: %v", err)
	}
	if _, _, err := s.Get(t.Context(), tvKey("1")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("get: %v", err)
	}
}

func TestManyValuesAreReadInOneGo(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	b, err := s.Bucket("results")
	if err != nil {
		t.Fatal(err)
	}
	const n = 3*4096 + 17
	var items []Item
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("%06d", i))
		if i%3 != 0 {
			items = append(items, Item{Key: keys[i], Value: []byte(keys[i])})
		}
	}
	if err := b.Put(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	got, err := b.GetBatch(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range got {
		if want := i%3 != 0; (it.Key != "") != want || string(it.Value) != it.Key {
			t.Fatalf("%d: %+v", i, it)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.GetBatch(ctx, keys); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
