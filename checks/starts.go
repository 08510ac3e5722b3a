package checks

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
)

// The statuses by which shells say that a program is not there, or may not be run.
const (
	exitNotRunnable = 126
	exitNotFound    = 127
)

// maxReason bounds the line that says why a check cannot start, in bytes.
const maxReason = 200

// notThere finds the line in which a shell, an interpreter or what launches a runner
// says that the thing to be run is not there.
var notThere = lazy.Regexp(`^\S*python[\d.]*: (?:can't open file|No module named|Error while finding module)|` +
	`^(?:E +)?(?:ModuleNotFoundError|ImportError): No module named |` +
	`^\S*sh: (?:\d+: )?cannot open |: (?:command )?not found$|: No such file or directory$|: Permission denied$|` +
	`Cannot find module |^error: Failed to spawn: |^Command not found: |\bMissing script: |No rule to make target |` +
	`^g?make(?:\[\d+\])?: \*\*\* \[.*\] Error 12[67]$`)

// launched are those of them that count with any status: what launches a runner
// chooses its own.
var launched = lazy.Regexp(`^\S*python[\d.]*: |No module named |^\S*sh: (?:\d+: )?cannot open |Cannot find module |` +
	`^error: Failed to spawn: |^Command not found: |\bMissing script: |No rule to make target |` +
	`^g?make(?:\[\d+\])?: (?:\*\*\* \[.*\] Error 12[67]|\S+: No such file or directory)$`)

// NotStarted is why a command came to its end without having begun with what it was to
// do, "" where it did begin: the program is not there, or a module that it is made of.
// A test that ran, and a file that a program looked for, are no such reason.
func NotStarted(res plan.CheckResult) string {
	if res.ExitCode == 0 || res.TimedOut || res.Cancelled || res.Tests.Ran() {
		return ""
	}
	byShell := res.ExitCode == exitNotFound || res.ExitCode == exitNotRunnable
	reason := ""
	for line := range strings.Lines(res.Output) {
		line = strings.TrimSpace(line)
		if notThere().MatchString(line) && (byShell || launched().MatchString(line)) {
			reason = line
		}
	}
	if reason == "" && byShell {
		reason = "its program is not there, or cannot be run"
	}
	return oneline.CutBytes(oneline.Of(reason), maxReason)
}

// noNetwork finds what programs of many languages say, in the words of the system, where
// they may not listen or reach an address.
var noNetwork = lazy.Regexp(`(?i)\b(?:EADDRNOTAVAIL|ENETUNREACH|EAI_AGAIN)\b|network is unreachable|` +
	`cannot assign requested address|temporary failure in name resolution|` +
	`\b(?:bind|listen|connect|dial|socket)\b.*(?:\bE(?:ACCES|PERM|AFNOSUPPORT)\b|permission denied|` +
	`operation not permitted)|` +
	`(?:\bE(?:ACCES|PERM)\b|permission denied|operation not permitted).*\b(?:bind|listen|connect|dial|socket|` +
	`127\.0\.0\.1|localhost)\b`)

// LacksNetwork reports whether the output of a check that fails looks as if it failed for
// want of a network, be it that of this machine alone.
func LacksNetwork(output string) bool { return noNetwork().MatchString(output) }

// versioned are runners that say their version without running a test: one that does
// not, does not run tests either.
var versioned = []string{"pytest", "py.test", "tox", "nox"}

// Probe is what shows, in a moment and without running a test, whether a check can
// start.
type Probe struct {
	// Line ends with status zero where it can. "" says that only running it tells.
	Line string
	// Program is the one that Line does no more than look for, if it does no more.
	Program string
}

