package library

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Some file systems do not say in a folder what its entries are.
func TestAnEntryOfUnknownKindIsAskedAbout(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var h handle
	if err := h.read(dir, func([]byte, bool, bool, known) {}); err != nil {
		t.Fatal(err)
	}
	defer h.close()
	var b []byte
	for _, name := range []string{".", "folder", "file", "link", "gone meanwhile"} {
		one := make([]byte, (19+len(name)+8)/8*8)
		binary.NativeEndian.PutUint64(one, 1)
		binary.NativeEndian.PutUint16(one[16:], uint16(len(one))) //nolint:gosec // a name is short
		copy(one[19:], name)
		b = append(b, one...)
	}
	type told struct {
		Name        string
		IsDir, Link bool
	}
	var got []told
	h.entries(b, func(name []byte, isDir, link bool, _ known) { got = append(got, told{string(name), isDir, link}) })
	want := []told{{"folder", true, false}, {"file", false, false}, {"link", false, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	h.entries(b[:30], func(name []byte, _, _ bool, _ known) {
		if string(name) != "." {
			t.Errorf("half an entry is taken for %q", name)
		}
	})
}
