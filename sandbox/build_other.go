//go:build unix && !linux

package sandbox

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

// Verb is the first argument of a process that is the inside of a wall.
const Verb = "__sandbox"

// Enter turns this process into what stands between a tool and its cache, if it
// was started to be that. It must be the first thing that main does.
func Enter() {
	if len(os.Args) < 4 || os.Args[1] != Verb || os.Args[2] != roleCache {
		return
	}
	if err := newGoCache(os.Args[3:]).serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// systemLevels are the levels that this system has.
func systemLevels() []Level {
	if runtime.GOOS == "darwin" {
		return []Level{LevelSeatbelt}
	}
	return nil
}

// Features looks at what there is for walls.
func Features(context.Context) []Feature {
	f := Feature{Name: "sandbox-exec", Detail: "not there"}
	if _, err := os.Stat(seatbeltPath); err == nil {
		f.OK, f.Detail = true, seatbeltPath
	}
	return []Feature{f}
}

// Bounded says that there are no control groups.
func Bounded(context.Context) error { _, err := newGroup(Policy{}); return err }

func (w *Wall) build(context.Context) (*inside, error) {
	return nil, fmt.Errorf("there is no %s on %s", w.level, runtime.GOOS)
}

// Layerable says that no layer can be laid over a directory here.
func Layerable(string) error { return fmt.Errorf("%s has no overlays", runtime.GOOS) }

// HoldsLayers reports that no folder holds layers here.
func HoldsLayers(string) bool { return false }
