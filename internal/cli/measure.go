package cli

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/metrics"
)

// measuring writes a run's metrics where the configuration says, every so often and at the end.
type measuring struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	file   io.Closer
}

func (c *command) startMetrics(cfg *config.Config, run *app.App) (*measuring, error) {
	if err := checkTextfile(cfg.Metrics.Textfile); err != nil {
		return nil, err
	}
	m := &measuring{cancel: func() {}}
	var sinks []metrics.Sink
	if path := cfg.Metrics.File; path != "" {
		file, err := openRotated(cfg.Log, "metrics file", path, nil) // the reporter tells of errors
		if err != nil {
			return nil, err
		}
		m.file = file
		sinks = append(sinks, metrics.NDJSON(file, os.Getpid()))
	}
	if path := cfg.Metrics.Textfile; path != "" {
		sinks = append(sinks, metrics.Textfile(path))
	}
	if len(sinks) == 0 {
		return m, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	reporter := metrics.Reporter{
		Metrics: run.Metrics(), Sinks: sinks,
		OnError: func(err error) { c.warn("metrics can't be written: %v", err) },
	}
	m.done.Go(func() { _ = reporter.Run(ctx) })
	return m, nil
}

// stop writes the last metrics. An error of writing them was a warning, and does not fail the run.
func (m *measuring) stop() error {
	m.cancel()
	m.done.Wait()
	if m.file != nil {
		return m.file.Close()
	}
	return nil
}
