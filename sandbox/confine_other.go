//go:build unix && !linux

package sandbox

import (
	"fmt"
	"runtime"
)

// Confinable says that programs cannot be held to what they are granted here.
func Confinable() error { return fmt.Errorf("%s has no Landlock", runtime.GOOS) }

func confinedDevices() []string { return nil }

func confined([]string, []string, func() error) error { return Confinable() }
