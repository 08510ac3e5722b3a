package checks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/sandbox"
)

// lay writes files into a new directory.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const goTest = "package %\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\n"

var module = map[string]string{
	"go.mod": "module lab\n\ngo 1.22\n",
	"a/a_test.go": strings.Replace(goTest, "%", "a", 1) + `func TestOne(t *testing.T) {
	t.Log("log of one")
	fmt.Println("print of one")
}

func TestSkip(t *testing.T) { t.Skip("later") }

func Example() {
	fmt.Println("hi")
	// Output: hi
}
`,
	"b/b_test.go": strings.Replace(goTest, "%", "b", 1) + `func TestGood(t *testing.T) { t.Log("good log") }

func TestBad(t *testing.T) {
	fmt.Print("no newline")
	t.Log("bad log")
	t.Run("sub", func(t *testing.T) { t.Error("bad sub") })
	t.Run("fine", func(t *testing.T) { t.Log("fine log") })
}

func TestPanic(t *testing.T) {
	t.Log("before the panic")
	panic("no")
}
`,
	"c/c.go": "package c\n",
}

// run runs a check with the tests' own environment.
func run(t *testing.T, dir, command string, set ...string) plan.CheckResult {
	t.Helper()
	shell, err := sandbox.New(sandbox.Config{Set: append(set, "GOFLAGS=")})
	if err != nil {
		t.Fatal(err)
	}
	var live strings.Builder
	res, _, err := checks.New(checks.Config{Shell: shell, OutputLimit: 1 << 20}).
		Run(t.Context(), dir, plan.Trial{Check: plan.Check{Command: command}}, func(text string) { live.WriteString(text) })
	if err != nil {
		t.Fatal(err)
	}
	if live.String() != res.Output {
		t.Errorf("shown as it came:\n%s\nkept:\n%s", live.String(), res.Output)
	}
	return res
}

// moving is what differs from run to run.
var moving = regexp.MustCompile(`\d+\.\d+s\b|\(cached\)|goroutine \d+|0x[0-9a-f]+`)

// settled is an output without what differs from run to run, and without the
// prints of tests that passed, which go shows beside those that failed.
func settled(output string) []string {
	lines := strings.Split(moving.ReplaceAllString(output, "_"), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "goroutine") || strings.HasPrefix(line, "\t") })
	slices.Sort(lines)
	return lines
}

// TestGoSaysWhatItRan: the report is full, and the output is the one that go
// gives without being asked for it.
func TestGoSaysWhatItRan(t *testing.T) {
	t.Parallel()
	dir := lay(t, module)
	got := run(t, dir, "go test ./...")
	cmd := exec.CommandContext(t.Context(), "go", "test", "./...")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=")
	plain, err := cmd.CombinedOutput()
	if err == nil || got.ExitCode != cmd.ProcessState.ExitCode() {
		t.Errorf("exit code %d, and %v without the variable", got.ExitCode, err)
	}
	if diff := cmp.Diff(&plan.TestReport{Runners: []string{"go"}, Passed: 4, Failed: 2, Skipped: 1}, got.Tests); diff != "" {
		t.Error(diff)
	}
	for _, noise := range []string{"=== ", "--- PASS", "--- SKIP", "print of one", "good log", "fine log"} {
		if strings.Contains(got.Output, noise) {
			t.Errorf("%q is in the output:\n%s", noise, got.Output)
		}
	}
	for _, line := range settled(string(plain)) {
		if trimmed := strings.TrimSpace(line); !strings.Contains(got.Output, trimmed) && !strings.Contains(line, "_") {
			t.Errorf("go says %q, and the check does not:\n%s", line, got.Output)
		}
	}
	if loud := run(t, dir, "go test -v ./a"); !strings.Contains(loud.Output, "--- PASS: TestOne") || !strings.Contains(loud.Output, "print of one") {
		t.Errorf("what the command asks for is left out:\n%s", loud.Output)
	}
}

// TestStatusStays: nothing that a check gets in its environment changes how go's
// commands end.
func TestStatusStays(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{
		"go.mod":      "module lab\n\ngo 1.22\n",
		"main.go":     "package main\n\nfunc main() {}\n",
		"a_test.go":   "package main\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {}\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) { t.Fail() }\n",
	})
	for _, args := range sampling.Pick(sampling.New(t), 5, []string{
		"test .", "test ./b", "test -json .", "test -v=false .", "test -c -o /dev/null .", "test -no-such-flag .",
		"build -o /dev/null .", "vet ./...", "run .", "list ./...", "mod tidy", "generate ./...", "tool -n vet",
	}) {
		cmd := exec.CommandContext(t.Context(), "go", strings.Fields(args)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=")
		_ = cmd.Run()
		if got := run(t, dir, "go "+args); got.ExitCode != cmd.ProcessState.ExitCode() {
			t.Errorf("go %s: %d, and %d without the variable:\n%s", args, got.ExitCode, cmd.ProcessState.ExitCode(), got.Output)
		}
	}
}

// TestFlagsOfGoStay: what goes into GOFLAGS stands beside what was there, also
// where "go env -w" has kept it.
func TestFlagsOfGoStay(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(lay(t, map[string]string{"env": "GOFLAGS=-mod=mod\nGOPRIVATE=x\n"}), "env")
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"none":     {[]string{"GOENV=off"}, "GOFLAGS=-test.v"},
		"set":      {[]string{"GOENV=" + kept, "GOFLAGS=-tags=x"}, "GOFLAGS=-tags=x -test.v"},
		"kept":     {[]string{"GOENV=" + kept}, "GOFLAGS=-mod=mod -test.v"},
		"at home":  {[]string{"HOME=" + lay(t, map[string]string{".config/go/env": "GOFLAGS=-race\n"}), "XDG_CONFIG_HOME="}, "GOFLAGS=-race -test.v"},
		"set away": {[]string{"GOENV=" + kept, "GOFLAGS="}, "GOFLAGS=-mod=mod -test.v"},
	} {
		got := checks.Env(c.env, "")
		if !slices.Contains(got, c.want) {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}

// TestPlantedBytecodeIsNotRun: python takes no module from a __pycache__ of the
// tree.
func TestPlantedBytecodeIsNotRun(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{"work.py": "print('what stands there')\n"})
	plant := `import importlib.util, os, py_compile, sys
open('other.py', 'w').write("print('planted')\n")
name = importlib.util.cache_from_source('work.py')
os.makedirs(os.path.dirname(name), exist_ok=True)
py_compile.compile('other.py', cfile=name, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
`
	cmd := exec.CommandContext(t.Context(), "python3", "-c", plant)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	env := checks.Env(os.Environ(), t.TempDir())
	for want, env := range map[string][]string{"planted\n": os.Environ(), "what stands there\n": env} {
		cmd := exec.CommandContext(t.Context(), "python3", "-c", "import work")
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%q, want %q, error %v", out, want, err)
		}
	}
}
