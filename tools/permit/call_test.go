package permit_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/permit"
)

func args(t *testing.T, v map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPathsOfPatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		patch string
		want  []string
	}{
		{"*** Begin Patch\n*** Add File: a b.go\n+x\n*** Update File: c.go\n*** Move to: d.go\n*** Delete File: e.go\r\n*** End Patch", []string{"a b.go", "c.go", "d.go", "e.go"}},
		{"diff --git a/x.go b/y.go\nrename from x.go\nrename to y.go\n--- a/x.go\n+++ b/y.go\n", []string{"x.go", "y.go"}},
		{"--- /dev/null\n+++ \"b/\\303\\244.go\"\t2026-01-01\n", []string{"ä.go"}},
		{"--- x.go\n+++ x.go\n", []string{"x.go"}},
		{"diff --git a/x.go b/x.go\ndeleted file mode 100644\nindex e69de29..0000000\n", []string{"x.go"}},
		{"diff --git a/x.sh b/x.sh\nold mode 100644\nnew mode 100755\n", []string{"x.sh"}},
	} {
		if diff := cmp.Diff(c.want, permit.Read("apply_patch", args(t, map[string]any{"patch": c.patch}), dir).Paths); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.patch, diff)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "a/x"}, permit.Read("apply_patch", args(t, map[string]any{"patch": "--- a/x\n"}), dir).Paths); diff != "" {
		t.Errorf("with a folder of that name (-want +got):\n%s", diff)
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	place := at(t)
	p := policy(t, place, permit.Layer{Name: "config.toml", Rules: []permit.Rule{{Command: "curl", Action: permit.Deny, Reason: "no network"}}})
	force := false
	ask := func(tool string, a map[string]any) loop.Decision {
		return p.Hooks(place.Root, force).BeforeTool(context.Background(), loop.ToolCall{Info: loop.Info{Spec: loop.Spec{Name: tool}}, Args: args(t, a)})
	}
	if d := ask("bash", map[string]any{"command": "ls"}); d.Verb != loop.Pass {
		t.Errorf("%+v", d)
	}
	if d := ask("bash", map[string]any{"command": "ls; curl x"}); d.Verb != loop.Block || d.Reason != "curl x: no network" || d.Rule != `config.toml: deny command "curl"` || len(d.Record) != 1 {
		t.Errorf("%+v", d)
	}
	d := ask("bash", map[string]any{"command": "git push"})
	if d.Verb != loop.Confirm || d.Rule != "default" || d.Reason != "git push: it sends work to others" || d.Grant.Command != "git push" || !strings.Contains(d.Effect, "$ git push") {
		t.Errorf("%+v", d)
	}
	long := ask("bash", map[string]any{"command": "git push " + strings.Repeat("é", 50_000)}).Effect
	if len(long) > 20_000 || !strings.Contains(long, "left out") {
		t.Errorf("%d bytes", len(long))
	}
	force = true
	for _, command := range []string{"git push", "curl x"} {
		d := ask("bash", map[string]any{"command": command})
		if d.Verb != loop.Pass || len(d.Record) != 1 {
			t.Fatalf("%+v", d)
		}
		if r := d.Record[0].(plan.ApprovalResolved); !r.Approved || r.By != "policy" || r.Rule == "" || !strings.HasPrefix(r.Reason, "forced: ") {
			t.Errorf("%+v", r)
		}
	}
}
