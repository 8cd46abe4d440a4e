//go:build !unix

package cli

import "os/exec"

// together does nothing here: plans, after which programs run, are not carried out on this system.
func together(*exec.Cmd) {}
