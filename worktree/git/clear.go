package git

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/subpath"
)

// PathOutside is a PATH without what lies in a tree, and without what lies
// wherever one stands. Tree may be "". Each of avoid reports whether an absolute path
// leads into a further tree; one that is nil says no.
func PathOutside(path, tree string, avoid ...func(path string) bool) string {
	return pathOutside(path, func(dir string) bool { return tree != "" && Inside(dir, tree) || anyOf(avoid, dir) })
}

// anyOf reports whether one of the functions says so of a path.
func anyOf(say []func(path string) bool, path string) bool {
	return slices.ContainsFunc(say, func(says func(string) bool) bool { return says != nil && says(path) })
}

func pathOutside(path string, leadsIn func(path string) bool) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		return !filepath.IsAbs(dir) || leadsIn(dir)
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// Clear is an environment (NAME=value) for programs that are to run nothing of a tree: the
// PATH is as [PathOutside] has it, and every other variable that leads into the tree is left
// out, since there is no telling which of them name programs, or what programs load. Tree
// may be "". Avoid is as for [PathOutside].
func Clear(environ []string, tree string, avoid ...func(path string) bool) []string {
	dirs := []string{tree, resolved(tree)}
	leadsIn := func(path string) bool {
		if tree != "" && slices.ContainsFunc([]string{path, resolved(path)}, func(path string) bool {
			return slices.ContainsFunc(dirs, func(dir string) bool { return subpath.Within(dir, path) })
		}) {
			return true
		}
		return anyOf(avoid, path)
	}
	var out []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "PATH":
			entry = name + "=" + pathOutside(value, leadsIn)
		case !isPlace(name) && slices.ContainsFunc(pathsOf(value, tree), leadsIn):
			continue
		}
		out = append(out, entry)
	}
	return out
}

// isPlace reports whether a variable of that name says where one stands or where data is
// kept. Git's settings are judged one by one, wherever they lie.
func isPlace(name string) bool {
	return slices.Contains(placeNames, name) ||
		strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "GIT_CONFIG_")
}

var placeNames = []string{
	"HOME", "PWD", "OLDPWD", "TMPDIR", "PLAN_HOME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GIT_CEILING_DIRECTORIES",
}

// pathsOf are the paths that a value of a variable may name: a list of them, a command, or
// an option with one behind it. Those that depend on where one stands are taken to be in
// the tree if something is there.
func pathsOf(value, tree string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(value, func(r rune) bool {
		return strings.ContainsRune(" \t\n'\"`|&;()<>=,:", r)
	}) {
		at := strings.IndexByte(word, '/')
		if at < 0 {
			continue
		}
		out = append(out, filepath.Clean(word[at:]))
		if beside := filepath.Join(tree, word); at > 0 && tree != "" && isThere(beside) {
			out = append(out, beside)
		}
	}
	return out
}
