package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/sandbox"
)

// dies is a helper's environment variable: the directory with a tree in it whose
// wall dies with the process.
const dies = "SANDBOX_TEST_DIES"

// TestDies is no test: it is the process that TestAnotherProcessPutsBack kills.
func TestDies(t *testing.T) { //nolint:paralleltest // it is alone in its process
	base := os.Getenv(dies)
	if base == "" {
		return
	}
	w, err := sandbox.NewWall(sandbox.Level(os.Getenv(walledLevel)), startPolicy(base), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const line = `cd git; echo evil >>config; echo evil >hooks/new; rm -r rebase-merge; mkdir rebase-merge; echo exec evil >rebase-merge/todo
		mkdir -p objects modules/old/hooks modules/new worktrees/new remotes; echo x | tee objects/data modules/old/hooks/x modules/new/HEAD MERGE_MSG >/dev/null
		echo "$PWD/../.git" >worktrees/new/gitdir; echo done`
	res, err := w.Shell(shell).Run(t.Context(), sandbox.Command{Line: line, Dir: w.Dir()})
	if err != nil || !strings.HasSuffix(string(res.Output), "done\n") {
		t.Fatalf("%v: %s", err, res.Output)
	}
	process, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = process.Kill()
	}
	t.Fatal(err)
}

// startPolicy is that of a tree with git's data in it, which nothing but the notes keep.
func startPolicy(base string) sandbox.Policy {
	in := func(name string) string { return filepath.Join(base, "tree/git", name) }
	return sandbox.Policy{
		Tree: filepath.Join(base, "tree"),
		Code: []string{in("config"), in("hooks"), in("rebase-merge"), in("modules/old/hooks"), in("info")},
		CodeIn: []sandbox.CodeDir{
			{Dir: in(""), Data: []string{"objects", "*_MSG", "modules", "worktrees"}},
			{Dir: in("modules"), Linked: true},
			{Dir: in("worktrees"), Linked: true},
		},
		Starts: filepath.Join(base, "home/starts"),
	}
}

func plant(t *testing.T, base string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// stands lists the files below a directory, with what is in them.
func stands(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `cd "$0" && find . -type f | LC_ALL=C sort | while read f; do echo "$f: $(cat "$f")"; done`, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

var startFiles = map[string]string{
	"tree/git/config":            "\xff before\n",
	"tree/git/hooks/sample":      "hook\n",
	"tree/git/rebase-merge/todo": "pick\n",
	"tree/git/modules/old/HEAD":  "x\n",
}

// What a killed process had noted, another one puts back, before it looks.
func TestAnotherProcessPutsBack(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.LevelNone, sandbox.LevelLandlock} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			if err := tried(level); err != nil {
				t.Logf("no such wall here: %v", err)
				return
			}
			base := t.TempDir()
			plant(t, base, startFiles)
			before := stands(t, filepath.Join(base, "tree"))
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestDies$")
			cmd.Env = append(os.Environ(), dies+"="+base, walledLevel+"="+string(level))
			if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
				t.Fatalf("%v: %s", err, out)
			}
			if changed := stands(t, filepath.Join(base, "tree")); !strings.Contains(changed, "config: \xff before\nevil") {
				t.Fatalf("it changed nothing, so this proves nothing:\n%s", changed)
			}
			git, starts := filepath.Join(base, "tree/git"), filepath.Join(base, "home/starts")
			var refused *sandbox.StartError
			if err := sandbox.CheckStart(starts, git); !errors.As(err, &refused) || refused.Live {
				t.Errorf("before it is put back: %v", err)
			}
			if err := sandbox.CheckStart(starts, filepath.Join(base, "elsewhere")); err != nil {
				t.Errorf("another repository: %v", err)
			}
			putBack, err := sandbox.RestoreStarts(starts)
			for _, name := range []string{"config", "hooks", "rebase-merge", "modules/new", "worktrees/new", "remotes"} {
				if !slices.Contains(putBack, filepath.Join(git, name)) {
					t.Errorf("%s was not put back: %v, %v", name, putBack, err)
				}
			}
			after := stands(t, filepath.Join(base, "tree"))
			want := strings.Replace(before, "./git/config", "./git/MERGE_MSG: x\n./git/config", 1)
			want = strings.Replace(want, "./git/rebase", "./git/objects/data: x\n./git/rebase", 1)
			if after != want {
				t.Errorf("it is\n%snot\n%s", after, want)
			}
			if again, err := sandbox.RestoreStarts(starts); again != nil || err != nil || sandbox.CheckStart(starts, git) != nil {
				t.Errorf("it is not restored: %v, %v", again, err)
			}
		})
	}
}

