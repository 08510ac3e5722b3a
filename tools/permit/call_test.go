package permit_test

import (
	"context"
	"encoding/json"
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
		{"diff --git a/x.go b/y.go\nrename from x.go\nrename to y.go\n", []string{"x.go", "y.go"}},
		{"--- /dev/null\n+++ \"b/\\303\\244.go\"\t2026-01-01\n@@ -0,0 +1 @@\n+x\n", []string{"ä.go"}},
		{"--- x.go\n+++ x.go\n@@ -1 +1 @@\n-a\n+b\n", []string{"x.go"}},
		{"--- x.go\n+++ x.go\n", nil}, // the tool cannot read it, so it changes nothing
		{"diff --git a/x.go b/x.go\ndeleted file mode 100644\nindex e69de29..0000000\n", []string{"x.go"}},
		{"diff --git a/x.sh b/x.sh\nold mode 100644\nnew mode 100755\n", []string{"x.sh"}},
	} {
		if diff := cmp.Diff(c.want, permit.Read("apply_patch", args(t, map[string]any{"patch": c.patch}), dir).Paths); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.patch, diff)
		}
	}
}

// TestCallsAreJudgedByWhatTheyTouch: the files of a patch are those that the tool
// changes; of a tool from elsewhere, every text may be a path.
func TestCallsAreJudgedByWhatTheyTouch(t *testing.T) {
	t.Parallel()
	place := furnished(t)
	p := policy(t, place, permit.Layer{Name: "config.toml", Rules: []permit.Rule{
		{Tool: "allowed", Action: permit.Allow},
		{Path: "migrations/**", Action: permit.Deny},
		{Path: "*.pem", Action: permit.Ask},
		{Tool: "trusted", Action: permit.Allow},
	}})
	const deleted = "diff --git a/migrations/1.sql b/migrations/1.sql\ndeleted file mode 100644\nindex e69de29..0000000\n"
	sections := "*** Begin Patch\n*** Update File: a.txt\n*** Move to: migrations/a.txt\n*** End Patch"
	for _, c := range []struct {
		name   string
		tool   string
		args   map[string]any
		writes bool
		want   loop.Verb
	}{
		{"a deletion with headers alone", "apply_patch", map[string]any{"patch": deleted}, true, loop.Block},
		{"a mode", "apply_patch", map[string]any{"patch": "diff --git a/migrations/1.sql b/migrations/1.sql\nold mode 100644\nnew mode 100755\n"}, true, loop.Block},
		{"a rename from", "apply_patch", map[string]any{"patch": "diff --git a/migrations/1.sql b/x\nrename from migrations/1.sql\nrename to x\n"}, true, loop.Block},
		{"a rename to", "apply_patch", map[string]any{"patch": "diff --git a/a.txt b/migrations/x\nrename from a.txt\nrename to migrations/x\n"}, true, loop.Block},
		{"a copy from", "apply_patch", map[string]any{"patch": "diff --git a/migrations/1.sql b/x\ncopy from migrations/1.sql\ncopy to x\n"}, true, loop.Block},
		{"a move in sections", "apply_patch", map[string]any{"patch": sections}, true, loop.Block},
		{"a patch that cannot be read", "apply_patch", map[string]any{"patch": "migrations/1.sql"}, true, loop.Pass},
		{"another file", "apply_patch", map[string]any{"patch": strings.ReplaceAll(deleted, "migrations/1.sql", "a.txt")}, true, loop.Pass},
		{"through a link", "write", map[string]any{"path": "innocent/2.sql", "content": ""}, true, loop.Block},
		{"in capitals", "write", map[string]any{"path": "MIGRATIONS/2.sql", "content": ""}, true, loop.Block},
		{"with dots", "edit", map[string]any{"path": "./sub/../migrations/1.sql", "old_string": "a", "new_string": "b"}, true, loop.Block},
		{"with a character that is not seen", "write", map[string]any{"path": "migra\u200dtions/1.sql", "content": ""}, true, loop.Block},
		{"a path of the tree", "write", map[string]any{"path": place.Root + "/migrations/1.sql", "content": ""}, true, loop.Block},
		{"another tool's patch", "git_patch", map[string]any{"patch": deleted}, true, loop.Block},
		{"one that cannot be read", "git_patch", map[string]any{"patch": "?"}, true, loop.Confirm},
		{"a path by another name", "move", map[string]any{"from": "a.txt", "to": []string{"migrations/a"}}, true, loop.Block},
		{"a tool that writes without saying where", "format", map[string]any{"all": true}, true, loop.Confirm},
		{"and one that does not write", "format", map[string]any{"all": true}, false, loop.Pass},
		{"one that is allowed afterwards", "trusted", map[string]any{"all": true}, true, loop.Pass},
		{"one that is allowed before", "allowed", map[string]any{"all": true}, true, loop.Confirm},
	} {
		call := loop.ToolCall{Info: loop.Info{Spec: loop.Spec{Name: c.tool}, Writes: c.writes}, Args: args(t, c.args)}
		if got := p.Hooks(place.Root, false).BeforeTool(context.Background(), call); got.Verb != c.want {
			t.Errorf("%s: %v (%s), want %v", c.name, got.Verb, got.Reason, c.want)
		}
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
