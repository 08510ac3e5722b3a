package checks

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/plan-engine/plan"
)

// maxFile bounds how much of a file is looked at.
const maxFile = 1 << 20

// Detect finds the commands that test the repository at root, by the files at
// its top, always in the same order. They are advisory.
//
// Where `make test` exists it is the only one: it is the project's own word on
// how it is tested, it most often runs the others with the flags and services
// they need, and running them bare as well would take the time twice and fail
// for reasons that are not the change's. A repository that cannot be read has
// no checks.
func Detect(root string) []plan.Check {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	d := detector{dir}
	if d.makeTest() {
		return []plan.Check{advisory("make test")}
	}
	var found []plan.Check
	for _, try := range []func() string{d.goTest, d.nodeTest, d.pytest, d.cargoTest, d.jvmTest, d.rubyTest, d.otherTest} {
		if command := try(); command != "" {
			found = append(found, advisory(command))
		}
	}
	return found
}

func advisory(command string) plan.Check {
	return plan.Check{Command: command, Source: plan.CheckDetected}
}

// detector looks at files without leaving the root.
type detector struct{ root *os.Root }

// read returns the head of a regular file, and whether there is one.
func (d detector) read(name string) (string, bool) {
	if !d.has(name) {
		return "", false
	}
	f, err := d.root.Open(name)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return strings.TrimPrefix(string(data), "\uFEFF"), err == nil
}

// has reports whether there is a regular file of that name.
func (d detector) has(name string) bool {
	info, err := d.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// makeTest looks at the file that make would take.
func (d detector) makeTest() bool {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if text, ok := d.read(name); ok {
			return hasTarget(text, "test")
		}
	}
	return false
}

func (d detector) goTest() string {
	if d.has("go.mod") {
		return "go test ./..."
	}
	return ""
}

func (d detector) cargoTest() string {
	if d.has("Cargo.toml") {
		return "cargo test"
	}
	return ""
}

// jvmTest prefers the wrapper that a project brings along.
func (d detector) jvmTest() string {
	switch {
	case d.has("gradlew"):
		return "./gradlew test"
	case d.has("mvnw"):
		return "./mvnw -q test"
	case d.has("pom.xml"):
		return "mvn -q test"
	case d.has("build.gradle") || d.has("build.gradle.kts"):
		return "gradle test"
	}
	return ""
}

// rubyTest takes rspec where it is set up, and rake where its file says test.
func (d detector) rubyTest() string {
	if !d.has("Gemfile") {
		return ""
	}
	rakefile, _ := d.read("Rakefile")
	switch {
	case d.has(".rspec"):
		return "bundle exec rspec"
	case strings.Contains(rakefile, "TestTask"):
		return "bundle exec rake test"
	}
	return ""
}

// otherTest knows the tools that test by themselves where their file stands.
func (d detector) otherTest() string {
	if d.has("mix.exs") {
		return "mix test"
	}
	for _, pattern := range []string{"*.sln", "*.slnx"} {
		if files, _ := fs.Glob(d.root.FS(), pattern); len(files) > 0 {
			return "dotnet test"
		}
	}
	return ""
}

// nodeTest wants a test script that a person wrote: npm init puts one there
// that only fails. The lock file says which program the project uses.
func (d detector) nodeTest() string {
	text, _ := d.read("package.json")
	var pkg struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &pkg) != nil {
		return ""
	}
	script, _ := pkg.Scripts["test"].(string)
	if strings.TrimSpace(script) == "" || strings.Contains(script, "no test specified") {
		return ""
	}
	for _, lock := range []struct{ file, command string }{
		{"package-lock.json", "npm test"},
		{"pnpm-lock.yaml", "pnpm test"},
		{"yarn.lock", "yarn test"},
		{"bun.lock", "bun run test"}, // "bun test" is bun's own runner, not the script
		{"bun.lockb", "bun run test"},
	} {
		if d.has(lock.file) {
			return lock.command
		}
	}
	return "npm test"
}

// pytest wants its settings, or files that look like its tests.
func (d detector) pytest() string {
	if d.has("pytest.ini") || d.has(".pytest.ini") || d.has("conftest.py") || d.configuresPytest() ||
		d.hasPyTests("tests") || d.hasPyTests("test") {
		return "pytest"
	}
	return ""
}

func (d detector) configuresPytest() bool {
	project, _ := d.read("pyproject.toml")
	tox, _ := d.read("tox.ini")
	setup, _ := d.read("setup.cfg")
	return hasSection(project, "tool.pytest") || hasSection(tox, "pytest") || hasSection(setup, "tool:pytest")
}

// hasSection reports whether a TOML or INI file has the section, or in TOML
// one below it.
func hasSection(text, name string) bool {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		head, found := strings.CutPrefix(line, "["+name)
		if found && (strings.HasPrefix(head, "]") || strings.HasPrefix(head, ".")) {
			return true
		}
	}
	return false
}

// hasPyTests looks for test files in a directory and one level below it.
func (d detector) hasPyTests(dir string) bool {
	files, _ := fs.Glob(d.root.FS(), path.Join(dir, "*.py"))
	below, _ := fs.Glob(d.root.FS(), path.Join(dir, "*", "*.py"))
	for _, file := range append(files, below...) {
		name := strings.TrimSuffix(path.Base(file), ".py")
		if strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test") {
			return true
		}
	}
	return false
}
