//go:build unix

package redistest

import "syscall"

// Stop suspends the server process.
func (s *Server) Stop() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue resumes a suspended server process.
func (s *Server) Continue() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }
