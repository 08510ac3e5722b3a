package batches

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/batch"
)

// minFreeSpace is how little space is as good as none, in bytes.
const minFreeSpace = 1 << 20

// fullDisks names the disks under a job that have no room left. What fails for
// want of room often does not say so: a check that fails because the edit before
// it could not be written, or git, which names a file that it could not lock.
func (r *runner) fullDisks(try batch.Try) string {
	var places []string
	if paths, err := r.host.Paths(); err == nil {
		places = append(places, filepath.Join(paths.Worktrees, string(try.Run)), paths.Home)
	}
	if !batch.IsURL(try.Repo) {
		places = append(places, try.Repo, filepath.Join(try.Repo, ".git"))
	}
	var out []string
	seen := map[unix.Fsid]bool{}
	for _, place := range places {
		var fs unix.Statfs_t
		if unix.Statfs(place, &fs) != nil || seen[fs.Fsid] {
			continue
		}
		seen[fs.Fsid] = true
		if left := fs.Bavail * uint64(fs.Bsize); left < minFreeSpace {
			out = append(out, fmt.Sprintf("the disk that holds %s is full (%d KiB left)", place, left>>10))
		}
	}
	return strings.Join(out, "; ")
}
