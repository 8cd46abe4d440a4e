//go:build !unix

package ratelimit

import "os"

const noFollow = 0

// linked: a file that is open here cannot be deleted.
func linked(*os.File) bool { return true }
