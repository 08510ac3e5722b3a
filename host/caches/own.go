package caches

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan/internal/scratch"
)

const (
	ownPrefix = "run-"
	ownLock   = ".lock"
)

// ownFolder is a folder that one process uses, and removes. What a killed one left
// is removed by the next.
type ownFolder struct {
	dir  string
	lock *flock.Flock
}

func newOwnFolder(in string) (*ownFolder, error) {
	if err := os.MkdirAll(in, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for build caches: %w", err)
	}
	sweep(in)
	dir, err := os.MkdirTemp(in, ownPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for build caches: %w", err)
	}
	// A process that sweeps looks for the lock's file, which must be locked by then.
	name := filepath.Join(dir, ownLock)
	lock := flock.New(name + ".new")
	if _, err = lock.TryLock(); err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock a folder for build caches: %w", errors.Join(err, lock.Close(), scratch.Remove(dir)))
	}
	return &ownFolder{dir: dir, lock: lock}, nil
}

func (o *ownFolder) remove() error { return errors.Join(scratch.Remove(o.dir), o.lock.Close()) }

// sweep removes folders whose process has died: the kernel has freed their locks.
func sweep(in string) {
	dirs, err := filepath.Glob(filepath.Join(in, ownPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, ownLock)); err != nil {
			continue // it is being made
		}
		lock := flock.New(filepath.Join(dir, ownLock), flock.SetFlag(os.O_RDWR))
		if free, err := lock.TryLock(); err == nil && free {
			_ = scratch.Remove(dir) // else the next time
		}
		_ = lock.Close()
	}
}
