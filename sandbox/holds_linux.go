package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/internal/scratch"
)

// layerSystems are file systems that hold what a layer takes.
var layerSystems = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC,
}

// HoldsLayers reports whether a folder can hold layers that take writes: not all file
// systems keep the marks that the kernel makes in them.
func HoldsLayers(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || !slices.Contains(layerSystems, st.Type) {
		return false
	}
	probe, err := scratch.New(dir, scratch.Probe)
	if err != nil {
		return false
	}
	defer func() { _ = probe.Close() }()
	return makeOpaque(probe.Dir) == nil
}
