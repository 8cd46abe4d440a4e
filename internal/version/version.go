// Package version says which build of anivault this is.
package version

import (
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
)

// Set by the linker in releases: -ldflags "-X .../internal/version.number=1.2.3 ...".
var (
	number = ""
	commit = ""
	date   = ""
)

// Info describes the running build. Unknown values are "unknown", and Version is "dev" without a release number.
type Info struct {
	Version string `json:"version" doc:"the release, or dev"`
	Commit  string `json:"commit" doc:"the commit it was built from"`
	Date    string `json:"date" doc:"the date of that commit"`
	Go      string `json:"go" doc:"the Go toolchain's version"`
}

// Get returns the values that the linker set, or else those that the Go toolchain recorded.
func Get() Info {
	info := Info{Version: number, Commit: commit, Date: date, Go: "unknown"}
	if build, ok := debug.ReadBuildInfo(); ok {
		info.Go = build.GoVersion
		if v := build.Main.Version; info.Version == "" && v != "" && v != "(devel)" {
			info.Version = v
		}
		for _, s := range build.Settings {
			switch {
			case s.Key == "vcs.revision" && info.Commit == "":
				info.Commit = s.Value
			case s.Key == "vcs.time" && info.Date == "":
				info.Date = s.Value
			}
		}
	}
	info.Version = cmp.Or(info.Version, "dev")
	info.Commit, info.Date = cmp.Or(info.Commit, "unknown"), cmp.Or(info.Date, "unknown")
	return info
}

// Build returns a text that identifies this build: version and commit of a release, or else version, size and
// modification time of the executable. Results of another build are not reused.
func Build() string {
	info := Get()
	if info.Version != "dev" {
		return info.Version + " " + info.Commit
	}
	path, err := os.Executable()
	if err != nil {
		return info.Version
	}
	stat, err := os.Stat(path)
	if err != nil {
		return info.Version
	}
	return fmt.Sprintf("%s %d %d", info.Version, stat.Size(), stat.ModTime().UnixNano())
}

// UserAgent returns the User-Agent header of requests to TMDB.
func UserAgent() string {
	return "anivault/" + Get().Version + " (+https://github.com/anivault/anivault)"
}
