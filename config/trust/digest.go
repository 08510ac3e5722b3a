package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/dirhash"
	"github.com/plan-engine/plan/internal/plainfile"
)

// mostSize is how large a file that a command names may be, in bytes.
const mostSize = 32 << 20

// SkillFolders are where a repository may keep skills: a folder each, with a
// SKILL.md in it.
func SkillFolders() []string {
	return []string{".plan/skills", ".agents/skills", ".claude/skills"}
}

// HookFolder is where a repository keeps what its hooks run. All of it is part
// of every hook.
const HookFolder = ".plan/hooks"

// Skills lists the skills of the repository at root. A skill that cannot be
// digested has none, and so can never be trusted; Detail says why.
func Skills(root string) ([]Item, error) {
	var out []Item
	for _, folder := range SkillFolders() {
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(folder)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for skills: %w", err)
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name), "SKILL.md")); err != nil {
				continue
			}
			item := Item{Kind: "skill", Path: name}
			if item.Digest, err = Folder(root, name); err != nil {
				item.Detail = "it cannot be trusted: " + err.Error()
			}
			out = append(out, item)
		}
	}
	return out, nil
}

// Folder is the digest of a folder with all that is in it: names, modes and
// contents. Symbolic links, special files, deep and very large folders are
// refused, because what they lead to could change without being noticed.
func Folder(root, name string) (string, error) {
	dir, err := os.OpenRoot(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	defer dir.Close() //nolint:errcheck // only read from
	if info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder of its own", name)
	}
	digest, err := dirhash.Of(dir.FS())
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return digest, nil
}

func content(dir *os.Root, name string) ([]byte, fs.FileMode, error) {
	f, err := plainfile.OpenIn(dir, name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err //nolint:wrapcheck // it names the file
	}
	data, err := io.ReadAll(io.LimitReader(f, mostSize+1))
	if err == nil && len(data) > mostSize {
		err = fmt.Errorf("%s is larger than %d MiB", name, mostSize>>20)
	}
	return data, info.Mode(), err
}

// Text is the digest of a text alone.
func Text(text string) string { return digestOf([]byte("text"), []byte(text)) }

// Command is the digest of a command with the files of the repository that it
// names, with the programs that it runs as [Programs] has them, and with all of
// HookFolder. What those files read or run in turn is
// not part of it.
func Command(root, entry, command string, programs []string) (string, error) {
	parts := [][]byte{[]byte("command"), []byte(entry), []byte(command)}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", fmt.Errorf("read the repository: %w", err)
	}
	defer dir.Close() //nolint:errcheck // only read from
	var visited []string
	for _, name := range fileWords(root, command) {
		info, err := dir.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue // no file of the repository
		}
		data, mode, err := content(dir, name)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		parts = append(parts, []byte(name), []byte(fmt.Sprintf("%o", mode.Perm()&0o111)), data)
		visited = append(visited, name)
	}
	programs = slices.DeleteFunc(slices.Clone(programs), func(name string) bool {
		return slices.Contains(visited, name)
	})
	others, err := Files(root, programs)
	if err != nil {
		return "", err
	}
	if others != "" {
		parts = append(parts, []byte("others"), []byte(others))
	}
	if _, err := dir.Lstat(filepath.FromSlash(HookFolder)); err == nil {
		folder, err := Folder(root, HookFolder)
		if err != nil {
			return "", err
		}
		parts = append(parts, []byte(HookFolder), []byte(folder))
	}
	return digestOf(parts...), nil
}

// Files is the digest of files of the repository, with their names and modes and
// where links lead; "" for none. One that cannot be read is an error.
func Files(root string, names []string) (string, error) {
	if len(names) == 0 {
		return "", nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", fmt.Errorf("read the repository: %w", err)
	}
	defer dir.Close() //nolint:errcheck // only read from
	parts := [][]byte{[]byte("files")}
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		link := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if link, err = dir.Readlink(name); err != nil {
				return "", fmt.Errorf("read %s: %w", name, err)
			}
			if _, err := dir.Stat(name); err != nil { // it leads out of the repository, or nowhere
				parts = append(parts, []byte(name), []byte(link))
				continue
			}
		}
		data, mode, err := content(dir, name)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		parts = append(parts, []byte(name), []byte(link), fmt.Appendf(nil, "%o", mode.Perm()&0o111), data)
	}
	return digestOf(parts...), nil
}

// fileWords are the words of a command that may name files of the repository.
func fileWords(root, command string) []string {
	words := strings.FieldsFunc(
		command,
		func(r rune) bool { return strings.ContainsRune(" \t\n\r\"'`;|&<>(){}$=,:", r) },
	)
	var out []string
	for _, w := range words {
		if filepath.IsAbs(w) {
			rel, err := filepath.Rel(root, w)
			if err != nil {
				continue
			}
			w = rel
		}
		if w = filepath.Clean(w); filepath.IsLocal(w) && w != "." && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
