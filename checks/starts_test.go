package checks_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
)

func TestNotStarted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		res  plan.CheckResult
		want string // "" where it did start
	}{
		"a program":         {plan.CheckResult{ExitCode: 127, Output: "sh: 1: pytest: not found\n"}, "pytest: not found"},
		"without a word":    {plan.CheckResult{ExitCode: 127}, "its program is not there"},
		"may not run":       {plan.CheckResult{ExitCode: 126, Output: "sh: 1: ./t: Permission denied\n"}, "Permission denied"},
		"a module":          {plan.CheckResult{ExitCode: 1, Output: "/usr/bin/python3: No module named pytest\n"}, "pytest"},
		"python's file":     {plan.CheckResult{ExitCode: 2, Output: "python3: can't open file '/r/t.py': [Errno 2] No such file\n"}, "t.py"},
		"a conftest":        {plan.CheckResult{ExitCode: 4, Output: "E   ModuleNotFoundError: No module named 'click'\n"}, "click"},
		"node":              {plan.CheckResult{ExitCode: 1, Output: "Error: Cannot find module '/r/t.js'\n"}, "t.js"},
		"npm":               {plan.CheckResult{ExitCode: 127, Output: "> jest\n\nsh: 1: jest: not found\n"}, "jest: not found"},
		"uv":                {plan.CheckResult{ExitCode: 2, Output: "error: Failed to spawn: `pytest`\n  Caused by: No such file\n"}, "pytest"},
		"make":              {plan.CheckResult{ExitCode: 2, Output: "make: pytest: No such file or directory\n"}, "pytest"},
		"make, by a shell":  {plan.CheckResult{ExitCode: 2, Output: "make: *** [Makefile:2: test] Error 127\n"}, "Error 127"},
		"passed":            {plan.CheckResult{Output: "sh: 1: x: not found\n"}, ""},
		"failed":            {plan.CheckResult{ExitCode: 1, Output: "assertion failed\n"}, ""},
		"make failed":       {plan.CheckResult{ExitCode: 2, Output: "make: *** [Makefile:2: test] Error 1\n"}, ""},
		"a file looked for": {plan.CheckResult{ExitCode: 2, Output: "grep: new.txt: No such file or directory\n"}, ""},
		"stopped":           {plan.CheckResult{ExitCode: 124, TimedOut: true, Output: "sh: 1: x: not found\n"}, ""},
		"tests ran": {
			plan.CheckResult{
				ExitCode: 1,
				Output:   "E   ModuleNotFoundError: No module named 'a'\n",
				Tests:    &plan.TestReport{Failed: 1},
			},
			"",
		},
	} {
		got := checks.NotStarted(c.res)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", name, got, c.want)
		}
	}
}

