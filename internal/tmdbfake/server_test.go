package tmdbfake

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake/cert"
	"github.com/anivault/anivault/internal/upstream"
)

func TestTLSServesHTTP2ToWhoTrustsTheAuthority(t *testing.T) {
	own, err := cert.New(time.Now(), cert.Good)
	if err != nil {
		t.Fatal(err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(own.AuthorityPEM()) {
		t.Error("CAPEM is not PEM of a certificate")
	}
	f := newFake(t, Config{})
	s, err := f.ListenTLS("127.0.0.1:0", own.Leaf, own.Roots())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c := clientOf(t, s)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if r, err := ask(c, s.URL()+"/3/configuration"); err != nil || r.ProtoMajor != 2 {
				t.Errorf("HTTP/%d: %v", r.ProtoMajor, err)
			}
		})
	}
	wg.Wait()
	if e := f.Journal()[7]; e.Proto != "HTTP/2.0" || e.Conn == 0 {
		t.Errorf("journal: %+v", e)
	}
}

func TestConnectionCapResetsTheOneTooMany(t *testing.T) {
	f := newFake(t, Config{
		Limits:   upstream.Limits{MaxConns: 2},
		Scenario: only(upstream.Action{Kind: "delay", Delay: upstream.Duration(time.Minute)}),
	})
	s, err := f.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	dial := func() (net.Conn, error) {
		c, err := net.Dial("tcp", s.Addr().String())
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
			_, err = c.Write([]byte("GET /3/configuration HTTP/1.1\r\nHost: x\r\n\r\n"))
		}
		return c, err
	}
	for range 2 {
		if _, err := dial(); err != nil {
			t.Fatal(err)
		}
	}
	c, err := dial()
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the third connection of two: %v, want a reset", err)
	}
	if st := f.State(); st.OpenConns != 2 || st.Refused != 1 || st.MaxConns != 2 || st.Conns != 3 {
		t.Errorf("state %+v", st)
	}
}

func TestASecondLoopbackAddressIsASecondClient(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers on 127.0.0.2 unasked")
	}
	f := newFake(t, Config{Limits: upstream.Limits{Model: "sliding", Rate: 1, Per: time.Hour}})
	s, err := f.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	got := ""
	for _, ip := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.2"} {
		tr := s.TransportFrom(ip)
		t.Cleanup(tr.CloseIdleConnections)
		r, err := ask(&http.Client{Transport: tr}, s.URL()+"/3/configuration")
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprint(r.StatusCode, " ")
	}
	if got != "200 200 429 " {
		t.Errorf("statuses %s", got)
	}
}

func TestCapCountsByAddressAndForgetsClosedConnections(t *testing.T) {
	f := newFake(t, Config{Limits: upstream.Limits{MaxConns: 1}})
	s := start(t, f)
	for i, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.1"} {
		tr := s.TransportFrom(ip)
		if _, err := ask(&http.Client{Transport: tr}, s.URL()+"/3/configuration"); err != nil {
			t.Errorf("from %s: %v", ip, err)
		}
		if i == 0 {
			tr.CloseIdleConnections()
			waitFor(t, f, func(st State) bool { return st.OpenConns == 0 })
		}
		t.Cleanup(tr.CloseIdleConnections)
	}
	if st := f.State(); st.Refused != 0 || st.Conns != 3 {
		t.Errorf("state %+v", st)
	}
}

// waitFor waits for a state.
func waitFor(t *testing.T, f *Fake, want func(State) bool) {
	t.Helper()
	for !want(f.State()) {
		select {
		case <-t.Context().Done():
			t.Fatal("the state never came")
		default:
			runtime.Gosched()
		}
	}
}

