package tmdbfake

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// gzipFrom is the size from which a body is compressed for clients that accept it.
const gzipFrom = 1000

const (
	htmlPage = "<html>\r\n<head><title>%d %s</title></head>\r\n<body>\r\n<center><h1>%[1]d %[2]s</h1></center>\r\n" +
		"<hr><center>openresty</center>\r\n</body>\r\n</html>\r\n"
	captivePage = "<!DOCTYPE html>\n<html><head><title>Sign in to the network</title></head>" +
		"<body><form action=\"/login\"><p>Please accept the terms of this network to go on.</p></form></body></html>\n"
)

// instead does a fault that strikes before the answer. It reports whether the
// request is finished.
func (x *exchange) instead(a upstream.Action) bool {
	switch a.Kind {
	case "delay":
		return !pause(x.r.Context(), time.Duration(a.Delay))
	case "status":
		x.status(a)
	case "not_modified":
		x.finishHeaders()
		x.begin(http.StatusNotModified)
	case "redirect":
		x.w.Header().Set("Location", a.Location)
		x.finishHeaders()
		x.begin(http.StatusFound)
	case "reset":
		x.drop(true)
	case "close":
		x.drop(false)
	case "silent":
		<-x.r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	return true
}

func (x *exchange) status(a upstream.Action) {
	h := x.w.Header()
	upstream.SetRetryAfter(h, a.RetryAfter, x.now, time.Duration(a.Wait), x.dateSkew())
	x.finishHeaders()
	var body []byte
	switch a.Body {
	case "html", "captive":
		h.Set("Content-Type", "text/html")
		body = fmt.Appendf(nil, htmlPage, a.Status, http.StatusText(a.Status))
		if a.Body == "captive" {
			body = []byte(captivePage)
		}
	case "empty":
	default:
		h.Set("Content-Type", "application/json;charset=utf-8")
		o := errorBody(a.Code, "")
		if a.Body == "nosuccess" {
			delete(o, "success")
		}
		var err error
		if body, err = json.Marshal(o); err != nil {
			panic(fmt.Sprintf("tmdbfake: encode an error: %v", err))
		}
	}
	x.begin(a.Status)
	if a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		_ = x.write(body) // the client may be gone
	}
}

// send writes a body, with the fault that strikes it if there is one.
func (x *exchange) send(status int, body []byte) {
	if len(x.bodies) > 0 {
		x.spoil(status, body, x.bodies[0])
		return
	}
	if len(body) >= gzipFrom && strings.Contains(x.r.Header.Get("Accept-Encoding"), "gzip") {
		x.w.Header().Set("Content-Encoding", "gzip")
		body = zipped(body)
	}
	x.begin(status)
	_ = x.write(body)
}

// spoil writes a body with a fault in it.
func (x *exchange) spoil(status int, body []byte, a upstream.Action) {
	h := x.w.Header()
	half := body[:len(body)/2]
	switch a.Kind {
	case "cut_json":
		x.begin(status)
		_ = x.write(half)
	case "abort":
		x.begin(status)
		_ = x.write(half)
		x.flush()
		panic(http.ErrAbortHandler)
	case "short", "short_unflushed":
		h.Set("Content-Length", strconv.Itoa(len(body)))
		x.begin(status)
		_ = x.write(half)
		if a.Kind == "short" {
			x.flush()
		}
		panic(http.ErrAbortHandler)
	case "gzip_headerless":
		x.begin(status)
		_ = x.write(zipped(body))
	case "gzip_double":
		h.Set("Content-Encoding", "gzip")
		x.begin(status)
		_ = x.write(zipped(zipped(body)))
	case "gzip_fake":
		h.Set("Content-Encoding", "gzip")
		x.begin(status)
		_ = x.write(body)
	case "gzip_cut":
		h.Set("Content-Encoding", "gzip")
		z := zipped(body)
		x.begin(status)
		_ = x.write(z[:len(z)/2])
	case "reset_body":
		h.Set("Content-Length", strconv.Itoa(len(body)))
		x.begin(status)
		_ = x.write(half)
		x.flush()
		x.drop(true)
	case "drip":
		x.drip(status, body, a)
	case "huge":
		x.huge(status, a.Bytes)
	}
}

// drip writes a body a few bytes at a time, by default 8 every 200 ms.
func (x *exchange) drip(status int, body []byte, a upstream.Action) {
	size, every := a.Bytes, time.Duration(a.Every)
	if size == 0 {
		size = 8
	}
	if every == 0 {
		every = 200 * time.Millisecond
	}
	x.begin(status)
	for len(body) > 0 {
		n := min(size, len(body))
		if x.write(body[:n]) != nil {
			return
		}
		x.flush()
		body = body[n:]
		if len(body) > 0 && !pause(x.r.Context(), every) {
			return
		}
	}
}

// huge writes a JSON body of at least size bytes, by default 64 MiB.
func (x *exchange) huge(status, size int) {
	if size == 0 {
		size = 64 << 20
	}
	x.begin(status)
	if x.write([]byte(`{"padding":"`)) != nil {
		return
	}
	for block := bytes.Repeat([]byte{'x'}, 64<<10); size > 0; size -= len(block) {
		if x.write(block[:min(size, len(block))]) != nil {
			return
		}
	}
	_ = x.write([]byte(`"}`))
}

func (x *exchange) flush() {
	_ = http.NewResponseController(x.w).Flush()
}

// drop ends the connection, by RST or by FIN. Under HTTP/2 it ends the stream.
func (x *exchange) drop(reset bool) {
	c, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if reset {
		resetConn(c)
		return
	}
	_ = c.Close()
}

func resetConn(c net.Conn) {
	for {
		inner, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = inner.NetConn()
	}
	if l, ok := c.(interface{ SetLinger(seconds int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
}

var gzipPool = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil { // only for a level that does not exist
		panic(err)
	}
	return w
}}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w, _ := gzipPool.Get().(*gzip.Writer)
	defer gzipPool.Put(w)
	w.Reset(&out)
	_, _ = w.Write(b) // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// pause waits until d has passed or ctx ends. It reports whether d has passed.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