// ProbeOf looks at what the command line of a check begins with, in the repository at
// root. A line that goes on in another way where a command fails is not looked into,
// nor is a file of the tree, which the work may have to make first.
func ProbeOf(root, line string) Probe {
	words, before := firstCall(line)
	inner := unwrap(words)
	if len(inner) == 0 {
		return Probe{}
	}
	name := path.Base(inner[0])
	if m := numbered().FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	till := len(words) - len(inner) + 1
	module := name == "python" && len(inner) > 2 && inner[1] == "-m" && slices.Contains(versioned, inner[2])
	switch {
	case module:
		probe := before + strings.Join(words[:till+2], " ") + " --version"
		if inner[2] == "pytest" { // the others make an environment of their own
			probe += importProbe(root, before, line, strings.Join(words[:till], " "))
		}
		return Probe{Line: probe}
	case slices.Contains(versioned, name):
		return Probe{Line: before + strings.Join(words[:till], " ") + " --version"}
	case slices.Contains(nodeManagers(), words[0]):
		return scriptProbe(root, before, words)
	}
	return programProbe(before, words[0])
}

// importProbe looks, behind a probe of a runner, whether its Python finds the package that
// stands below src: until it is installed, no test of it can be collected. "" says that it
// may be found in another way.
func importProbe(root, before, line, python string) string {
	d, done := detectorAt(root)
	defer done()
	if before != "" || strings.Contains(line, "PYTHONPATH") || d.root == nil || !d.keepsSourceApart() {
		return ""
	}
	for _, file := range []string{"conftest.py", "tests/conftest.py", "test/conftest.py"} {
		if text, _ := d.read(file); strings.Contains(text, "sys.path") {
			return ""
		}
	}
	packages, _ := fs.Glob(d.root.FS(), "src/*/__init__.py")
	if len(packages) == 0 {
		return ""
	}
	name := path.Base(path.Dir(packages[0]))
	if !plainName().MatchString(name) {
		return ""
	}
	return " && " + python + " -c 'import importlib.util, sys; importlib.util.find_spec(\"" + name + "\") or " +
		"sys.exit(\"ModuleNotFoundError: No module named " + name + "\")'"
}

var plainName = lazy.Regexp(`^[\w.+-]+$`)

// programProbe looks for a program that stands for itself.
func programProbe(before, name string) Probe {
	if !plainName().MatchString(name) {
		return Probe{}
	}
	p := Probe{Line: before + "command -v " + name + " >/dev/null || { echo '" + name + ": not found'; exit 127; }"}
	if before == "" {
		p.Program = name
	}
	return p
}

func nodeManagers() []string { return []string{"npm", "pnpm", "yarn", "bun"} }

// scriptProbe looks for what a script of package.json begins with, which the package
// may have been given with the packages that it needs.
func scriptProbe(root, before string, words []string) Probe {
	self := programProbe(before, words[0])
	if before != "" { // in another folder
		return self
	}
	d, done := detectorAt(root)
	defer done()
	name := ""
	for _, word := range words[1:] {
		switch option, _, _ := strings.Cut(word, "="); {
		case slices.Contains(workspaceWords, option):
			if d.lacksPackages() {
				return Probe{Line: self.Line + " && { echo 'node_modules: not found'; exit 127; }"}
			}
			return self
		case name == "" && word != "run" && word != "run-script" && !strings.HasPrefix(word, "-"):
			name = word
		}
	}
	if name == "t" || name == "tst" {
		name = "test"
	}
	pkg, _ := d.nodePackage("package.json")
	script, _ := pkg.Scripts[name].(string)
	inner := ProbeOf("", script)
	if inner.Line == "" || d.has(".pnp.cjs") || d.has(".pnp.js") {
		return self
	}
	return Probe{
		Line: "{ " + self.Line + "; } && " +
			"PATH=\"$PWD/node_modules/.bin:$PATH\" && export PATH && " +
			"{ " + inner.Line + "; }",
	}
}

// firstCall is the first command of a line that runs a program, as it is written, and
// what stands before it. It is nil for a line with a way out, or that a shell has to
// read first.
func firstCall(line string) (words []string, before string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return nil, ""
	}
	stmt, before, ok := firstStmt(file.Stmts[0])
	if !ok {
		return nil, ""
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || stmt.Negated || len(call.Args) == 0 || isFolder(call) {
		return nil, ""
	}
	for _, assign := range call.Assigns {
		before += printed(assign) + " "
	}
	for _, word := range call.Args {
		words = append(words, printed(word))
	}
	if slices.Contains([]string{".", "source", "eval", "exit"}, words[0]) {
		return nil, ""
	}
	return words, before
}

