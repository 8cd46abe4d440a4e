// Package virtual runs clients of a failing upstream in virtual time: an hour takes seconds. The clients are the real
// ones, with their goroutines and timers; only the clock and the upstream are simulated.
package virtual

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
)

// Together runs functions side by side, each in a virtual time of its own.
type Together func(fs ...func())

// Main runs a program that needs virtual time, and ends the process. It does not return.
//
// The clock of testing/synctest belongs to a test, so the program runs as the only test of a test binary.
func Main(name string, program func(Together) error) {
	everything := func(string, string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: name, F: func(t *testing.T) {
		if err := program(func(fs ...func()) { together(t, fs) }); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
		os.Exit(0)
	}}}, nil, nil)
}

func together(t *testing.T, fs []func()) {
	t.Run("", func(t *testing.T) {
		for _, f := range fs {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(*testing.T) { f() })
			})
		}
	})
	if t.Failed() {
		os.Exit(1)
	}
}
