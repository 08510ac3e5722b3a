package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plan-engine/plan/sandbox"
)

// programs is the folder of the program that tests start. TestMain makes and
// removes it.
var programs string

// TestMain lets this binary be the inside of a wall, and be plan itself: under
// that name it stands on the PATH, with the race detector where the tests have it.
func TestMain(m *testing.M) {
	sandbox.Enter()
	testscript.Main(withPrograms{m}, map[string]func(){"plan": main, "unplug": unplug})
}

// withPrograms runs the tests with a folder for the program that they start.
type withPrograms struct{ *testing.M }

func (w withPrograms) Run() int {
	var err error
	if programs, err = os.MkdirTemp("", "plan-programs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	return w.M.Run()
}

// buildProgram builds plan once for all tests that start it as a process: with
// failpoints, which do nothing unless a test's environment asks for them, and
// without the race detector, under which each process takes three times as long.
var buildProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "plan")
	build := exec.Command("go", "build", "-tags", "sqlite_fts5,failpoint", "-ldflags", "-s -w", "-o", path, ".")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build plan: %w\n%s", err, out)
	}
	return path, nil
})

// program is the path of the program that tests start.
func program(t *testing.T) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// goCaches are the settings of go's caches, for processes with a home of their own.
var goCaches = sync.OnceValues(func() ([]string, error) {
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	settings := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, name := range names {
		settings[i] = name + "=" + settings[i]
	}
	return settings, nil
})
