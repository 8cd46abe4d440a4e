//go:build !linux

package watch

func isWritten(string) bool { return false }
