//go:build !linux

package library

import "os"

func (it *item) statIn(*os.File) { it.note(it.entry.Info()) }
