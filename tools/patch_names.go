package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// patchPaths are the files that a patch names, in either of its forms, for
// rules to judge: those that the tool would change, and beside them whatever
// looks like a name in any line. One more that is judged does no harm.
func patchPaths(dir, patch string) []string {
	out := patchFiles(patch)
	for line := range strings.Lines(patch) {
		for _, prefix := range []string{
			"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:",
			"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ",
		} {
			name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), prefix)
			if !ok {
				continue
			}
			for _, n := range patchNames(dir, name) {
				if !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// patchNames are the files that a name in a patch may stand for. The tool takes
// a/ and b/ for git's prefixes; where dir has such a folder, they may be meant.
func patchNames(dir, name string) []string {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\t")
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	if name == "" || name == devNull {
		return nil
	}
	for _, prefix := range []string{"a", "b"} {
		rest, ok := strings.CutPrefix(name, prefix+"/")
		if !ok {
			continue
		}
		if dir == "" {
			return []string{rest}
		}
		if _, err := os.Lstat(filepath.Join(dir, prefix)); err == nil {
			return []string{rest, name}
		}
		return []string{rest}
	}
	return []string{name}
}

// patchTitle names the files of a patch for people: those that the tool would
// change, or whatever is named where the patch cannot be read.
func patchTitle(patch string) string {
	files := patchFiles(patch)
	if len(files) == 0 {
		files = patchPaths("", patch)
	}
	return strings.Join(files, " ")
}

// patchFiles are the files that the tool would change, none where the patch
// cannot be read.
func patchFiles(patch string) []string {
	changes, err := parsePatch(patch)
	if err != nil {
		return nil
	}
	var files []string
	for _, c := range changes {
		for _, name := range []string{c.path, c.to} {
			if name != "" && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return files
}
