//go:build !linux

package watch

func isOpenForWriting(string) bool { return false }