// firstStmt goes to the first part of a line, past folders that it goes to before. It
// is not ok where a line has a way out.
func firstStmt(stmt *syntax.Stmt) (first *syntax.Stmt, before string, ok bool) {
	for {
		binary, ok := stmt.Cmd.(*syntax.BinaryCmd)
		switch {
		case !ok:
			return stmt, before, true
		case binary.Op == syntax.OrStmt:
			return nil, "", false
		}
		stmt = binary.X
		if left, ok := stmt.Cmd.(*syntax.CallExpr); ok && isFolder(left) && binary.Op == syntax.AndStmt {
			before += printed(left) + " && "
			stmt = binary.Y
		}
	}
}

// isFolder reports whether a command only goes to a folder.
func isFolder(call *syntax.CallExpr) bool { return len(call.Args) == 2 && call.Args[0].Lit() == "cd" }

func printed(node syntax.Node) string {
	var out strings.Builder
	if syntax.NewPrinter().Print(&out, node) != nil {
		return ""
	}
	return out.String()
}

// SetupFor is the command that most likely makes it possible to run a check in the
// repository at root, "" where that is not known, or where its program is not there
// either.
func SetupFor(root, line string, has func(program string) bool) string {
	d, done := detectorAt(root)
	defer done()
	setup := d.setupFor(line, has)
	if program, _, _ := strings.Cut(setup, " "); program == "" || !has(program) {
		return ""
	}
	return setup
}

func (d detector) setupFor(line string, has func(program string) bool) string {
	words, _ := firstCall(line)
	if d.root == nil || len(words) == 0 {
		return ""
	}
	tool := words[0]
	inner := unwrap(words)
	switch {
	case slices.Contains(nodeManagers(), tool) || tool == "npx" || tool == "bunx":
		return d.nodeSetup()
	case tool == "bundle":
		return "bundle install"
	case tool == "mix":
		return "mix deps.get"
	case tool == "composer":
		return "composer install"
	case len(inner) == 0:
		return ""
	}
	name := path.Base(inner[0])
	if strings.HasPrefix(name, "python") || slices.Contains(versioned, name) || name == "coverage" {
		return d.pythonSetup(has)
	}
	return ""
}

// nodeSetup fetches what the lock file names, or else what package.json does.
func (d detector) nodeSetup() string {
	pkg, ok := d.nodePackage("package.json")
	if !ok {
		return ""
	}
	switch manager := d.nodeManager(pkg); {
	case manager == "npm" && (d.has("package-lock.json") || d.has("npm-shrinkwrap.json")):
		return "npm ci"
	case manager == "pnpm" && d.has("pnpm-lock.yaml"), manager == "yarn" && d.has("yarn.lock") && !d.has(".yarnrc.yml"):
		return manager + " install --frozen-lockfile"
	case manager == "yarn" && d.has("yarn.lock"):
		return "yarn install --immutable"
	default:
		return manager + " install"
	}
}

// pythonSetup makes the environment that the project keeps, or a plain one where what
// makes that is not there.
func (d detector) pythonSetup(has func(program string) bool) string {
	project, _ := d.read("pyproject.toml")
	for _, tool := range []struct{ lock, section, command string }{
		{"uv.lock", "tool.uv", "uv sync"},
		{"poetry.lock", "tool.poetry", "poetry install"},
		{"pdm.lock", "tool.pdm", "pdm install"},
		{"Pipfile.lock", "tool.pipenv", "pipenv sync --dev"},
	} {
		program, _, _ := strings.Cut(tool.command, " ")
		if (d.has(tool.lock) || hasSection(project, tool.section)) && has(program) {
			return tool.command
		}
	}
	packages := "pytest"
	for _, file := range []string{"requirements-dev.txt", "requirements-test.txt", "requirements.txt"} {
		if d.has(file) {
			packages += " -r " + file
			break
		}
	}
	if d.has("setup.py") || hasSection(project, "build-system") || hasSection(project, "project") {
		packages += " -e ."
	}
	return "python3 -m venv .venv && echo '*' >.venv/.gitignore && .venv/bin/pip install " + packages
}