// TestSingapore finds every other new connection dead.
func TestSingapore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead, err := upstream.Preset("singapore")
		if err != nil {
			t.Fatal(err)
		}
		s := newFake(t, Config{Scenario: dead}).ListenMem()
		got := ""
		for range 6 {
			tr := s.Transport()
			_, err := ask(&http.Client{Transport: tr, Timeout: 5 * time.Second}, s.URL()+"/3/configuration")
			got += map[bool]string{true: ".", false: "x"}[err == nil]
			tr.CloseIdleConnections()
		}
		if got != ".x.x.x" {
			t.Errorf("got %q", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestThreeVirtualHours is what the memory listener is for: 21,600 requests,
// two a second, against a limit that lets five of six pass.
func TestThreeVirtualHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits, err := upstream.ParseLimits("fixed:5/3s")
		if err != nil {
			t.Fatal(err)
		}
		f := newFake(t, Config{Limits: limits})
		s := f.ListenMem()
		tr := s.Transport()
		c := &http.Client{Transport: tr}
		began := time.Now()
		statuses := map[int]int{}
		for range 21_600 {
			r, err := ask(c, s.URL()+"/3/tv/1396/external_ids")
			if err != nil {
				t.Fatal(err)
			}
			statuses[r.StatusCode]++
			time.Sleep(500 * time.Millisecond)
		}
		if took := time.Since(began); took != 3*time.Hour {
			t.Errorf("it took %s, want 3h", took)
		}
		if statuses[200] != 18_000 || statuses[429] != 3_600 {
			t.Errorf("statuses %v, want 18000 × 200 and 3600 × 429", statuses)
		}
		if n := len(f.Journal()); n != 21_600 {
			t.Errorf("%d entries in the journal", n)
		}
		tr.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLatencyIsOfTheSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := upstream.ParseLatency("17ms-154ms")
		if err != nil {
			t.Fatal(err)
		}
		took := func() []time.Duration {
			s := newFake(t, Config{Seed: 4, Latency: l}).ListenMem()
			tr := s.Transport()
			var out []time.Duration
			for range 20 {
				began := time.Now()
				if _, err := ask(&http.Client{Transport: tr}, s.URL()+"/3/configuration"); err != nil {
					t.Fatal(err)
				}
				out = append(out, time.Since(began))
			}
			tr.CloseIdleConnections()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			return out
		}
		one, two := took(), took()
		for i, d := range one {
			if d != two[i] || d < l.Min || d > l.Max {
				t.Errorf("request %d took %s and %s", i, d, two[i])
			}
		}
	})
}

func TestJournalKeepsNoCredential(t *testing.T) {
	f := newFake(t, Config{TrustFakeIP: true})
	s := start(t, f)
	c := clientOf(t, s)
	if _, err := send(c, "GET", s.URL()+"/3/search/tv?query=lantern&api_key="+v3, "X-Anivault-Pid", "4711", "X-Fake-IP",
		"10.1.2.3"); err != nil {
		t.Fatal(err)
	}
	if _, err := send(c, "GET", s.URL()+"/3/tv/1396?%61pi_key="+v3, "Authorization", "Bearer "+token); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(f.Journal())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{v3, token} {
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("the journal holds %s: %s", secret, b)
		}
	}
	e := f.Journal()[0]
	if e.Query != "api_key=REDACTED&query=lantern" || e.PID != "4711" || e.IP != "10.1.2.3" || e.Auth != "api_key" ||
		e.Status != http.StatusOK || e.Bytes == 0 || e.Method != http.MethodGet || e.Path != "/3/search/tv" ||
		e.End.Before(e.At) {
		t.Errorf("entry %+v", e)
	}
	if got := f.Journal()[1].Auth; got != "bearer" {
		t.Errorf("auth %q, want bearer", got)
	}
}

func TestNewRefusesImpossibleOptions(t *testing.T) {
	for part, cfg := range map[string]Config{
		"rank mode":     {Model: Model{Rank: "best"}},
		"limit model":   {Limits: upstream.Limits{Model: "leaky"}},
		"latency":       {Latency: upstream.Latency{Min: -1}},
		"credential":    {Keys: []string{""}},
		`kind "sneeze"`: {Scenario: only(upstream.Action{Kind: "sneeze"})},
	} {
		t.Run(part, func(t *testing.T) {
			if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("error %v, want one with %q", err, part)
			}
		})
	}
}

func TestCloseMayBeCalledTwice(t *testing.T) {
	s := newFake(t, Config{}).ListenMem()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := ask(&http.Client{Transport: s.Transport()}, s.URL()+"/3/configuration"); !errors.Is(err,
		syscall.ECONNREFUSED) {
		t.Errorf("asking a closed server: %v, want a refusal", err)
	}
}
