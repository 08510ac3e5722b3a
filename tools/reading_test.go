package tools_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools"
)

// files is a tree by path.
type files map[string]string

// plant writes files below a new directory and returns it.
func plant(t testing.TB, tree files) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range tree {
		name = filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
	return dir
}

// plantGit is plant, as a git work tree with nothing in its index.
func plantGit(t testing.TB, tree files) string {
	t.Helper()
	dir := plant(t, tree)
	gitIn(t, dir, "init", "-q")
	return dir
}

// gitIn runs git in a directory.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openSet opens the tools over a directory.
func openSet(t testing.TB, cfg tools.Config) *tools.Set {
	t.Helper()
	set, err := tools.New(cfg)
	must(t, err)
	t.Cleanup(func() { must(t, set.Close()) })
	return set
}

// runTool calls a tool that reads.
func runTool(t testing.TB, ctx context.Context, set *tools.Set, name string, args any) (loop.Result, error) {
	t.Helper()
	found, err := set.Tools(name)
	must(t, err)
	raw, err := json.Marshal(args)
	must(t, err)
	return found[0].Run(ctx, loop.Input{Call: "1", Args: raw, Update: func(string) {}})
}

// ask is runTool for a call that neither stops the run nor writes nonsense.
func ask(t testing.TB, set *tools.Set, name string, args any) loop.Result {
	t.Helper()
	res, err := runTool(t, t.Context(), set, name, args)
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	if !utf8.ValidString(res.Output) {
		t.Fatalf("%s %v: output is not valid UTF-8: %q", name, args, res.Output)
	}
	return res
}

type args = map[string]any

// sameText fails unless got is want.
func sameText(t testing.TB, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// refused fails unless the call failed with all of these words.
func refused(t testing.TB, res loop.Result, words ...string) {
	t.Helper()
	if !res.Error {
		t.Errorf("not refused: %q", res.Output)
	}
	for _, w := range words {
		if !strings.Contains(res.Output, w) {
			t.Errorf("%q does not say %q", res.Output, w)
		}
	}
}

// TestReadingPaths holds for every tool that takes a path to read.
func TestReadingPaths(t *testing.T) {
	t.Parallel()
	outside := plant(t, files{"secret.go": "package secret\n"})
	dir := plant(t, files{"src/main.go": "package main\n\nfunc main() {}\n", "src/other.go": "package main\n"})
	must(t, os.Symlink(outside, filepath.Join(dir, "away")))
	must(t, os.Symlink(filepath.Join(outside, "secret.go"), filepath.Join(dir, "away.go")))
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	mkfifo(t, filepath.Join(dir, "pipe.go"))
	set := openSet(t, tools.Config{Root: dir})

	cases := []struct {
		path string
		says string
	}{
		{"../x.go", "outside the repository"},
		{"src/../../x.go", "outside the repository"},
		{"/etc/passwd", "outside the repository"},
		{dir + "-sibling/x.go", "outside the repository"},
		{"away/secret.go", "symbolic link"},
		{"away.go", "symbolic link"},
		{"loop", "cannot be read"},
		{"pipe.go", "named pipe"},
		{"src/mian.go", "nearest: src/main.go"},
		{"main.go", "nearest: src/main.go"},
		{"src/main.go/x", "does not exist"},
		{"src/\x00", "cannot be read"},
		{"no/such\nthing", "does not exist"},
	}
	for _, tool := range []string{"read", "grep", "list_dir", "symbols", "glob"} {
		for _, c := range cases {
			if tool == "list_dir" && c.path == "pipe.go" {
				continue // list_dir says what is there, it opens nothing
			}
			a := args{"path": c.path}
			if tool == "grep" || tool == "glob" {
				a["pattern"] = "main"
			}
			res := ask(t, set, tool, a)
			refused(t, res, c.says)
			if strings.Contains(res.Output, outside) || strings.Contains(res.Output, "package secret") {
				t.Errorf("%s %s tells about the outside: %q", tool, c.path, res.Output)
			}
			if strings.Count(res.Output, "\n") > 0 {
				t.Errorf("%s %s: more than one line: %q", tool, c.path, res.Output)
			}
		}
	}
}

// TestAbsolutePaths: a path inside may be absolute, by either name of a root
// that was reached through a symbolic link.
func TestAbsolutePaths(t *testing.T) {
	t.Parallel()
	dir := plant(t, files{"a/b.txt": "text\n"})
	real, err := filepath.EvalSymlinks(dir)
	must(t, err)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	set := openSet(t, tools.Config{Root: link})
	for _, p := range []string{filepath.Join(link, "a/b.txt"), filepath.Join(real, "a", ".", "b.txt"), "./a//b.txt"} {
		res := ask(t, set, "read", args{"path": p})
		sameText(t, res.Output, "1\ttext\n")
		if _, ok := res.Files["a/b.txt"]; !ok {
			t.Errorf("%s is noted as %v", p, res.Files)
		}
	}
	sameText(t, ask(t, set, "glob", args{"pattern": filepath.Join(link, "a/*.txt")}).Output, "a/b.txt\n")
}

// TestReadingSchemas holds the argument names that outside programs rely on.
func TestReadingSchemas(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: t.TempDir()})
	want := map[string][]string{
		"read":     {"path", "offset?", "limit?"},
		"grep":     {"pattern", "path?", "glob?", "context?"},
		"glob":     {"pattern", "path?"},
		"list_dir": {"path?", "depth?"},
		"symbols":  {"path?", "query?", "kind?"},
	}
	for name, fields := range want {
		found, err := set.Tools(name)
		must(t, err)
		info := found[0].Info()
		if info.Name != name || info.Writes || info.Serial || info.Effect != "replay_safe" || len(info.Description) < 80 {
			t.Errorf("%s: %+v", name, info)
		}
		if got := schemaFields(t, info.Schema); !cmp.Equal(got, fields) {
			t.Errorf("%s takes %v, want %v", name, got, fields)
		}
	}
}

// schemaFields lists the properties of a schema in their order, optional ones
// with a question mark.
func schemaFields(t *testing.T, schema json.RawMessage) []string {
	t.Helper()
	var s struct {
		Properties           json.RawMessage `json:"properties"`
		Required             []string        `json:"required"`
		AdditionalProperties *bool           `json:"additionalProperties"`
	}
	must(t, json.Unmarshal(schema, &s))
	if s.AdditionalProperties == nil || *s.AdditionalProperties {
		t.Errorf("the schema takes anything: %s", schema)
	}
	required := map[string]bool{}
	for _, r := range s.Required {
		required[r] = true
	}
	var out []string
	dec := json.NewDecoder(strings.NewReader(string(s.Properties)))
	_, err := dec.Token()
	must(t, err)
	for dec.More() {
		key, err := dec.Token()
		must(t, err)
		var property json.RawMessage
		must(t, dec.Decode(&property))
		name := key.(string)
		if !required[name] {
			name += "?"
		}
		out = append(out, name)
	}
	return out
}
