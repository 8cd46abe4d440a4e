package wire

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// everything has a field of each kind.
type everything struct {
	U uint64
	I int64
	D time.Duration
	E kind
	B bool
	F float64
	T string
	L []int
}

type kind uint8

func (e *everything) code(c *Codec) {
	c.Uint64(&e.U)
	c.Int64(&e.I)
	Int(c, &e.D)
	Enum(c, &e.E)
	c.Bool(&e.B)
	c.Float(&e.F)
	c.Text(&e.T, 80)
	List(c, &e.L, 100, func(v *int) { Int(c, v) })
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := everything{
			U: rapid.Uint64().Draw(t, "u"), I: rapid.Int64().Draw(t, "i"), D: time.Duration(rapid.Int64().Draw(t, "d")),
			E: kind(rapid.Byte().Draw(t, "e")), B: rapid.Bool().Draw(t, "b"), F: rapid.Float64().Draw(t, "f"),
			T: rapid.StringN(0, 20, 80).Draw(t, "t"), L: rapid.SliceOfN(rapid.Int(), 0, 100).Draw(t, "l"),
		}
		w := Writer(nil)
		want.code(&w)
		got := everything{T: "old", L: []int{1, 2, 3}}
		r := Reader(w.Bytes())
		got.code(&r)
		if r.Bad() || len(r.Remaining()) > 0 {
			t.Fatalf("bad %v, %d bytes left", r.Bad(), len(r.Remaining()))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		cut := Reader(w.Bytes()[:rapid.IntRange(0, len(w.Bytes())-1).Draw(t, "cut")])
		if got.code(&cut); !cut.Bad() {
			t.Fatal("a part is taken for the whole")
		}
	})
}

func TestLengthsThatCannotBeAreRefused(t *testing.T) {
	for name, n := range map[string]uint64{"above the limit": 11, "more than there are bytes": 9, "huge": math.MaxUint64} {
		t.Run(name, func(t *testing.T) {
			w := Writer(nil)
			w.Uint64(&n)
			w.Raw(make([]byte, 8))
			r := Reader(w.Bytes())
			if got := r.Count(0, 10); got != 0 || !r.Bad() {
				t.Errorf("%d, bad %v", got, r.Bad())
			}
		})
	}
}