// A wall that is opened while another one stands goes by what that one noted, and
// others are told of what is changed meanwhile.
func TestTheFirstWallsStartCounts(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	plant(t, base, startFiles)
	policy, git := startPolicy(base), filepath.Join(base, "tree/git")
	open := func() *sandbox.Wall {
		t.Helper()
		w, err := sandbox.NewWall(sandbox.LevelNone, policy, os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	first := open()
	if err := sandbox.CheckStart(policy.Starts, git); err != nil {
		t.Errorf("nothing was changed: %v", err)
	}
	plant(t, base, map[string]string{"tree/git/config": "evil\n", "tree/git/new/x": "", "other/.git": "gitdir: " + git + "/worktrees/other\n"})
	plant(t, base, map[string]string{"tree/git/worktrees/other/gitdir": filepath.Join(base, "other/.git") + "\n"})
	second := open()
	var refused *sandbox.StartError
	if err := sandbox.CheckStart(policy.Starts, git); !errors.As(err, &refused) || !refused.Live || refused.Hint() == "" {
		t.Errorf("while it stands: %v", err)
	}
	if back, err := sandbox.RestoreStarts(policy.Starts); back != nil || err != nil {
		t.Errorf("what stands was restored: %v, %v", back, err)
	}
	_ = first.Close() // a breach
	_ = second.Close()
	if got := text(t, filepath.Join(git, "config")); got != startFiles["tree/git/config"] {
		t.Errorf("the second wall put back %q", got)
	}
	if _, err := os.Lstat(filepath.Join(git, "new")); err == nil {
		t.Error("what was made before the second wall is still there")
	}
	if _, err := os.Lstat(filepath.Join(git, "worktrees/other/gitdir")); err != nil {
		t.Errorf("a work tree of others: %v", err)
	}
}

// What cannot be put back is refused, and so is a record that is not what was written.
func TestWhatCannotBePutBackIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil    func(git, record string) error
		restores bool
	}{
		"another directory": {spoil: func(git, _ string) error {
			return errors.Join(os.Rename(git, git+"2"), os.Mkdir(git, 0o755))
		}, restores: true},
		"none": {spoil: func(git, _ string) error { return os.RemoveAll(git) }, restores: true},
		"a link": {spoil: func(git, _ string) error {
			return errors.Join(os.Rename(git, git+"2"), os.Symlink(os.TempDir(), git))
		}, restores: true},
		"a record": {spoil: func(_, record string) error { return os.Truncate(record, 100) }},
	} {
		base := t.TempDir()
		plant(t, base, startFiles)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestDies$")
		cmd.Env = append(os.Environ(), dies+"="+base, walledLevel+"="+string(sandbox.LevelNone))
		if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
		git, starts := filepath.Join(base, "tree/git"), filepath.Join(base, "home/starts")
		records, err := filepath.Glob(filepath.Join(starts, "*.start"))
		if err != nil || len(records) != 1 {
			t.Fatalf("%v, %v", records, err)
		}
		if err := test.spoil(git, records[0]); err != nil {
			t.Fatal(err)
		}
		if back, err := sandbox.RestoreStarts(starts); (err == nil) != test.restores || back != nil {
			t.Errorf("%s: %v, %v", name, back, err)
		}
		if err := sandbox.CheckStart(starts, git); err == nil {
			t.Errorf("%s: nothing is said", name)
		}
		if err := errors.Join(os.Remove(records[0]), sandbox.CheckStart(starts, git)); err != nil {
			t.Errorf("%s: without the record: %v", name, err)
		}
	}
}
