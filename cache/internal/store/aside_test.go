package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnOlderFormatIsReplacedAndItsFilesRemoved(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cache-v1.db": "older", "cache-v1.walked": "older", "cache-v2.db.corrupt-20260101T000000Z": "damaged",
		"cache-v2.db": "older", "cache-v3.db": "of this version", "cache-v4.db": "of a newer version",
		"cache-v0x.db":                 "of a person",
		"journals/v1-abc-00000001.log": "older",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, []byte(text))
	}
	removeOldFormats(dir, 3)
	var left []string
	for _, name := range listFolder(dir) {
		if strings.HasPrefix(name, "cache-") || name == "journals" {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	if diff := cmp.Diff([]string{"cache-v0x.db", "cache-v3.db", "cache-v4.db"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsAreOneLine(t *testing.T) {
	kinds := []WarningKind{WarnMemory, WarnReadOnly, WarnWrite, WarnCorrupt, WarnLocked, WarnRecord, WarnShared, ""}
	for _, k := range kinds {
		w := Warning{Kind: k, Path: "/dir", Err: errDown}
		if text := w.Error(); strings.Contains(text, "\n") || !strings.Contains(text, "/dir") || !errors.Is(w, errDown) {
			t.Errorf("%v: %q", k, text)
		}
	}
}
