package main

// Single operations, beside the floor: plain bbolt, held open by one process.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/cache"
	bolt "go.etcd.io/bbolt"
)

const many = 100_000

func microTable() error {
	dir, err := os.MkdirTemp("", "anivault-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, err := microOurs(filepath.Join(dir, "ours"))
	if err != nil {
		return err
	}
	floor, err := microFloor(filepath.Join(dir, "floor.db"))
	if err != nil {
		return err
	}
	fmt.Printf("Single operations, 10 KB answers, %d small values\n\n| operation | cache | bbolt held open by one process |\n|---|---|---|\n", many)
	for _, name := range []string{
		"put, safe from kill -9", "put, safe from power loss (merged)", "get from the database", "get from a journal",
		fmt.Sprintf("put %d values", many), fmt.Sprintf("get %d values", many),
	} {
		fmt.Printf("| %s | %s | %s |\n", name, text(ours[name]), text(floor[name]))
	}
	fmt.Println()
	return nil
}

func text(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// each is the time of one of n calls.
func each(n int, f func(i int) error) (time.Duration, error) {
	begin := time.Now()
	for i := range n {
		if err := f(i); err != nil {
			return 0, err
		}
	}
	return time.Since(begin) / time.Duration(n), nil
}

func microOurs(dir string) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	ctx := context.Background()
	s, err := cache.Open(dir, cache.Options{MergeEvery: time.Hour, MergeRecords: 1 << 30})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // a benchmark of scratch files
	body := []byte(apiBody)
	entry := func(i int) *cache.Entry {
		now := time.Now()
		return &cache.Entry{Key: fmt.Sprintf("GET http://api:80/3/tv/%d", i), Status: 200, Body: body, FetchedAt: now, ExpiresAt: now.Add(time.Hour)}
	}
	const n = 2000
	if out["put, safe from kill -9"], err = each(n, func(i int) error { return s.Put(ctx, entry(i)) }); err != nil {
		return nil, err
	}
	reader, err := cache.Open(dir, cache.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // a benchmark of scratch files
	get := func(i int) error {
		_, ok, err := reader.Get(ctx, entry(i).Key)
		if err == nil && !ok {
			err = fmt.Errorf("entry %d is missing", i)
		}
		return err
	}
	if out["get from a journal"], err = each(n, get); err != nil {
		return nil, err
	}
	begin := time.Now()
	if _, err := s.Merge(ctx); err != nil {
		return nil, err
	}
	out["put, safe from power loss (merged)"] = time.Since(begin)/n + out["put, safe from kill -9"]
	if out["get from the database"], err = each(n, get); err != nil {
		return nil, err
	}
	return out, microBatch(s, out)
}

func microBatch(s *cache.Store, out map[string]time.Duration) error {
	ctx := context.Background()
	b, err := s.Bucket("results")
	if err != nil {
		return err
	}
	begin := time.Now()
	for from := 0; from < many; from += 1000 {
		items := make([]cache.Item, 1000)
		for i := range items {
			items[i] = cache.Item{Key: smallKey(from + i), Value: smallValue(from + i)}
		}
		if err := b.Put(ctx, items...); err != nil {
			return err
		}
	}
	if _, err := s.Merge(ctx); err != nil {
		return err
	}
	out[fmt.Sprintf("put %d values", many)] = time.Since(begin)
	keys := make([]string, many)
	for i := range keys {
		keys[i] = smallKey(i)
	}
	begin = time.Now()
	items, err := b.GetBatch(ctx, keys)
	if err != nil {
		return err
	}
	out[fmt.Sprintf("get %d values", many)] = time.Since(begin)
	for i := range items {
		if items[i].Key == "" {
			return fmt.Errorf("value %d is missing", i)
		}
	}
	return nil
}

func smallKey(i int) string {
	return fmt.Sprintf("/library/Some Show/Season 01/Some Show - %06d.mkv", i)
}
func smallValue(i int) []byte { return fmt.Appendf(nil, "%0200d", i) }

func microFloor(path string) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // a benchmark of scratch files
	name := []byte("r")
	body := []byte(noise(10_000))
	key := func(i int) []byte { return fmt.Appendf(nil, "GET http://api:80/3/tv/%d", i) }
	err = db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket(name); return err })
	if err != nil {
		return nil, err
	}
	const n = 500
	d, err := each(n, func(i int) error {
		return db.Update(func(tx *bolt.Tx) error { return tx.Bucket(name).Put(key(i), body) })
	})
	if err != nil {
		return nil, err
	}
	out["put, safe from kill -9"], out["put, safe from power loss (merged)"] = d, d
	out["get from the database"], err = each(n, func(i int) error {
		return db.View(func(tx *bolt.Tx) error {
			if len(tx.Bucket(name).Get(key(i))) == 0 {
				return fmt.Errorf("entry %d is missing", i)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	for from := 0; from < many; from += 1000 {
		err := db.Update(func(tx *bolt.Tx) error {
			for i := range 1000 {
				if err := tx.Bucket(name).Put([]byte(smallKey(from+i)), smallValue(from+i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	out[fmt.Sprintf("put %d values", many)] = time.Since(begin)
	values := make([][]byte, many)
	begin = time.Now()
	err = db.View(func(tx *bolt.Tx) error {
		for i := range values {
			values[i] = append([]byte(nil), tx.Bucket(name).Get([]byte(smallKey(i)))...)
		}
		return nil
	})
	out[fmt.Sprintf("get %d values", many)] = time.Since(begin)
	return out, err
}
