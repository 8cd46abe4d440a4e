package gateway

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a request's header fields say of its urgency and patience. Whatever can't be read is ignored.

var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// goodID reports whether a client's name for something may stand in logs and answers as it came.
func goodID(id string) bool { return len(id) <= 64 && idForm.MatchString(id) }

// requestID is the client's own name for the request, else a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); goodID(id) {
		return id
	}
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], rand.Uint64()) // a name, no secret
	return hex.EncodeToString(id[:])
}

// items returns the items of a field's lists, without the space around them.
func fieldItems(values []string) []string {
	var out []string
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(item))
		}
	}
	return out
}

const (
	usualUrgency = 3
	lowUrgency   = 5
)

// urgency reads Priority (RFC 9218): 0 to 7, the last u counts.
func urgency(values []string) int {
	u := usualUrgency
	for _, item := range fieldItems(values) {
		item, _, _ = strings.Cut(item, ";")
		if v, ok := strings.CutPrefix(strings.TrimSpace(item), "u="); ok && len(v) == 1 && v >= "0" && v <= "7" {
			u = int(v[0] - '0')
		}
	}
	return u
}

// preferredWait reads the wait of Prefer (RFC 7240, section 4.3): whole seconds, the first one counts.
func preferredWait(values []string) (time.Duration, bool) {
	for _, item := range fieldItems(values) {
		item, _, _ = strings.Cut(item, ";")
		name, v, ok := strings.Cut(item, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 31)
		if err != nil {
			return 0, false
		}
		return time.Duration(n) * time.Second, true
	}
	return 0, false
}

// onlyIfCached reads the one directive of Cache-Control that counts. The others would let each reload in a browser cost
// everybody a request.
func onlyIfCached(values []string) bool {
	for _, item := range fieldItems(values) {
		if strings.EqualFold(item, "only-if-cached") {
			return true
		}
	}
	return false
}

// mostGateways is how many gateways may stand in a row.
const mostGateways = 16

// gatewayName is how a gateway names itself in Via.
var gatewayName = regexp.MustCompile(`^1\.1 anivault-[0-9a-f]{8}$`)

// viaGateways are the gateways that a request has come through. They are told to the next one, else two that are
// pointed at each other would not see it; nothing else of Via goes on.
func viaGateways(values []string) []string {
	return slices.DeleteFunc(fieldItems(values), func(item string) bool { return !gatewayName.MatchString(item) })
}
