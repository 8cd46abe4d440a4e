//go:build unix

package cli_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// docs/gateway.md: root runs status, accounts, limiter and doctor with the folders of the service. Also the first of
// them leaves nothing there that the service's user could not use.
func TestWhatRootMakesInAServicesFoldersIsTheServices(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files for others")
	}
	const service = 65534
	list := filepath.Join(t.TempDir(), "list.xml")
	if err := os.WriteFile(list, []byte(`<anime-list><anime anidbid="1" tmdbtv="1"><name>A</name></anime></anime-list>`),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"doctor", "status", "accounts list", "accounts test", "limiter tune rate_base=20", "limiter cache-only",
		"cache stats", "search frieren", "serve token list", "serve token new a",
		"pin Show movie/1", "missing --offline --ignore tv/1 .", "index import " + list,
	} {
		t.Run(command, func(t *testing.T) {
			home := t.TempDir()
			if err := os.Chown(home, service, service); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("anivault", strings.Fields(command)...)
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ANIVAULT_TMDB_TOKEN=a-token-of-tests",
				"ANIVAULT_TMDB_BASE_URL=http://127.0.0.1:9", "ANIVAULT_MAX_RETRIES=0",
				"ANIVAULT_STATE_DIR=" + filepath.Join(home, "state"), "ANIVAULT_DATA_DIR=" + filepath.Join(home, "share", "data"),
				"ANIVAULT_CACHE_DIR=" + filepath.Join(home, "cache"), "ANIVAULT_LOG_FILE=" + filepath.Join(home, "log"),
			}
			out, _ := cmd.CombinedOutput() // some fail, for nothing answers at that address
			err := filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := os.Lstat(path)
				if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != service {
					t.Errorf("%s belongs to user %d", strings.TrimPrefix(path, home), s.Uid)
				}
				return err
			})
			if err != nil || t.Failed() {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
