//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
)

// belongsToAnother reports whether path exists and is another user's.
func belongsToAnother(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) != os.Getuid()
}

// together makes a program and all that it starts end together, when it is told to.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
