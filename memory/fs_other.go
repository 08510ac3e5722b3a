//go:build !linux

package memory

// filesystem cannot tell here.
func filesystem(string) (name string, network bool, err error) { return "", false, nil }
