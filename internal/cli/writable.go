package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// checkWritable refuses, before any work, a flag's path at which no file could be written afterwards. example is a file
// name for the hint.
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

// checkTextfile is checkWritable for the metrics, which a flag, a variable or the config file may name.
func checkTextfile(path string) error {
	if path == "" {
		return nil
	}
	if reason, hint := whyNotWritable(path, "anivault.prom"); reason != "" {
		return &config.Error{Name: "metrics textfile", Value: path, Reason: lang.Textf("%s; %s", reason, hint)}
	}
	return nil
}

// whyNotWritable returns why no file can be written at path, and what to do; "" where one can.
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
