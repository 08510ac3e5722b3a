//go:build !linux

package git

// noFileOf is nil: nothing here says what another process waits for.
func noFileOf(int) *NoFileError { return nil }
