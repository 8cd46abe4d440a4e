package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/bench/peers"
	"github.com/anivault/anivault/bench/virtual"
)

// What one process does: eight workers fetch items, four requests at a time.
const (
	slots   = virtual.Slots // requests on the wire
	workers = virtual.Workers
)

// report is what a process prints at its end.
type report struct{ Done, Failed int64 }

// work is the main function of a process.
func work(args []string) error {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	name := flags.String("client", "", "")
	url := flags.String("url", "", "")
	dir := flags.String("dir", "", "")
	process := flags.Int("process", 0, "")
	start := flags.Int64("start", 0, "")
	end := flags.Int64("end", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = workers
	c, err := newClient(*name, &wire{base, make(chan struct{}, slots)}, *dir)
	if err != nil {
		return err
	}
	time.Sleep(time.Until(time.Unix(0, *start)))
	// No deadline: a client that sees one may give up before it.
	ctx, cancel := context.WithCancel(context.Background())
	defer time.AfterFunc(time.Until(time.Unix(0, *end)), cancel).Stop()
	var r report
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				err := fetch(ctx, c, *url, *process)
				switch {
				case err == nil:
					atomic.AddInt64(&r.Done, 1)
				case ctx.Err() == nil:
					atomic.AddInt64(&r.Failed, 1)
					_ = peers.Sleep(ctx, time.Second) // an item may fail at once; nobody fails a million of them
				}
			}
		})
	}
	group.Wait()
	if err := c.close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// fetch gets one item.
func fetch(ctx context.Context, c client, url string, process int) error {
	ctx, cancel := context.WithTimeout(ctx, peers.MaxItem)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-Process", strconv.Itoa(process))
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// wire is the transport of all clients: it limits the requests on the wire and reads bodies whole.
type wire struct {
	base  http.RoundTripper
	slots chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case w.slots <- struct{}{}:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	defer func() { <-w.slots }()
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
