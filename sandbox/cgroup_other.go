//go:build unix && !linux

package sandbox

import (
	"errors"
	"runtime"
)

// group is a control group, which only Linux has: a nil one bounds nothing.
type group struct{}

type limitHits struct{}

func newGroup(Policy) (*group, error) {
	return nil, errors.New(runtime.GOOS + " has no control groups")
}

func (*group) kill()                      {}
func (*group) remove() error              { return nil }
func (*group) readHits() limitHits        { return limitHits{} }
func (*group) hitsSince(limitHits) string { return "" }
func sweepGroups()                        {}
