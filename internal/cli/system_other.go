//go:build !unix

package cli

import (
	"os/exec"
)

// isOwnedByOther returns false, because os.Stat does not return a file's owner on this system.
func isOwnedByOther(string) bool { return false }

// setProcessGroup does nothing: no plan is carried out on this system, so no program is run afterwards.
func setProcessGroup(*exec.Cmd) {}
