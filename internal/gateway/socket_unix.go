//go:build unix

package gateway

import (
	"net"
	"sync"
	"syscall"
)

var umask sync.Mutex

// listenUnix creates a Unix socket that only its owner can use from the moment it exists.
func listenUnix(path string) (net.Listener, error) {
	umask.Lock()
	defer umask.Unlock()
	before := syscall.Umask(0o177)
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}
