package ui

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableControlSequences enables control sequences and reports whether the console has any (since Windows 10 1607).
func enableControlSequences(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
