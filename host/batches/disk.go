package batches

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/batch"
)

// minFreeSpace is how little space is as good as none, in bytes.
const minFreeSpace = 1 << 20

// fullDisk is a disk that has no room left.
type fullDisk struct {
	place string // what it holds
	left  uint64 // in bytes
	home  bool   // it holds what is kept of all jobs
}

// fullDisks are the disks under a job that have no room left. What fails for
// want of room often does not say so: a check that fails because the edit before
// it could not be written, or git, which names a file that it could not lock.
func (r *runner) fullDisks(try batch.Try) fullDisks {
	var out fullDisks
	seen := map[unix.Fsid]bool{}
	look := func(place string, home bool) {
		var fs unix.Statfs_t
		if unix.Statfs(place, &fs) != nil || seen[fs.Fsid] {
			return
		}
		seen[fs.Fsid] = true
		if left := fs.Bavail * uint64(fs.Bsize); left < minFreeSpace {
			out = append(out, fullDisk{place, left, home})
		}
	}
	if paths, err := r.host.Paths(); err == nil {
		look(paths.Home, true)
		look(filepath.Join(paths.Worktrees, string(try.Run)), false)
	}
	if !batch.IsURL(try.Repo) {
		look(try.Repo, false)
		look(filepath.Join(try.Repo, ".git"), false)
	}
	return out
}

type fullDisks []fullDisk

// home reports whether the disk is among them that holds what is kept of all jobs.
func (f fullDisks) home() bool {
	return slices.ContainsFunc(f, func(d fullDisk) bool { return d.home })
}

// String says it in one line.
func (f fullDisks) String() string {
	var disks []string
	for _, d := range f {
		disks = append(disks, fmt.Sprintf("the disk that holds %s is full (%d KiB left)", d.place, d.left>>10))
	}
	return strings.Join(disks, "; ")
}
