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

	"github.com/anivault/anivault/ratelimit"
)

func sampleFrame(snapshot []byte) frame {
	f := frame{
		generation: generation{1, 2, 3}, sequence: 7, time: 1234 * time.Second, bias: -time.Minute, snapshot: snapshot,
	}
	f.follow(&frame{generation: f.generation, sequence: 6, writers: [4 * writersKept]byte{11, 4: 12}}, 0xdead00000005)
	return f
}

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := sampleFrame(rapid.SliceOf(rapid.Byte()).Draw(t, "snapshot"))
		f.sequence, f.time = rapid.Uint64().Draw(t, "sequence"), time.Duration(rapid.Int64().Draw(t, "time"))
		b := f.append(nil)
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
	newer := f.append(nil)
	binary.LittleEndian.PutUint32(newer[8:], frameVersion+1)
	binary.LittleEndian.PutUint32(newer[12:], crc32.Checksum(newer[:12], castagnoli))
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"of a newer version":          {newer, ratelimit.ErrNewer},
		"of a newer and shorter one":  {newer[:20], ratelimit.ErrNewer},
		"a blank, as an empty one is": {[]byte(" "), errGarbled},
		"cut off":                     {f.append(nil)[:frameHeader-1], errGarbled},
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
	f := frame{generation: g, sequence: 1}
	f.follow(&frame{}, 100)
	for n := uint64(2); n < 300; n++ {
		next := frame{generation: g, sequence: n}
		next.follow(&f, 100+n)
		f = next
	}
	for _, c := range []struct {
		writer   uint64
		sequence uint64
		want     bool
	}{{100 + 299, 299, true}, {100 + 299, 298, false}, {100 + 200, 200, true}, {100 + 172, 172, true}, {100 + 171, 171, false}, {100 + 300, 300, false}} {
		if got := f.wrote(c.writer, g, c.sequence); got != c.want {
			t.Errorf("%d wrote %d: %t, want %t", c.writer, c.sequence, got, c.want)
		}
	}
	if f.wrote(100+299, generation{8}, 299) {
		t.Error("in another generation")
	}
}

func FuzzDecodeFrame(f *testing.F) {
	sample := sampleFrame([]byte("snapshot"))
	f.Add(sample.append(nil))
	f.Add([]byte(" "))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeFrame(b)
		if err == nil && !bytes.Equal(got.append(nil), b) {
			t.Error("written again it is something else")
		}
	})
}

func FuzzParseTurn(f *testing.F) {
	f.Add([]byte("turn 17 value"))
	f.Add([]byte("rouse"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseTurn(b) })
}
