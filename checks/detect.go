package checks

import (
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/plainfile"
)

// maxFile bounds how much of a file is looked at.
const maxFile = 1 << 20

// Detect finds the commands that test the repository at root, by the files at
// its top, always in the same order: the first of each of its [Suites]. They are
// advisory.
func Detect(root string) []plan.Check {
	var detected []plan.Check
	for _, suite := range Suites(root) {
		detected = append(detected, Advisory(suite[0]))
	}
	return detected
}

// Advisory is a command that was detected, as a check: it advises and is not required.
func Advisory(command string) plan.Check {
	return plan.Check{Command: command, Source: plan.CheckDetected}
}

// Suites are the ways in which the repository at root is tested, each with the
// commands that may do it, the likeliest first: which of them starts depends on the
// machine.
//
// Where `make test` exists it is the only one: it is the project's own word on
// how it is tested, it most often runs the others with the flags and services
// they need, and running them bare as well would take the time twice and fail
// for reasons that are not the change's. A repository that cannot be read has
// none.
func Suites(root string) [][]string {
	d, done := detectorAt(root)
	defer done()
	if d.makeTest() {
		return [][]string{{"make test"}}
	}
	var suites [][]string
	for _, try := range []func() []string{
		oneCommand(d.goTest),
		oneCommand(d.nodeTest),
		d.pythonTest,
		oneCommand(d.cargoTest),
		oneCommand(d.jvmTest),
		oneCommand(d.rubyTest),
		oneCommand(d.otherTest),
	} {
		if commands := try(); len(commands) > 0 {
			suites = append(suites, commands)
		}
	}
	return suites
}

// oneCommand is a suite that only one command can run.
func oneCommand(try func() string) func() []string {
	return func() []string {
		if command := try(); command != "" {
			return []string{command}
		}
		return nil
	}
}

// detector looks at files without leaving the root.
type detector struct{ root *os.Root }

// detectorAt looks at a repository. One that cannot be read has no files.
func detectorAt(root string) (d detector, done func()) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return detector{}, func() {}
	}
	return detector{dir}, func() { _ = dir.Close() }
}

// read returns the head of a regular file, and whether there is one.
func (d detector) read(name string) (string, bool) {
	if !d.has(name) {
		return "", false
	}
	f, err := plainfile.OpenIn(d.root, name)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return strings.TrimPrefix(string(data), "\uFEFF"), err == nil
}

// has reports whether there is a regular file of that name.
func (d detector) has(name string) bool {
	if d.root == nil {
		return false
	}
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
	if d.root == nil {
		return ""
	}
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
