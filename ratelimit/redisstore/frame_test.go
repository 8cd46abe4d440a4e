package redisstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/ratelimit/internal/shared"
)

func sampleFrame(snapshot []byte) frame {
	f := frame{
		generation: generation{1, 2, 3}, sequence: 7, time: 1234 * time.Second, bias: -time.Minute, snapshot: snapshot,
	}
	f.setWriters(&frame{generation: f.generation, sequence: 6, writers: []byte{11, 0, 0, 0, 1, 12, 0, 0, 0, 3}},
		0xdead00000005)
	return f
}

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := sampleFrame(rapid.SliceOf(rapid.Byte()).Draw(t, "snapshot"))
		f.sequence, f.time = rapid.Uint64().Draw(t, "sequence"), time.Duration(rapid.Int64().Draw(t, "time"))
		b := f.encode()
		got, err := decodeFrame(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.snapshot) == 0 {
			f.snapshot, got.snapshot = nil, nil
		}
		if diff := cmp.Diff(f, got, cmp.AllowUnexported(frame{})); diff != "" {
			t.Fatal(diff)
		}
		if string(b[versionFrom:versionTo]) != f.version().String() {
			t.Fatal("the bytes that scripts compare are not the version")
		}
		i := rapid.IntRange(0, len(b)-1).Draw(t, "damaged at")
		b[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := decodeFrame(b); !errors.Is(err, errGarbled) {
			t.Fatalf("damaged at %d: %v", i, err)
		}
	})
}

func TestFramesThatAreNotOurs(t *testing.T) {
	f := sampleFrame([]byte("snapshot"))
	newer := f.encode()
	binary.LittleEndian.PutUint32(newer[8:], frameVersion+1)
	binary.LittleEndian.PutUint32(newer[12:], crc32.Checksum(newer[:12], castagnoli))
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"of a newer version":          {newer, shared.ErrNewer},
		"of a newer and shorter one":  {newer[:20], shared.ErrNewer},
		"a blank, as an empty one is": {[]byte(" "), errGarbled},
		"truncated":                   {f.encode()[:frameHeader-1], errGarbled},
		"too large":                   {make([]byte, maxFrame+1), errGarbled},
		"something else":              {[]byte("hello, this is somebody else's key"), errGarbled},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := decodeFrame(c.b); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// A writer whose reply was lost finds itself among the newest writers, or was not heard.
func TestAWriterFindsItself(t *testing.T) {
	g := generation{9}
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SampledFrom([]uint64{1, 2, 3, 1000}).Draw(t, "writers")
		who := rapid.SliceOfN(rapid.Uint64Range(1, few), 1, 400).Draw(t, "who wrote")
		f := frame{}
		for n, writer := range who {
			next := frame{generation: g, sequence: uint64(n + 1)}
			next.setWriters(&f, writer)
			f = next
		}
		if len(f.writers) > bytesPerRun*writersKept {
			t.Fatalf("%d bytes for the writers", len(f.writers))
		}
		for n, writer := range who {
			want := len(who)-n <= writersKept
			if got := f.wrote(writer, g, uint64(n+1)); got != want {
				t.Fatalf("%d wrote %d of %d: %t, want %t", writer, n+1, len(who), got, want)
			}
			if f.wrote(writer+1, g, uint64(n+1)) || f.wrote(writer, generation{8}, uint64(n+1)) {
				t.Fatalf("somebody else wrote %d", n+1)
			}
		}
		if f.wrote(who[len(who)-1], g, uint64(len(who)+1)) {
			t.Error("what is not written yet")
		}
	})
}

func FuzzDecodeFrame(f *testing.F) {
	sample := sampleFrame([]byte("snapshot"))
	f.Add(sample.encode())
	f.Add([]byte(" "))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeFrame(b)
		if err == nil && !bytes.Equal(got.encode(), b) {
			t.Error("written again it is something else")
		}
	})
}

func FuzzParseTurn(f *testing.F) {
	f.Add([]byte("turn 17 value"))
	f.Add([]byte("wake 17"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = parseTurn(b)
		_, _ = parseWake(b)
	})
}
