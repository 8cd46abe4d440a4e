package ratelimit

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReturnsWhatWasEncoded(t *testing.T) {
	tuned := newWorld(t)
	tuned.run("429*3 ok*11 ok*5 500*8 cacheonly/15m")
	if err := tuned.s.override(tuned.s.clock.now, []override{{key: "rate_base", value: "20"}}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Snapshot{
		"fresh":    NewSnapshot(Instant{Wall: time.Unix(1_800_000_000, 5), Boot: time.Hour, BootID: "b"}),
		"cautious": NewCautiousSnapshot(Instant{Wall: time.Unix(1_800_000_000, 5), Boot: time.Hour, BootID: "b"}),
		"busy":     busySnapshot(t).Clone(),
		"troubled": tuned.s,
	} {
		raw, err := s.AppendBinary([]byte("prefix"))
		if err != nil {
			t.Fatal(err)
		}
		got := busySnapshot(t).Clone() // what was there before must not shine through
		if err := got.Decode(raw[len("prefix"):]); err != nil {
			t.Fatal(err)
		}
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		if diff := cmp.Diff(s.Clone(), got.Clone(), all); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
