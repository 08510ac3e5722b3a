package trust

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// namedFile is a file of the tree, and the word that names it.
type namedFile struct{ path, word string }

// named lists the files of the tree that words of a command may name: from the root,
// from a folder that another word names, or from one that is only known when it runs.
func named(dir *os.Root, root, command string) []namedFile {
	files := meanings(splitWords(root, command))
	folders := namedFolders(dir, files)
	var out []namedFile
	for _, in := range folders {
		for _, m := range files {
			for _, name := range matches(dir, path.Join(in, m.path)) {
				out = append(out, namedFile{path: name, word: m.word})
			}
		}
	}
	if strings.Contains(command, "go run") {
		out = append(out, packages(dir, folders[1:])...)
	}
	return out
}

// meanings are the paths that words may mean.
func meanings(words []string) []namedFile {
	var out []namedFile
	add := func(name, word string) { out = append(out, namedFile{path: name, word: word}) }
	for _, w := range words {
		add(w, w)
		for rest := w; strings.Contains(rest, "/"); { // behind $PWD, ~ and the like
			_, rest, _ = strings.Cut(rest, "/")
			add(rest, w)
		}
		if !strings.Contains(w, "/") { // python -m
			module := strings.ReplaceAll(w, ".", "/")
			add(module+".py", w)
			add(module+"/__main__.py", w)
			for i, part := 0, strings.Split(module, "/"); i < len(part); i++ {
				add(path.Join(path.Join(part[:i+1]...), "__init__.py"), w)
			}
		}
	}
	return out
}

// namedFolders are the root and the folders that are named, also from one another.
func namedFolders(dir *os.Root, files []namedFile) []string {
	folders := []string{"."}
	for range 2 { // cd a; cd b
		for _, in := range slices.Clone(folders) {
			for _, m := range files {
				name := path.Join(in, m.path)
				if info, err := dir.Stat(name); err == nil && info.IsDir() && !slices.Contains(folders, name) {
					folders = append(folders, name)
				}
			}
		}
	}
	return folders
}

// splitWords are the words of a command, as paths from the root.
func splitWords(root, command string) []string {
	const between = " \t\n\r\"'`;|&<>(){}$=,:\\"
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(between, r) })
	for i, w := range words {
		if rel, err := filepath.Rel(root, w); filepath.IsAbs(w) && err == nil && filepath.IsLocal(rel) {
			w = rel
		}
		words[i] = cleanWord(w)
	}
	return words
}

// matches are the files that a path or a pattern names.
func matches(dir *os.Root, name string) []string {
	names := []string{name}
	if strings.ContainsAny(name, "*?[") {
		names, _ = doublestar.Glob(dir.FS(), name, doublestar.WithFilesOnly()) // none, if it is no pattern
	}
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := dir.Lstat(name)
		return err != nil || info.IsDir()
	})
}

// packages are the files of the folders that go run compiles.
func packages(dir *os.Root, folders []string) []namedFile {
	var out []namedFile
	for _, in := range folders {
		entries, err := fs.ReadDir(dir.FS(), in)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !e.IsDir() {
				out = append(out, namedFile{path: path.Join(in, e.Name()), word: in})
			}
		}
	}
	return out
}

// cleanWord is a word as a path from the root.
func cleanWord(w string) string {
	w = path.Clean(filepath.ToSlash(w))
	for {
		cut, ok := strings.CutPrefix(strings.TrimPrefix(w, "/"), "../")
		if w = cut; !ok {
			return path.Clean(w)
		}
	}
}
