package cache

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// jsonBody is about the size and kind of a series' details.
func jsonBody(n int) string {
	var b strings.Builder
	b.WriteString(`{"status":"Ended","episodes":[`)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"Episode %d","air_date":"2011-04-%02d","runtime":%d,"overview":""}`,
			700_000+i*37, i, i%28+1, 20+i%7)
	}
	b.WriteString(`]}`)
	return b.String()
}

func BenchmarkAskAndStore(b *testing.B) {
	s := open(b, b.TempDir(), Options{})
	tr := &Transport{Store: s, Next: &upstream{serve: always(200, jsonBody(10_000))}}
	i := 0
	for b.Loop() {
		i++
		get(b, tr, fmt.Sprintf("http://api/3/tv/%d", i))
	}
}

func BenchmarkGetFromDatabase(b *testing.B) {
	s := open(b, b.TempDir(), Options{})
	e := &Entry{
		Key: "GET http://api:80/3/tv/1", Status: http.StatusOK, Body: []byte(jsonBody(10_000)),
		FetchedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	}
	if err := s.Put(b.Context(), e); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok, err := s.Get(b.Context(), e.Key); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s := open(b, b.TempDir(), Options{})
	e := Entry{
		Key: "GET http://api:80/3/tv/1", Status: http.StatusOK, Body: []byte(jsonBody(10_000)),
		FetchedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	}
	for b.Loop() {
		if err := s.Put(b.Context(), &e); err != nil {
			b.Fatal(err)
		}
	}
}
