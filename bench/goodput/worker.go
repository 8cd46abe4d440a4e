package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"strconv"
	"time"

	"github.com/anivault/anivault/bench/virtual"
	"github.com/anivault/anivault/ratelimit"
)

// report is what a process prints at its end.
type report struct {
	Failed int
	States []entered
}

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
	target, err := neturl.Parse(*url)
	if err != nil {
		return err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = virtual.Workers
	store, err := ratelimit.OpenFileStore(*dir, ratelimit.FileOptions{})
	if err != nil {
		return err
	}
	var s states
	client, err := newClient(*name, store, &s)
	if err != nil {
		return err
	}
	c, err := client(&wire{base, make(chan struct{}, virtual.Slots), target, strconv.Itoa(*process)})
	if err != nil {
		return err
	}
	time.Sleep(time.Until(time.Unix(0, *start)))
	// No deadline: a client that sees one may give up before it.
	ctx, cancel := context.WithCancel(context.Background())
	defer time.AfterFunc(time.Until(time.Unix(0, *end)), cancel).Stop()
	list := virtual.NewList(0, 0, 0)
	list.Fetch(ctx, &c)
	c.Close()
	return json.NewEncoder(os.Stdout).Encode(report{list.Failed(), s.list})
}

// wire is the transport of all clients: it sends every item to the stand-in, limits the requests on the wire and reads
// bodies whole.
type wire struct {
	base    http.RoundTripper
	slots   chan struct{}
	target  *neturl.URL
	process string
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case w.slots <- struct{}{}:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	defer func() { <-w.slots }()
	req = req.Clone(req.Context())
	req.URL, req.Host = w.target, ""
	req.Header.Set(virtual.ProcessHeader, w.process)
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
