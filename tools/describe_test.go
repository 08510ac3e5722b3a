package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools"
)

// TestEveryToolDescribesItself: a tool that rules, phases or faces could forget
// is found here, by every one of its arguments that names a file, a command or
// a patch.
func TestEveryToolDescribesItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shell, err := sandbox.New(sandbox.Config{})
	must(t, err)
	set := openSet(t, tools.Config{Root: dir, Shell: shell})
	offered, err := set.Tools(tools.Names()...)
	must(t, err)
	docs, err := filepath.Glob("*.md")
	must(t, err)
	if len(docs) != len(offered) {
		t.Errorf("%d descriptions in *.md for %d tools", len(docs), len(offered))
	}
	for _, tool := range offered {
		info := tool.Info()
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(info.Name + ".md")
			if err != nil || strings.TrimSpace(string(text)) != info.Description {
				t.Errorf("its description is not %s.md", info.Name)
			}
			purpose := tools.PurposeOf(info.Name)
			if purpose == "" || !slices.Contains(tools.Names(purpose), info.Name) {
				t.Error("it does not say what it is for")
			}
			if writes := purpose == tools.Modify || purpose == tools.Execute; writes != info.Writes {
				t.Errorf("it is for %s, and Writes is %v", purpose, info.Writes)
			}
			wholeCall(t, info, dir)
		})
	}
}

// wholeCall looks at the description of a call with every argument that the
// schema knows.
func wholeCall(t *testing.T, info loop.Info, dir string) {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	must(t, json.Unmarshal(info.Schema, &schema))
	call := args{}
	for name, property := range schema.Properties {
		switch {
		case name == "patch":
			call[name] = "*** Begin Patch\n*** Delete File: the-patch\n*** End Patch\n"
		case property.Type == "string":
			call[name] = "the-" + name
		case property.Type == "integer":
			call[name] = 7
		}
	}
	raw, err := json.Marshal(call)
	must(t, err)
	about := tools.Describe(info.Name, raw, dir)
	if about.Title == "" {
		t.Error("a call of it is shown without a word about it")
	}
	for name, value := range call {
		switch name {
		case "path", "patch", "from", "to", "file", "dir", "source", "target", "destination":
			if !slices.Contains(about.Paths, "the-"+name) {
				t.Errorf("rules do not see its argument %s: %v", name, about.Paths)
			}
		case "command":
			if about.Command != value {
				t.Errorf("rules do not see the command: %q", about.Command)
			}
		}
	}
	if info.Writes && about.Preview == nil {
		t.Error("a person who is asked about a call of it does not see what it would do")
	}
	broken := tools.Describe(info.Name, []byte(`"text"`), dir)
	if !reflect.DeepEqual(broken, tools.Call{Title: `"text"`}) {
		t.Errorf("arguments that are no object: %+v", broken)
	}
}

// TestNamesByPurpose: the tools that outside programs know stand in an order, those that
// every phase has first; others may stand between them.
func TestNamesByPurpose(t *testing.T) {
	t.Parallel()
	const contract = " read grep glob list_dir symbols bash prune skill write edit apply_patch remember ask "
	known := func(names []string) string {
		return " " + strings.Join(slices.DeleteFunc(names, func(n string) bool {
			return !strings.Contains(contract, " "+n+" ")
		}), " ") + " "
	}
	sameText(t, known(tools.Names()), contract)
	sameText(t, known(tools.Names(tools.Prune, tools.Inspect)), " read grep glob list_dir symbols prune ")
	if got := tools.Names(""); len(got) > 0 {
		t.Errorf("tools for nothing: %v", got)
	}
	if tools.PurposeOf("elsewhere") != "" {
		t.Error("a tool that is not built in has a purpose")
	}
}

// TestPreviews: a person who is asked about a call sees what it would do.
func TestPreviews(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	preview := func(tool string, a args) string {
		raw, err := json.Marshal(a)
		must(t, err)
		call := tools.Describe(tool, raw, dir)
		if call.Preview == nil {
			return ""
		}
		return call.Preview()
	}
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"write", args{"path": "a.txt", "content": "one\n2\ntwo\n"}, "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n two\n"},
		{"write", args{"path": "new.txt", "content": "x\n"}, "--- /dev/null\n+++ new.txt\n@@ -0,0 +1 @@\n+x\n"},
		{"write", args{"path": "a.txt", "content": "one\ntwo\ntwo\n"}, "a.txt: nothing would change"},
		{"edit", args{"path": filepath.Join(dir, "a.txt"), "old_string": "one", "new_string": "1"}, "-one\n+1\n"},
		{"edit", args{"path": "a.txt", "old_string": "two", "new_string": "2", "replace_all": true}, "-two\n-two\n+2\n+2\n"},
		{"edit", args{"path": "a.txt", "old_string": "two", "new_string": "2"}, "there 2 times, so the edit will fail"},
		{"edit", args{"path": "a.txt", "old_string": "three", "new_string": ""}, "not in the file as it stands"},
		{"write", args{"path": "../x", "content": "x\n"}, "cannot be read"},
		{"write", args{"path": ".", "content": "x\n"}, "no file that can be compared"},
		{"apply_patch", args{"patch": "*** Begin Patch\n"}, "*** Begin Patch\n"},
		{"bash", args{"command": "git push"}, "in " + dir + "\n$ git push"},
		{"ask", args{"question": "x"}, ""},
		{"elsewhere", args{"path": "a.txt", "content": "one\n"}, "-two\n-two\n"},
		{"elsewhere", args{"path": "a.txt", "old_string": "one", "new_string": "1"}, "-one\n+1\n"},
		{"elsewhere", args{"command": "make"}, "$ make"},
	} {
		if got := preview(c.tool, c.args); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s %v:\n%s\nwant\n%s", c.tool, c.args, got, c.want)
		}
	}
}
