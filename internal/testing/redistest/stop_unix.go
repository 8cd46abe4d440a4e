//go:build unix

package redistest

import "syscall"

// Stop freezes the server.
func (s *Server) Stop() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Continue lets a frozen server go on.
func (s *Server) Continue() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }
