package checks_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
)

// detect finds the commands of a repository of these files.
func detect(t *testing.T, files map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var commands []string
	for _, c := range checks.Detect(dir) {
		if c.Required || c.Source != plan.CheckDetected {
			t.Errorf("%q is required %v, source %q", c.Command, c.Required, c.Source)
		}
		commands = append(commands, c.Command)
	}
	return commands
}

func TestDetect(t *testing.T) {
	t.Parallel()
	const script = `{"scripts": {"test": "jest"}}`
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing":                {nil, nil},
		"go":                     {map[string]string{"go.mod": "module x"}, []string{"go test ./..."}},
		"go below the top":       {map[string]string{"sub/go.mod": "module x"}, nil},
		"make":                   {map[string]string{"Makefile": "test:\n\ttrue\n"}, []string{"make test"}},
		"make speaks for go":     {map[string]string{"Makefile": "test:\n\ttrue\n", "go.mod": "", "Cargo.toml": ""}, []string{"make test"}},
		"make without test":      {map[string]string{"Makefile": "build:\n\ttrue\n", "go.mod": ""}, []string{"go test ./..."}},
		"the makefile that wins": {map[string]string{"GNUmakefile": "all:\n", "Makefile": "test:\n"}, nil},
		"lower case makefile":    {map[string]string{"makefile": "test:\n", "Makefile": "all:\n"}, []string{"make test"}},
		"npm":                    {map[string]string{"package.json": script}, []string{"npm test"}},
		"npm with a mark":        {map[string]string{"package.json": "\uFEFF" + script}, []string{"npm test"}},
		"npm default":            {map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, nil},
		"npm without test":       {map[string]string{"package.json": `{"scripts": {"test": " ", "build": "x"}}`}, nil},
		"npm broken":             {map[string]string{"package.json": `{"scripts": {"test": "jest"`}, nil},
		"npm odd":                {map[string]string{"package.json": `{"scripts": {"test": 1}}`}, nil},
		"pnpm":                   {map[string]string{"package.json": script, "pnpm-lock.yaml": ""}, []string{"pnpm test"}},
		"yarn":                   {map[string]string{"package.json": script, "yarn.lock": ""}, []string{"yarn test"}},
		"bun":                    {map[string]string{"package.json": script, "bun.lock": ""}, []string{"bun run test"}},
		"bun, binary lock":       {map[string]string{"package.json": script, "bun.lockb": ""}, []string{"bun run test"}},
		"npm and yarn":           {map[string]string{"package.json": script, "package-lock.json": "", "yarn.lock": ""}, []string{"npm test"}},
		"pytest.ini":             {map[string]string{"pytest.ini": ""}, []string{"pytest"}},
		"conftest":               {map[string]string{"conftest.py": ""}, []string{"pytest"}},
		"pyproject":              {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q'\n"}, []string{"pytest"}},
		"pyproject, short":       {map[string]string{"pyproject.toml": "[tool.pytest] # here\n"}, []string{"pytest"}},
		"pyproject, like it":     {map[string]string{"pyproject.toml": "[tool.pytest-env]\n"}, nil},
		"pyproject without":      {map[string]string{"pyproject.toml": "[tool.black]\n# [tool.pytest.ini_options]\n"}, nil},
		"setup.cfg":              {map[string]string{"setup.cfg": "[metadata]\n[tool:pytest]\n"}, []string{"pytest"}},
		"tox.ini":                {map[string]string{"tox.ini": "[tox]\n[pytest]\r\n"}, []string{"pytest"}},
		"python tests":           {map[string]string{"tests/unit/test_a.py": ""}, []string{"pytest"}},
		"python tests, other":    {map[string]string{"test/a_test.py": ""}, []string{"pytest"}},
		"no python tests":        {map[string]string{"tests/helper.py": "", "tests/test_data.txt": ""}, nil},
		"a venv": {
			map[string]string{"tests/test_a.py": "", ".venv/pyvenv.cfg": "", "uv.lock": ""},
			[]string{".venv/bin/python -m pytest"},
		},
		"uv": {
			map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n[tool.tox]\n", "uv.lock": "", "src/a/__init__.py": ""},
			[]string{"uv run pytest"},
		},
		"poetry": {
			map[string]string{"pyproject.toml": "[tool.poetry.dependencies]\n", "tests/test_a.py": ""},
			[]string{"poetry run pytest"},
		},
		"pdm":    {map[string]string{"pdm.lock": "", "conftest.py": ""}, []string{"pdm run pytest"}},
		"pipenv": {map[string]string{"Pipfile.lock": "", "conftest.py": ""}, []string{"pipenv run pytest"}},
		"a venv and src": {
			map[string]string{"tests/test_a.py": "", ".venv/pyvenv.cfg": "", "src/p/__init__.py": ""},
			[]string{".venv/bin/python -m pytest"},
		},
		"uv, no tests":  {map[string]string{"uv.lock": "", ".venv/pyvenv.cfg": ""}, nil},
		"tox":           {map[string]string{"tox.ini": "[testenv]\ncommands = x\n"}, []string{"tox -e py"}},
		"tox, pytest":   {map[string]string{"tox.ini": "[testenv]\n", "tests/test_a.py": ""}, []string{"tox -e py"}},
		"src":           {map[string]string{"src/a/__init__.py": "", "tests/test_a.py": ""}, []string{"PYTHONPATH=src pytest"}},
		"src, one file": {map[string]string{"src/a.py": "", "tests/test_a.py": ""}, []string{"PYTHONPATH=src pytest"}},
		"src, told": {
			map[string]string{"src/a.py": "", "pytest.ini": "[pytest]\npythonpath = src\n"},
			[]string{"pytest"},
		},
		"packageManager": {
			map[string]string{"package.json": `{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}`, "yarn.lock": ""},
			[]string{"pnpm test"},
		},
		"npm workspaces": {
			map[string]string{"package.json": `{"workspaces": ["libs/*"]}`, "libs/a/package.json": script, "libs/b/package.json": "{}"},
			[]string{"npm test --workspaces --if-present"},
		},
		"workspaces, own script": {
			map[string]string{"package.json": `{"workspaces": ["libs/*"], "scripts": {"test": "x"}}`, "libs/a/package.json": script},
			[]string{"npm test"},
		},
		"workspaces without tests": {
			map[string]string{"package.json": `{"workspaces": ["libs/*"]}`, "libs/a/package.json": "{}"},
			nil,
		},
		"pnpm workspaces": {
			map[string]string{
				"package.json": "{}", "pnpm-workspace.yaml": "packages:\n  - 'libs/**'\n", "libs/a/package.json": script,
			},
			[]string{"pnpm --recursive test"},
		},
		"yarn workspaces": {
			map[string]string{
				"package.json": `{"workspaces": {"packages": ["a"]}}`, "yarn.lock": "", ".yarnrc.yml": "", "a/package.json": script,
			},
			[]string{"yarn workspaces foreach --all run test"},
		},
		"yarn workspaces, classic": {
			map[string]string{"package.json": `{"workspaces": ["a"]}`, "yarn.lock": "", "a/package.json": script},
			[]string{"yarn workspaces run test"},
		},
		"yarn workspaces, classic, one without": {
			map[string]string{
				"package.json": `{"workspaces": ["a", "b"]}`, "yarn.lock": "", "a/package.json": script, "b/package.json": "{}",
			},
			nil,
		},
		"cargo":              {map[string]string{"Cargo.toml": ""}, []string{"cargo test"}},
		"gradle wrapper":     {map[string]string{"gradlew": "", "build.gradle": "", "pom.xml": ""}, []string{"./gradlew test"}},
		"gradle":             {map[string]string{"build.gradle.kts": ""}, []string{"gradle test"}},
		"maven wrapper":      {map[string]string{"mvnw": "", "pom.xml": ""}, []string{"./mvnw -q test"}},
		"maven":              {map[string]string{"pom.xml": ""}, []string{"mvn -q test"}},
		"rspec":              {map[string]string{"Gemfile": "", ".rspec": ""}, []string{"bundle exec rspec"}},
		"rake":               {map[string]string{"Gemfile": "", "Rakefile": "Rake::TestTask.new"}, []string{"bundle exec rake test"}},
		"ruby without tests": {map[string]string{"Gemfile": "", "Rakefile": ""}, nil},
		"elixir":             {map[string]string{"mix.exs": ""}, []string{"mix test"}},
		"dotnet":             {map[string]string{"App.sln": ""}, []string{"dotnet test"}},
		"all, in order": {
			map[string]string{"Cargo.toml": "", "pytest.ini": "", "package.json": script, "go.mod": ""},
			[]string{"go test ./...", "npm test", "pytest", "cargo test"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, detect(t, c.files)); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDetectTakesNoHarm(t *testing.T) {
	t.Parallel()
	if got := checks.Detect(filepath.Join(t.TempDir(), "gone")); got != nil {
		t.Errorf("no directory: %v", got)
	}
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(path string) error{
		"Makefile":     func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"package.json": func(p string) error { return os.Mkdir(p, 0o700) },
		"go.mod":       func(p string) error { return os.Symlink(filepath.Join(outside, "go.mod"), p) },
	} {
		if err := do(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := checks.Detect(dir); got != nil {
		t.Errorf("a pipe, a directory and a link that leads out: %v", got)
	}
}

func TestMakeTargets(t *testing.T) {
	t.Parallel()
	yes := map[string]string{
		"plain":             "test:\n\tgo test\n",
		"prerequisites":     "test: build lint\n",
		"one of several":    "build test lint: deps\n\ttrue\n",
		"double colon":      "test::\n\ttrue\n",
		"grouped":           "build test &: x\n",
		"one line":          "test: ; X=1 go test\n",
		"space before":      "test : x\n",
		"phony as well":     ".PHONY: test\ntest:\n\ttrue\n",
		"continued":         "build \\\n  test: x\n",
		"comment behind":    "test: # runs = everything\n",
		"in a condition":    "ifdef CI\n  test: x\nendif\n",
		"windows lines":     "all: x\r\ntest: y\r\n",
		"after a define":    "define help\nfoo\nendef\ntest:\n",
		"no newline":        "test:",
		"order-only":        "test: | build\n",
		"needs a reference": "test: $(X:.c=.o)\n",
	}
	no := map[string]string{
		"empty":               "",
		"phony alone":         ".PHONY: test\n",
		"prerequisite":        "all: test\n",
		"other names":         "tests: x\nunit-test: y\n",
		"variable":            "test := x\n",
		"variable, posix":     "test ::= x\n",
		"variable, plain":     "test = a:b\n",
		"for the target only": "test: FLAGS = -v\n",
		"exported for it":     "test: export CGO_ENABLED := 1\n",
		"appended for it":     "test: FLAGS += -v\n",
		"comment":             "# test: x\n",
		"continued comment":   "# see \\\ntest: x\n",
		"recipe":              "all:\n\techo test: x\n",
		"continued recipe":    "all:\n\techo \\\ntest: x\n",
		"define":              "define help\ntest: x\nendef\n",
		"part of a name":      "$(X)test: x\ntest$(Y): x\n",
		"in a reference":      "X = $(shell echo test: x)\n$(subst a,b, test : c): x\n",
	}
	check := func(name, text string, want bool) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := len(detect(t, map[string]string{"Makefile": text})) == 1; got != want {
				t.Errorf("has a test target: %v, want %v, in\n%s", got, want, text)
			}
		})
	}
	for name, text := range yes {
		check(name, text, true)
	}
	for name, text := range no {
		check(name, text, false)
	}
}
