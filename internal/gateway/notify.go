package gateway

import (
	"net"
	"strings"
)

// notify tells systemd how the service is (sd_notify(3)): "READY=1", "STOPPING=1". Without a socket it does nothing.
func notify(socket, state string) {
	if socket == "" {
		return
	}
	if name, ok := strings.CutPrefix(socket, "@"); ok {
		socket = "\x00" + name
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return // nobody listens: there is nobody to tell
	}
	_, _ = conn.Write([]byte(state))
	_ = conn.Close()
}
