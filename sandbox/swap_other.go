//go:build unix && !linux

package sandbox

import "context"

// swapped runs nothing: there are no mounts of a process's own.
type swapped struct{ direct }

// spawn implements spawner.
func (swapped) spawn(context.Context, task, *watch) (ending, error) { return ending{}, ErrNoSwap }

func newSwapped([]Swap) spawner { return swapped{} }
