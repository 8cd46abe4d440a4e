//go:build !unix

package gateway

import "net"

// listenUnix makes a socket.
func listenUnix(path string) (net.Listener, error) { return net.Listen("unix", path) }
