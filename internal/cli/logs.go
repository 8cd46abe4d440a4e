package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/logging"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/internal/version"
)

type logs struct {
	handler slog.Handler
	redact  func(string) string // takes keys and tokens out of a text
	warn    func(error)         // nil where stderr gets log lines: they say it already
	file    *logging.File
}

// openLogs writes lines from info up to stderr only when asked to. Otherwise a person sees warnings as plain sentences,
// and the operator of a service as lines. A log file gets info and above at least.
func (f *factory) openLogs(cfg *config.Config, stderr io.Writer, service bool) (*logs, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return nil, err
	}
	format := logging.Format(cfg.Log.Format)
	var secrets []string
	for _, s := range cfg.Secrets() {
		secrets = append(secrets, s.Reveal())
	}
	redactor := logging.NewRedactor(secrets...)
	out := &logs{redact: redactor.String}
	var handlers []slog.Handler
	switch {
	case level < slog.LevelWarn, service:
		options := logging.Options{Level: level, Format: format, Redactor: redactor}
		handlers = append(handlers, logging.NewHandler(stderr, options))
	case level == slog.LevelWarn:
		var noted atomic.Bool
		out.warn = func(err error) {
			note := ownerNote(err)
			if note != "" && noted.Swap(true) {
				note = "" // once is enough
			}
			f.warn("%s%s", redactor.String(lang.Say(lang.TextOf(err))), note)
		}
	}
	if cfg.Log.File != "" {
		file, err := openRotated(cfg.Log, "log file", cfg.Log.File, func(err error) {
			f.warn("the log file can no longer be written: %v", err)
		})
		if err != nil {
			return nil, err
		}
		out.file = file
		handlers = append(handlers, logging.NewHandler(file, logging.Options{
			Level: min(level, slog.LevelInfo), Format: format, Redactor: redactor,
		}))
	}
	out.handler = slog.NewMultiHandler(handlers...)
	// Every log begins with a line, so that one which can't be written is noticed even in a run that has nothing to
	// log.
	slog.New(out.handler).Info("start", slog.String("comp", "anivault"), slog.String("version", version.Get().Version))
	return out, nil
}

func (l *logs) end(s report.Summary, err error) {
	status, event := statusOf(err, true), "end"
	if status == exitInterrupted || status == exitTerminated {
		event = "interrupted"
	}
	slog.New(l.handler).Info(event, slog.String("comp", "anivault"),
		slog.Int("files", s.Files), slog.Int("matched", s.Matched), slog.Int("ambiguous", s.Ambiguous),
		slog.Int("unmatched", s.Unmatched), slog.Int("pending", s.Pending), slog.Int("skipped", s.Skipped),
		slog.Int("errors", s.Errors), slog.Int64("requests", s.Requests),
		slog.Duration("elapsed", time.Duration(s.ElapsedMS)*time.Millisecond), slog.Int("exit", status))
}

func ownerNote(err error) lang.Text {
	file, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(file, fs.ErrPermission) ||
		!belongsToAnother(file.Path) && !belongsToAnother(filepath.Dir(file.Path)) {
		return ""
	}
	return "; it belongs to another user: have them share it with your group, or name folders of your own with " +
		"ANIVAULT_STATE_DIR, ANIVAULT_CACHE_DIR and ANIVAULT_DATA_DIR"
}

func openRotated(bounds config.Log, name, path string, onError func(error)) (*logging.File, error) {
	options := logging.FileOptions{MaxSize: bounds.MaxSize, Keep: bounds.MaxFiles - 1, OnError: onError}
	file, err := logging.OpenFile(path, options)
	if err != nil {
		return nil, &config.Error{Name: name, Value: path, Reason: lang.Textf("cannot be written: %s", errors.Unwrap(err))}
	}
	return file, nil
}

func (l *logs) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

type measuring struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	file   io.Closer
}

func (f *factory) startMetrics(cfg *config.Config, counts *metrics.Metrics) (*measuring, error) {
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
		Metrics: counts, Sinks: sinks,
		OnError: func(err error) { f.warn("metrics can't be written: %v", err) },
	}
	m.done.Go(func() { _ = reporter.Run(ctx) })
	return m, nil
}

// stop writes the last metrics. If they can't be written, that was a warning, and does not fail the run.
func (m *measuring) stop() error {
	m.cancel()
	m.done.Wait()
	if m.file != nil {
		return m.file.Close()
	}
	return nil
}

// checkWritable refuses, before any work, a path at which no file could be written afterwards. example is a file name
// for the hint.
func checkWritable(flag, path, example string) error {
	switch reason, hint := whyNotWritable(path, example); {
	case path == "", reason == "":
		return nil
	case path == "-":
		return usagef(hint, "flag %s: %s", flag, reason)
	default:
		return usagef(hint, "flag %s: %s %s", flag, ui.Printable(path), reason)
	}
}

func checkTextfile(path string) error {
	if path == "" {
		return nil
	}
	if reason, hint := whyNotWritable(path, "anivault.prom"); reason != "" {
		return &config.Error{Name: "metrics textfile", Value: path, Reason: lang.Textf("%s; %s", reason, hint)}
	}
	return nil
}

func whyNotWritable(path, example string) (reason, hint lang.Text) {
	if path == "-" {
		return "stdout carries the results", lang.Textf("name a file, such as %s", example)
	}
	target := path
	if behind, err := filepath.EvalSymlinks(path); err == nil { // the file behind a link is replaced, not the link
		target = behind
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return "is a folder", lang.Textf("name a file in it, such as %s", ui.Printable(filepath.Join(path, example)))
	case err == nil && !info.Mode().IsRegular(): // a device or a pipe is written through
		return "", ""
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return cannotWrite, hintWritable
	}
	probe, err := os.CreateTemp(filepath.Dir(target), ".anivault-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return cannotWrite, hintWritable
	}
	return "", ""
}

const (
	cannotWrite  = "cannot be written"
	hintWritable = "name a file in a folder that you can write to"
)
