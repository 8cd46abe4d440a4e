//go:build unix

package gateway

import (
	"net"
	"sync"
	"syscall"
)

var umaskMu sync.Mutex

// listenUnix creates a Unix socket that only its owner can use from the moment it exists.
func listenUnix(path string) (net.Listener, error) {
	umaskMu.Lock()
	defer umaskMu.Unlock()
	before := syscall.Umask(0o177)
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}
