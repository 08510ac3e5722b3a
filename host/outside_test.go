package host_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/host/hosttest"
)

// TestAProgramOutsideTheModule builds a program that has a go.mod of its own and
// imports host, and has it drive a run that asks, in a tree of its own, to the end.
func TestAProgramOutsideTheModule(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	program := filepath.Join(w.Dir, "outside")
	build := exec.Command("go", "build", "-tags", "sqlite_fts5", "-ldflags", "-s -w", "-o", program, ".")
	build.Dir = filepath.Join("..", "testdata", "outside")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\nIf requirements of the module changed, run go mod tidy in testdata/outside.", err, out)
	}
	run := exec.Command(program, w.Repo, "Make greet.sh say hello. Ask first")
	run.Env = w.Config.Environ
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"1 run_start\n", "question\n", "parked\n", "ended approved\n", "applied [greet.sh]\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}
