//go:build unix

package gateway

import (
	"net"
	"sync"
	"syscall"
)

var umask sync.Mutex

// listenUnix makes a socket that is its owner's alone from the first moment on.
func listenUnix(path string) (net.Listener, error) {
	umask.Lock()
	defer umask.Unlock()
	before := syscall.Umask(0o177)
	defer syscall.Umask(before)
	return net.Listen("unix", path)
}
