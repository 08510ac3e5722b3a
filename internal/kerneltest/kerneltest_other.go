//go:build !linux

package kerneltest

import "testing"

func namespaces(testing.TB) bool { return false }

func landlock() bool { return false }
