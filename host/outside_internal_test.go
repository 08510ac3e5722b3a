package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/sandbox"
)

// What runs outside of walls for the user finds no program in the tree, at no depth.
func TestServersOutsideFindNothingInTheTree(t *testing.T) {
	tree := t.TempDir()
	t.Setenv("PATH", filepath.Join(tree, "bin")+":"+os.Getenv("PATH"))
	h := New(Config{Environ: append(os.Environ(), "PLAN_HOME="+t.TempDir())})
	shell, err := h.toolboxConfig(config.Config{}, config.Paths{}, tree, nil).Own()
	if err != nil {
		t.Fatal(err)
	}
	res, err := shell.Run(t.Context(), sandbox.Command{Line: `sh -c 'echo "$PATH"'`, Dir: t.TempDir()})
	if err != nil || strings.Contains(string(res.Output), tree) {
		t.Errorf("%s, %v", res.Output, err)
	}
}
