//go:build !unix

package cli

// belongsToAnother is not known here: a file's owner is no part of what os.Stat returns.
func belongsToAnother(string) bool { return false }
