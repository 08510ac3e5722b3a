package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// readmeExamples are the command lines in README.md's blocks of shell, without comments.
func readmeExamples() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(pagesRoot, "README.md"))
	if err != nil {
		return nil, err
	}
	var out []string
	inside := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inside = line == "```sh"
			continue
		}
		if line, _, _ = strings.Cut(line, " #"); inside && strings.HasPrefix(line, "plan ") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out, nil
}

// cmdReadme runs README's example that is this line, in repo, and wants an exit status.
// The id of the newest run stands in the place of the page's.
func cmdReadme(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: readme CODE LINE")
	}
	examples, err := readmeExamples()
	ts.Check(err)
	line := ""
	for _, example := range examples {
		if example == args[1] {
			line = example
		}
	}
	if line == "" {
		ts.Fatalf("README.md has no example %q", args[1])
	}
	newest := `$(plan list --limit 1 --json | sed 's/.*"id":"\([^"]*\)".*/\1/')`
	line = strings.ReplaceAll(strings.ReplaceAll(line, "01M7", newest), "| less", "| cat")
	err = ts.Exec("sh", "-c", "cd repo && "+line)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit status %d, want %s", code, args[0])
	}
}

// TestReadmeExamplesAreRun holds README.md to the script that runs its examples: each is
// run there, or named as one that is not.
func TestReadmeExamplesAreRun(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/script/readme.txtar")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := readmeExamples()
	if err != nil || len(examples) < 40 {
		t.Fatalf("only %d examples: %v", len(examples), err)
	}
	ran := 0
	for _, example := range examples {
		switch script := "\n" + string(data); {
		case strings.Contains(script, " '"+example+"'\n"):
			ran++
		case !strings.Contains(script, "\n# not run: "+example+"\n"):
			t.Errorf("no script runs README.md's example %q", example)
		}
	}
	if ran < 25 {
		t.Errorf("only %d examples are run", ran)
	}
}
