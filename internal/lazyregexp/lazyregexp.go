// Package lazyregexp compiles regular expressions on first use. Most commands need none of them, and compiling all
// would slow down every start of the program.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a concurrency-safe function that compiles expr on its first call and panics if expr is invalid.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
