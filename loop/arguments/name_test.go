package arguments

import (
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/loop/internal/casetable"
)

// ours are the tools of design §4; theirs has two more that the table knows.
var (
	ours   = []string{"read", "grep", "glob", "list_dir", "symbols", "write", "edit", "apply_patch", "bash", "remember", "prune", "ask"}
	theirs = []string{"read", "grep", "bash", "edit", "write", "question", "write_todo_list"}
)

func aliasCase(t *testing.T, row casetable.Row) {
	var in struct{ Name string }
	var want *string
	casetable.Parse(t, row.Input, &in)
	casetable.Parse(t, row.Expected, &want)
	offered := theirs
	if want != nil && !slices.Contains(offered, *want) {
		offered = append(slices.Clone(offered), *want)
	}
	got, _ := ResolveName(in.Name, offered)
	if want == nil && got != "" || want != nil && got != *want {
		t.Errorf("%q became %q", in.Name, got)
	}
}

func TestResolveName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"read": "read", "Read": "read", "READ": "read", "cat": "read", "open_file": "read", "read_file": "read", "ReadFile": "read", "read-file": "read", "view": "read", "ReadTool": "read",
		"ls": "list_dir", "list_directory": "list_dir", "ListDir": "list_dir", "LS": "list_dir",
		"rg": "grep", "search_files": "grep", "find_files": "glob", "Glob": "glob", "outline": "symbols",
		"sh": "bash", "shell": "bash", "execute": "bash", "run_command": "bash", "terminal": "bash", "execute_command": "bash", "bash_tool": "bash",
		"str_replace": "edit", "replace_in_file": "edit", "str_replace_editor": "edit", "str_replace_based_edit_tool": "edit",
		"create_file": "write", "write_file": "write", "patch": "apply_patch", "ApplyPatch": "apply_patch", "ask_user": "ask", "save_memory": "remember",
		"functions.read": "read", "functions.read:0": "read", "default_api.ReadFile": "read", "read<|channel|>json": "read", " read ": "read",
	} {
		if got, hint := ResolveName(name, ours); got != want || hint != "" {
			t.Errorf("%q became %q (%q)", name, got, hint)
		}
	}
}

func TestWhatCouldBeSeveralToolsIsNotResolved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"search", "find", "open", "plan", "Search", "functions.find", "open_tool", "todo_write", "frobnicate", "", "::", "<|", "functions."} {
		if got, hint := ResolveName(name, ours); got != "" || hint != "" {
			t.Errorf("%q became %q (%q)", name, got, hint)
		}
	}
	// But a tool that is offered under such a name is that tool.
	if got, _ := ResolveName("Search", []string{"search"}); got != "search" {
		t.Errorf("became %q", got)
	}
}

func TestOnlyOfferedNamesResolve(t *testing.T) {
	t.Parallel()
	readOnly := []string{"read", "grep"}
	for _, name := range []string{"sh", "write_file", "bash", "edit"} {
		if got, hint := ResolveName(name, readOnly); got != "" || hint != "" {
			t.Errorf("%q became %q (%q)", name, got, hint)
		}
	}
	// Tools of a caller that go by the name of another system are found too,
	// unless there are two of them.
	if got, _ := ResolveName("bash", []string{"run_command"}); got != "run_command" {
		t.Errorf("became %q", got)
	}
	if got, _ := ResolveName("sh", []string{"run_command", "terminal"}); got != "" {
		t.Errorf("became %q", got)
	}
	if got, _ := ResolveName("sh", []string{"run_command", "bash"}); got != "bash" {
		t.Errorf("became %q", got)
	}
	if got, _ := ResolveName("readfile", []string{"read_file", "ReadFile"}); got != "" {
		t.Errorf("became %q", got)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"grpe": "grep", "symbls": "symbols", "list_dirs": "list_dir", "aply_patch": "apply_patch", "serach_files": "grep",
		"gr": "", "grepppp": "", "cot": "", "readme": "",
	} {
		if got, hint := ResolveName(name, ours); got != "" || hint != want {
			t.Errorf("%q became %q (%q)", name, got, hint)
		}
	}
	if _, hint := ResolveName(strings.Repeat("read", 1<<20), ours); hint != "" {
		t.Errorf("suggested %q", hint)
	}
}

func TestSynonymsAreFoldedAndMeanOneTool(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, group := range synonyms() {
		for _, name := range group {
			if fold(name) != name || seen[name] {
				t.Errorf("%s is not folded, or is there twice", name)
			}
			seen[name] = true
		}
	}
	for _, name := range []string{"search", "find", "open", "plan"} {
		if seen[name] {
			t.Errorf("%s could be several tools", name)
		}
	}
}

func FuzzResolveName(f *testing.F) {
	for _, name := range []string{"read", "functions.ReadFile:3", "найти", "a<|b", ":"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, hint := ResolveName(name, ours)
		if got != "" && hint != "" || got != "" && !slices.Contains(ours, got) || hint != "" && !slices.Contains(ours, hint) {
			t.Errorf("%q became %q (%q)", name, got, hint)
		}
	})
}
