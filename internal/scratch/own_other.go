//go:build !unix

package scratch

// own reports whether a folder is this user's. Elsewhere the temporary folder is.
func own(string) bool { return true }
