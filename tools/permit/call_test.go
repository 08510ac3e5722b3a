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

func TestEffects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"write", map[string]any{"path": "a.txt", "content": "one\n2\ntwo\n"}, "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n two\n"},
		{"write", map[string]any{"path": "new.txt", "content": "x\n"}, "--- /dev/null\n+++ new.txt\n@@ -0,0 +1 @@\n+x\n"},
		{"write", map[string]any{"path": "a.txt", "content": "one\ntwo\ntwo\n"}, "a.txt: nothing would change"},
		{"edit", map[string]any{"path": filepath.Join(dir, "a.txt"), "old_string": "one", "new_string": "1"}, "-one\n+1\n"},
		{"edit", map[string]any{"path": "a.txt", "old_string": "two", "new_string": "2", "replace_all": true}, "-two\n-two\n+2\n+2\n"},
		{"edit", map[string]any{"path": "a.txt", "old_string": "two", "new_string": "2"}, "there 2 times, so the edit will fail"},
		{"edit", map[string]any{"path": "a.txt", "old_string": "three", "new_string": ""}, "not in the file as it stands"},
		{"write", map[string]any{"path": "../x", "content": "x\n"}, "cannot be read"},
		{"write", map[string]any{"path": ".", "content": "x\n"}, "no file that can be compared"},
		{"apply_patch", map[string]any{"patch": "*** Begin Patch\n"}, "*** Begin Patch\n"},
		{"bash", map[string]any{"command": "git push"}, "in " + dir + "\n$ git push"},
		{"ask", map[string]any{"question": "x"}, ""},
	} {
		if got := permit.Effect(dir, c.tool, args(t, c.args)); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s %v:\n%s\nwant\n%s", c.tool, c.args, got, c.want)
		}
	}
	if long := permit.Effect(dir, "bash", args(t, map[string]any{"command": strings.Repeat("é", 50_000)})); len(long) > 20_000 || !strings.Contains(long, "left out") {
		t.Errorf("%d bytes", len(long))
	}
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
