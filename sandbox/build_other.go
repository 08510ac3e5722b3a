//go:build unix && !linux

package sandbox

import (
	"context"
	"fmt"
	"runtime"
)

// Verb is the first argument of a process that is the inside of a wall.
const Verb = "__sandbox"

// Enter does nothing: only Linux has the walls that need it.
func Enter() {}

// Features is empty: there is nothing to look at here.
func Features(context.Context) []Feature { return nil }

// Bounded says that there are no control groups.
func Bounded(context.Context) error { _, err := newGroup(Policy{}); return err }

func (w *Wall) build(context.Context) (*inside, error) {
	return nil, fmt.Errorf("there is no %s on %s", w.level, runtime.GOOS)
}

// Layerable says that no layer can be laid over a directory here.
func Layerable(string) error { return fmt.Errorf("%s has no overlays", runtime.GOOS) }
