package docs_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The flake builds with the modules that go.sum has. If this fails, put the hash that it prints into flake.nix.
func TestFlakeHasTheHashOfTheModules(t *testing.T) {
	vendor := filepath.Join(t.TempDir(), "vendor")
	cmd := exec.Command("go", "mod", "vendor", "-o", vendor)
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("the modules can't be had: %v\n%s", err, out)
	}
	hash := sha256.New()
	writeNAR(t, hash, "nix-archive-1")
	writeNARNode(t, hash, vendor)
	want := `vendorHash = "sha256-` + base64.StdEncoding.EncodeToString(hash.Sum(nil)) + `";`
	if !strings.Contains(read(t, "../flake.nix"), want) {
		t.Errorf("flake.nix lacks %s", want)
	}
}

// writeNARNode writes a file or folder as a Nix Archive: <https://nixos.org/manual/nix/stable/protocols/nix-archive>.
func writeNARNode(t *testing.T, w io.Writer, path string) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	writeNAR(t, w, "(", "type")
	switch {
	case info.IsDir():
		writeNAR(t, w, "directory")
		entries, err := os.ReadDir(path) // sorted by name, as the format wants them
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			writeNAR(t, w, "entry", "(", "name", e.Name(), "node")
			writeNARNode(t, w, filepath.Join(path, e.Name()))
			writeNAR(t, w, ")")
		}
	case info.Mode().IsRegular():
		writeNAR(t, w, "regular")
		if info.Mode()&0o100 != 0 {
			writeNAR(t, w, "executable", "")
		}
		writeNAR(t, w, "contents", read(t, path))
	default:
		t.Fatalf("%s is neither a file nor a folder", path)
	}
	writeNAR(t, w, ")")
}

// writeNAR writes strings as the format has them: the length, the bytes, zeros up to a multiple of eight.
func writeNAR(t *testing.T, w io.Writer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		frame := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
		frame = append(frame, text...)
		frame = append(frame, make([]byte, -len(text)&7)...)
		if _, err := w.Write(frame); err != nil {
			t.Fatal(err)
		}
	}
}
