//go:build !unix

package cli

import (
	"os/exec"
)

// isOwnedByOther returns false, because os.Stat has no owner of a file on this system.
func isOwnedByOther(string) bool { return false }

// setProcessGroup does nothing: no program is run on this system, because no plan is carried out.
func setProcessGroup(*exec.Cmd) {}
