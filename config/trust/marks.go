package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Marks are what the file system says of files of the repository that changes with
// every change of them, even one that is taken back: which file it is, and when it was
// last changed. Times of changes cannot be set.
func Marks(root string, names []string) string {
	var b strings.Builder
	for _, name := range names {
		at := filepath.Join(root, filepath.FromSlash(name))
		for _, look := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
			info, err := look(at)
			if err != nil {
				fmt.Fprintf(&b, "%s is not there\n", name)
				continue
			}
			fmt.Fprintf(&b, "%s %s %d %s\n", name, info.ModTime(), info.Size(), mark(info))
		}
	}
	return b.String()
}
