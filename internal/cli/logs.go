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
	redact  func(string) string // removes keys and tokens from a text
	warn    func(error)         // nil if stderr gets log lines, which include warnings
	file    *logging.File       // nil: there is none
}

// openLogs opens the log on stderr and in the log file. Without -v, a command prints only warnings, as plain sentences;
// a service prints them as log lines. A log file gets at least info and above.
func (f *factory) openLogs(cfg *config.Config, stderr io.Writer, service bool) (*logs, error) {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Log.Level)) // config allows only levels
	format := logging.Format(cfg.Log.Format)
	redactor := logging.NewRedactor(mapped(cfg.Secrets(), config.Secret.Reveal)...)
	out := &logs{redact: redactor.String}
	var handlers []slog.Handler
	switch {
	case level < slog.LevelWarn, service:
		options := logging.Options{Level: level, Format: format, Redactor: redactor}
		handlers = append(handlers, logging.NewHandler(stderr, options))
	case level == slog.LevelWarn:
		var hinted atomic.Bool
		out.warn = func(err error) {
			note := otherOwnerNote(err)
			if note != "" && hinted.Swap(true) {
				note = ""
			}
			f.warn("%s%s", redactor.String(lang.Say(lang.TextOf(err))), note)
		}
	}
	if cfg.Log.File != "" {
		file, err := openRotatingFile(cfg.Log, "log file", cfg.Log.File, func(err error) {
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
	// This line also detects a log that can't be written, even if the run logs nothing else.
	slog.New(out.handler).Info("start", slog.String("comp", "anivault"), slog.String("version", version.Get().Version))
	return out, nil
}

// end logs the end of the run and closes the log file. It adds the error of closing to that of the run.
func (l *logs) end(s *report.Summary, err *error) {
	status, event := exitStatusOf(*err, true), "end"
	if status == exitInterrupted || status == exitTerminated {
		event = "interrupted"
	}
	slog.New(l.handler).Info(event, slog.String("comp", "anivault"),
		slog.Int("files", s.Files), slog.Int("matched", s.Matched), slog.Int("ambiguous", s.Ambiguous),
		slog.Int("unmatched", s.Unmatched), slog.Int("pending", s.Pending), slog.Int("skipped", s.Skipped),
		slog.Int("errors", s.Errors), slog.Int64("requests", s.Requests),
		slog.Duration("elapsed", time.Duration(s.ElapsedMS)*time.Millisecond), slog.Int("exit", status))
	*err = errors.Join(*err, l.file.Close())
}

func otherOwnerNote(err error) lang.Text {
	file, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(file, fs.ErrPermission) ||
		!isOwnedByOther(file.Path) && !isOwnedByOther(filepath.Dir(file.Path)) {
		return ""
	}
	return "; it belongs to another user: have them share it with your group, or name folders of your own with " +
		"ANIVAULT_STATE_DIR, ANIVAULT_CACHE_DIR and ANIVAULT_DATA_DIR"
}

func openRotatingFile(limits config.Log, name, path string, onError func(error)) (*logging.File, error) {
	options := logging.FileOptions{MaxSize: limits.MaxSize, Keep: limits.MaxFiles - 1, OnError: onError}
	file, err := logging.OpenFile(path, options)
	if err != nil {
		return nil, &config.Error{Name: name, Value: path, Reason: lang.Textf("cannot be written: %s", err)}
	}
	return file, nil
}

// startMetrics writes metrics until stop is called, which writes the last ones. Errors of writing are only warnings.
func (f *factory) startMetrics(cfg *config.Config, counts *metrics.Metrics) (stop func() error, err error) {
	if err := checkOutput("metrics textfile", cfg.Metrics.Textfile); err != nil {
		return nil, err
	}
	var file *logging.File
	var sinks []metrics.Sink
	if path := cfg.Metrics.File; path != "" {
		file, err = openRotatingFile(cfg.Log, "metrics file", path, nil) // metrics.Report handles errors
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, metrics.NDJSON(file, os.Getpid()))
	}
	if path := cfg.Metrics.Textfile; path != "" {
		sinks = append(sinks, metrics.Textfile(path))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var reporting sync.WaitGroup
	if len(sinks) > 0 {
		onError := func(err error) { f.warn("metrics can't be written: %v", err) }
		reporting.Go(func() { metrics.Report(ctx, counts, sinks, onError) })
	}
	return func() error {
		cancel()
		reporting.Wait()
		return file.Close()
	}, nil
}

// checkWritable returns an error if no file could be written at path, so that a command fails before any work. example
// is a file name for the hint.
func checkWritable(flag, path, example string) error {
	switch reason, hint := unwritableReason(path, example); {
	case reason == "":
		return nil
	case path == "-":
		return usagef(hint, "%s: %s", flag, reason)
	default:
		return usagef(hint, "%s: %s %s", flag, ui.Printable(path), reason)
	}
}

// checkOutput is checkWritable for the path of a setting.
func checkOutput(name, path string) error {
	if reason, hint := unwritableReason(path, "anivault.prom"); reason != "" {
		return &config.Error{Name: name, Value: path, Reason: lang.Textf("%s; %s", reason, hint)}
	}
	return nil
}

func unwritableReason(path, example string) (reason, hint lang.Text) {
	switch path {
	case "":
		return "", ""
	case "-":
		return "stdout carries the results", lang.Textf("name a file, such as %s", example)
	}
	target := path
	if resolved, err := filepath.EvalSymlinks(path); err == nil { // writing replaces the target of a link, not the link
		target = resolved
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return "is a folder", lang.Textf("give a file in it, such as %s", ui.Printable(filepath.Join(path, example)))
	case err == nil && !info.Mode().IsRegular(): // a device or a pipe
		return "", ""
	case err == nil, errors.Is(err, fs.ErrNotExist):
		err = probeFolder(filepath.Dir(target))
	}
	if err != nil {
		return "cannot be written", "name a file in a folder that you can write to"
	}
	return "", ""
}

// probeFolder writes a file in a folder and removes it.
func probeFolder(dir string) error {
	f, err := os.CreateTemp(dir, ".anivault-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("anivault")
	return errors.Join(err, f.Close())
}
