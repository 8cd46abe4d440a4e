package config

import (
	"os"
	"path/filepath"
	"runtime"
)

// Where files live when nobody says otherwise: the XDG base directories on Unix (also on macOS, where
// people who use a terminal expect ~/.config), %AppData% and %LocalAppData% on Windows.

const appName = "anivault"

type dirKind int

const (
	configDir dirKind = iota
	stateDir
	cacheDir
	dataDir
)

// xdg holds, for each kind, the variable that moves it and its place below the home folder.
var xdg = map[dirKind]struct{ env, below string }{
	configDir: {"XDG_CONFIG_HOME", ".config"},
	stateDir:  {"XDG_STATE_HOME", ".local/state"},
	cacheDir:  {"XDG_CACHE_HOME", ".cache"},
	dataDir:   {"XDG_DATA_HOME", ".local/share"},
}

var errNoHome = &Error{
	Name: "HOME",
	Reason: "it is not set, and files live below it; set it, or ANIVAULT_STATE_DIR, ANIVAULT_CACHE_DIR and " +
		"ANIVAULT_DATA_DIR",
}

// defaultDir returns the folder of that kind for an environment.
func defaultDir(kind dirKind, env map[string]string) (string, error) {
	if runtime.GOOS == "windows" {
		name := "LocalAppData"
		if kind == configDir {
			name = "AppData"
		}
		base := env[name]
		if base == "" {
			return "", &Error{Name: "%" + name + "%", Reason: "it is not set, and files live below it"}
		}
		sub := map[dirKind]string{configDir: "", stateDir: "state", cacheDir: "cache", dataDir: "data"}[kind]
		return filepath.Join(base, appName, sub), nil
	}
	x := xdg[kind]
	if base := env[x.env]; filepath.IsAbs(base) { // the XDG specification: relative paths are ignored
		return filepath.Join(base, appName), nil
	}
	home := env["HOME"]
	if home == "" {
		return "", errNoHome
	}
	return filepath.Join(home, filepath.FromSlash(x.below), appName), nil
}

// readableByOthers reports whether the file's mode lets the group or others read it.
func readableByOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}
