//go:build !unix

package signals

// Suspend does nothing: here no signal stops a process.
func Suspend(func(stop func())) {}
