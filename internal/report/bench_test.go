package report

import (
	"io"
	"testing"
)

func BenchmarkMatch(b *testing.B) {
	records := sample()
	for _, format := range Formats() {
		b.Run(format, func(b *testing.B) {
			w, err := NewWriter(Format(format), io.Discard, Options{Width: 120})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := w.Match(records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
