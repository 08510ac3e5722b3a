//go:build unix && !linux

package sandbox

import (
	"errors"
	"runtime"
)

// group is a control group, which only Linux has: a nil one bounds nothing.
type group struct{}

type strain struct{}

func newGroup(Policy) (*group, error) {
	return nil, errors.New(runtime.GOOS + " has no control groups")
}

func (*group) kill()               {}
func (*group) remove() error       { return nil }
func (*group) strain() strain      { return strain{} }
func (*group) since(strain) string { return "" }
func sweepGroups()                 {}
