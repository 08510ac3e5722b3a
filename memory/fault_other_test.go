//go:build !linux

package memory_test

// faults need Linux's mount tables and limits.
var faults = map[string]func(string) error{}
