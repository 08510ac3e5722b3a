//go:build !linux || !cgo

package syntax

// allocateInC is only known how to be done on Linux; elsewhere parsing takes longer.
func allocateInC() {}
