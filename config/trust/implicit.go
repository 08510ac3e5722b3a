package trust

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/subpath"
)

// controls are the files that decide what a program does without being named to it, of
// those that are not called like the program: patterns for names in the folder where
// it runs.
var controls = map[string][]string{
	"ant":     {"build.xml"},
	"bazel":   {"BUILD*", "MODULE.bazel", "WORKSPACE*", ".bazelrc"},
	"bun":     nodeControls,
	"bunx":    nodeControls,
	"bundle":  {"Gemfile*"},
	"cargo":   {"Cargo.toml", "build.rs", ".cargo"},
	"cmake":   {"CMake*"},
	"deno":    nodeControls,
	"dotnet":  {"*.csproj", "*.sln", "*.props", "*.targets"},
	"gmake":   {"GNUmakefile", "makefile", "Makefile"},
	"go":      {"go.mod", "go.work"},
	"gradle":  {"*.gradle", "*.gradle.kts"},
	"gradlew": {"*.gradle", "*.gradle.kts"},
	"make":    {"GNUmakefile"},
	"meson":   {"meson*"},
	"mvn":     {"pom.xml", ".mvn"},
	"mvnw":    {"pom.xml", ".mvn"},
	"ninja":   {"build.ninja"},
	"node":    nodeControls,
	"npm":     nodeControls,
	"npx":     nodeControls,
	"pnpm":    nodeControls,
	"pytest":  {"conftest.py", "pyproject.toml", "setup.cfg", "tox.ini"},
	"sbt":     {"*.sbt"},
	"tox":     {"pyproject.toml", "setup.cfg"},
	"yarn":    nodeControls,
}

var nodeControls = []string{"package.json", ".npmrc", ".yarnrc*", ".pnpmfile.cjs"}

// implicit lists the files of the tree that decide what a command does and that its
// words do not name: a Makefile, a package.json, the settings of a linter that may be
// a program themselves, what a name without its ending or a folder stands for.
func implicit(dir *os.Root, root, command string, line commandLine) []string {
	files := meanings(splitWords(root, command))
	folders := namedFolders(dir, files)
	var out []string
	for _, in := range folders {
		entries, err := fs.ReadDir(dir.FS(), in)
		if err != nil {
			continue
		}
		for _, e := range entries {
			controls := func(word string) bool { return controlsIt(word, e.Name(), e.IsDir()) }
			if slices.ContainsFunc(line.words, controls) {
				out = append(out, below(dir, path.Join(in, e.Name()))...)
			}
		}
		for _, m := range files {
			out = append(out, standsFor(dir, path.Join(in, m.path))...)
			if line.runsNode() {
				out = append(out, matches(dir, path.Join(in, "node_modules/.bin", m.path))...)
			}
		}
	}
	return out
}

// controlsIt reports whether a file decides what a program does: it is called like the
// program, or known to. Of a folder only the latter says so.
func controlsIt(program, file string, isFolder bool) bool {
	program = path.Base(program)
	for _, pattern := range controls[program] {
		if ok, err := path.Match(pattern, file); ok && err == nil {
			return true
		}
	}
	if isFolder || slices.Contains(readers, program) || slices.Contains(shellWords, program) {
		return false
	}
	stem, _, _ := strings.Cut(strings.ToLower(program), "-")
	file = strings.ToLower(strings.TrimLeft(file, "."))
	return len(stem) > 2 && strings.HasPrefix(file, stem)
}

// shellWords are programs that read no file of their own.
var shellWords = []string{
	"bash", "cd", "command", "env", "eval", "exec", "jq", "nice", "nohup", "sed", "set", "sort", "sudo", "time",
	"timeout", "touch", "xargs",
}

// standsFor are the files that an interpreter takes for a name without its ending, or
// for a folder.
func standsFor(dir *os.Root, name string) []string {
	var out []string
	for _, ending := range []string{".js", ".cjs", ".mjs", ".ts", ".pm", ".rb"} {
		out = append(out, matches(dir, name+ending)...)
	}
	if info, err := dir.Stat(name); name == "." || err != nil || !info.IsDir() {
		return out
	}
	for _, file := range strings.Fields("index.js index.cjs index.mjs index.ts package.json __init__.py __main__.py") {
		out = append(out, matches(dir, path.Join(name, file))...)
	}
	return out
}

// below are the files of a folder, at any depth, or the file that it is.
func below(dir *os.Root, name string) []string {
	var out []string
	_ = fs.WalkDir(dir.FS(), name, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, name)
		}
		return nil //nolint:nilerr // what cannot be read is not run either
	})
	return out
}

// runsNode reports whether programs are looked for among those of node's packages.
func (l commandLine) runsNode() bool {
	return slices.ContainsFunc([]string{"npm", "npx", "pnpm", "yarn", "bun", "bunx"}, func(name string) bool {
		return slices.Contains(l.words, name)
	})
}

// Found lists the files below root that words of a command name as programs, because a
// folder of PATH lies there.
func Found(root, command, searched string) []string {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil // then it has no tree to run in
	}
	defer dir.Close() //nolint:errcheck // only read from
	var out []string
	for _, folder := range filepath.SplitList(searched) {
		rel := path.Clean(filepath.ToSlash(folder)) // an empty one is where it runs
		if filepath.IsAbs(folder) {
			real, err := filepath.EvalSymlinks(folder)
			if err != nil {
				continue
			}
			top, err := filepath.EvalSymlinks(root)
			if err != nil {
				continue
			}
			var ok bool
			if rel, ok = subpath.Of(top, real); !ok {
				continue
			}
		}
		for _, w := range splitWords(root, command) {
			if !strings.Contains(w, "/") && w != "." {
				matched := matches(dir, path.Join(filepath.ToSlash(rel), w))
				out = append(out, slices.DeleteFunc(matched, func(name string) bool {
					info, err := dir.Stat(name)
					return err == nil && info.Mode()&0o111 == 0
				})...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
