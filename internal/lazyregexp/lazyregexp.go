// Package lazyregexp compiles regular expressions when they are first used: most commands need none of them, and all
// would pay for them when they start.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled expression. It is for several goroutines, and panics where the
// expression is wrong.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
