package ui

import (
	"os"

	"golang.org/x/sys/windows"
)

// sequences turns a console's control sequences on. Consoles before Windows 10 1607 have none.
func sequences(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
