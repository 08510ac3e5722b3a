package caches

import (
	"fmt"
	"os"

	"github.com/plan-engine/plan/internal/scratch"
)

// newFolder makes a folder that this process removes. What a killed one left is
// removed first.
func newFolder(in string) (*scratch.Folder, error) {
	if err := os.MkdirAll(in, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for build caches: %w", err)
	}
	scratch.Sweep(in, scratch.Layer, scratch.Probe)
	return scratch.New(in, scratch.Layer)
}
