//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// together makes a program and all that it starts end together, when it is told to.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
