package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// unitText is a unit for systemd's user manager. It has no settings that would put PATH and library on mounts of their
// own: no hard link leads from one mount to another.
const unitText = `# Puts what arrives in order: anivault watch. As %s:
#   systemctl --user daemon-reload && systemctl --user enable --now anivault-watch
#   loginctl enable-linger        lets it run while you are not logged in
# The key stands in the config file: anivault config init

[Unit]
Description=Put in order what arrives in %s
Documentation=man:anivault-watch(1)

[Service]
%sExecStart=%s
Restart=on-failure
RestartSec=60
RestartPreventExitStatus=2 5
SuccessExitStatus=130 143
TimeoutStopSec=60
Nice=10

NoNewPrivileges=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=default.target
`

func (w *watchRun) unit() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	words := []string{program, "watch", w.path}
	w.cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name == "print-unit" {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			names := slices.Contains(pathFlags, flag.Name) && (flag.Name != "exec" || strings.Contains(v, "/"))
			if abs, err := filepath.Abs(v); err == nil && names {
				v = abs // the service works in another folder
			}
			words = append(words, "--"+flag.Name+"="+v)
		}
	})
	for i := range words {
		words[i] = unitWord(words[i], true)
	}
	environment := ""
	for _, kv := range withoutSecrets(w.f.environ) {
		if strings.HasPrefix(kv, "ANIVAULT_") {
			environment += "Environment=" + unitWord(kv, false) + "\n"
		}
	}
	_, err = fmt.Fprintf(w.f.streams.Out, unitText, "~/.config/systemd/user/anivault-watch.service",
		strings.ReplaceAll(w.path, "%", "%%"), environment, strings.Join(words, " "))
	return err
}

var pathFlags = []string{"to", "to-tv", "to-movies", "exec", "config", "log-file", "metrics-file", "metrics-textfile"}

// unitWord quotes a word for systemd, which replaces variables in a command.
func unitWord(s string, command bool) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "%", "%%").Replace(s)
	if command {
		s = strings.ReplaceAll(s, "$", "$$")
	}
	return `"` + s + `"`
}