// TestProbes runs probes with the programs of a folder, and no others.
func TestProbes(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, text := range map[string]string{
		"npm":     "exit 0",
		"python3": `[ "$*" = "-m tox --version" ] || { echo "python3: No module named $2"; exit 1; }`,
		"uv":      `[ "$*" = "run --offline tox --version" ] || exit 2`,
		"tox":     `[ "$*" = --version ]`,
		"busy":    "exit 1", // it is looked for, and not run
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+shell+"\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"package.json": `{"scripts": {"test": "jest --ci", "there": "tsc -p .", "own": "node --test"},
			"devDependencies": {"jest": "1"}}`,
		"sub/here":                  "",
		"node_modules/.bin/tsc":     "#!" + shell + "\n",
		"node_modules/.bin/ignored": "",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{ // "starts", "" for nothing to ask, or what is missing
		"busy -x":                        "starts",
		"busy && gone":                   "starts",
		"gone -x":                        "gone: not found",
		"X=1 gone; busy":                 "gone: not found",
		"cd sub && gone":                 "gone: not found",
		"cd sub && busy":                 "starts",
		"gone | busy":                    "gone: not found",
		"gone || busy":                   "",
		"if gone; then busy; fi":         "",
		". ./env && gone":                "",
		"./made-by-the-work":             "",
		"$X gone":                        "",
		"(":                              "",
		"test -f new":                    "starts",
		"python3 -m pytest -q":           "No module named pytest",
		"python3 -m tox -q":              "starts",
		"python3 -m of_the_tree":         "starts",
		"tox -e py":                      "starts",
		"uv run --offline tox -e py":     "starts",
		"uv run tox":                     "cannot start",
		"npm test":                       "jest: not found",
		"npm t":                          "jest: not found",
		"npm run there":                  "starts",
		"npm run own":                    "node: not found",
		"npm test --workspaces":          "starts",
		"yarn test":                      "yarn: not found",
		"timeout 5 gone":                 "timeout: not found",
		"/gone/by/path":                  "",
		`"gone"`:                         "",
		"'gone' x":                       "",
		"while gone; do busy; done":      "",
		"! gone":                         "",
		"cd sub || exit; gone":           "",
		"set -e; busy; gone":             "starts",
		"PYTHONPATH=src python3 -m tox":  "starts",
		"gone 2>/dev/null && echo ready": "gone: not found",
	} {
		probe := checks.ProbeOf(root, line)
		if probe.Line == "" {
			if want != "" {
				t.Errorf("%q is not asked about", line)
			}
			continue
		}
		cmd := exec.Command(shell, "-c", probe.Line)
		cmd.Dir, cmd.Env = root, []string{"PATH=" + bin}
		out, err := cmd.CombinedOutput()
		got := string(out)
		switch {
		case err == nil:
			got = "starts"
		case got == "":
			got = "cannot start"
		}
		if want == "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q comes to %q, want %q", line, probe.Line, got, want)
		}
	}
}

// there is a machine that has every program.
func there(string) bool { return true }

// TestSetupForWhatIsThere: a setup whose own program is missing sets nothing up.
func TestSetupForWhatIsThere(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"uv.lock": "", "pyproject.toml": "[project]\n", "pnpm-lock.yaml": "", "package.json": "{}",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ line, has, want string }{
		{"uv run pytest", "uv python3", "uv sync"},
		{"uv run pytest", "python3", "python3 -m venv"},
		{"uv run pytest", "", ""},
		{"pnpm test", "pnpm", "pnpm install"},
		{"pnpm test", "npm", ""},
	} {
		has := func(program string) bool { return slices.Contains(strings.Fields(c.has), program) }
		if got := checks.SetupFor(root, c.line, has); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("for %q, with %q there: %q, want %q", c.line, c.has, got, c.want)
		}
	}
}

func TestSetupFor(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		line  string
		files []string
	}{
		"npm ci":                         {"npm test", []string{"package-lock.json"}},
		"npm install":                    {"npx jest", nil},
		"pnpm install --frozen-lockfile": {"pnpm --recursive test", []string{"pnpm-lock.yaml"}},
		"yarn install --frozen-lockfile": {"yarn test", []string{"yarn.lock"}},
		"yarn install --immutable":       {"yarn test", []string{"yarn.lock", ".yarnrc.yml"}},
		"uv sync":                        {"uv run pytest", []string{"uv.lock"}},
		"poetry install":                 {"pytest -q", []string{"poetry.lock"}},
		"python3 -m venv .venv && echo '*' >.venv/.gitignore && .venv/bin/pip install pytest -r requirements.txt": {
			"PYTHONPATH=src python3 -m pytest", []string{"requirements.txt"},
		},
		"bundle install": {"bundle exec rspec", nil},
		"":               {"make test", []string{"uv.lock"}},
	} {
		root := t.TempDir()
		for _, name := range append(c.files, "package.json") {
			text := ""
			if name == "package.json" {
				text = "{}"
			}
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := checks.SetupFor(root, c.line, there); got != want {
			t.Errorf("for %q with %v: %q, want %q", c.line, c.files, got, want)
		}
	}
}

func TestLacksNetwork(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]bool{
		"Error: listen EACCES: permission denied 127.0.0.1:0":                          true,
		"Error: listen EPERM: operation not permitted 127.0.0.1":                       true,
		"listen tcp 127.0.0.1:0: bind: permission denied":                              true,
		"dial tcp 127.0.0.1:80: connect: network is unreachable":                       true,
		"OSError: [Errno 99] Cannot assign requested address":                          true,
		"PermissionError: [Errno 13] Permission denied: ('127.0.0.1', 8000)":           true,
		"getaddrinfo EAI_AGAIN registry.example":                                       true,
		"open /srv/x: permission denied":                                               false,
		"the listener failed\n--- FAIL: TestPermission (0.00s)\n    permission denied": false,
		"dial tcp 127.0.0.1:80: connect: connection refused":                           false,
	} {
		if got := checks.LacksNetwork(output); got != want {
			t.Errorf("%q: %v", output, got)
		}
	}
}

// TestAPackageThatIsNotInstalled: below src, Python finds a package once it is installed,
// unless the line or the project says where it is.
func TestAPackageThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line, file, text string
		asks             bool
	}{
		"not installed":          {"python3 -m pytest -q", "", "", true},
		"the line says where":    {"PYTHONPATH=src python3 -m pytest", "", "", false},
		"the settings say where": {"python3 -m pytest", "pyproject.toml", "[tool.pytest.ini_options]\npythonpath = ['src']\n", false},
		"the tests say where":    {"python3 -m pytest", "tests/conftest.py", "import sys\nsys.path.insert(0, 'src')\n", false},
		"another runner":         {"python3 -m tox", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write := func(name, text string) {
				file := filepath.Join(root, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o700)); err != nil {
					t.Fatal(err)
				}
			}
			write("src/p/__init__.py", "")
			write("setup.py", "")
			if c.file != "" {
				write(c.file, c.text)
			}
			probe := checks.ProbeOf(root, c.line).Line
			if asks := strings.Contains(probe, `find_spec("p")`); asks != c.asks {
				t.Fatalf("asks %v: %q", asks, probe)
			}
			if !c.asks {
				return
			}
			bin := t.TempDir()
			python := "#!/bin/sh\n[ \"$1\" = -c ] && { echo \"ModuleNotFoundError: No module named p\"; exit 1; }; exit 0\n"
			if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(python), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", probe)
			cmd.Dir, cmd.Env = root, []string{"PATH=" + bin}
			out, err := cmd.CombinedOutput()
			why := checks.NotStarted(plan.CheckResult{ExitCode: cmd.ProcessState.ExitCode(), Output: string(out)})
			if err == nil || !strings.Contains(why, "No module named p") {
				t.Errorf("%v, %q: not started for %q", err, out, why)
			}
			if setup := checks.SetupFor(root, c.line, there); !strings.Contains(setup, "-e .") {
				t.Errorf("the setup is %q", setup)
			}
		})
	}
}

// TestProbesOfWorkspaces: packages that only those in folders of their own need are
// missed, too.
func TestProbesOfWorkspaces(t *testing.T) {
	t.Parallel()
	const needs = `{"devDependencies": {"jest": "1"}}`
	for name, c := range map[string]struct {
		files  map[string]string
		misses bool
	}{
		"the root's own": {map[string]string{"package.json": needs}, true},
		"a member's":     {map[string]string{"package.json": `{"workspaces": ["a"]}`, "a/package.json": needs}, true},
		"a member's, of pnpm": {
			map[string]string{"package.json": `{}`, "pnpm-workspace.yaml": "packages:\n  - a\n", "a/package.json": needs}, true,
		},
		"none": {map[string]string{"package.json": `{"workspaces": ["a"]}`, "a/package.json": "{}"}, false},
		"there": {
			map[string]string{"package.json": `{"workspaces": ["a"]}`, "a/package.json": needs, "node_modules/x": ""}, false,
		},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(root, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Contains(checks.ProbeOf(root, "pnpm --recursive test").Line, "node_modules: not found"); got != c.misses {
			t.Errorf("%s: packages are missed: %v, want %v", name, got, c.misses)
		}
	}
}
