package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/worktree/git"
)

// What a user's filter names outside the tree runs as before; what it names in the
// tree, or what was put there since, does not.
func TestWhichFiltersCount(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "init", "-q")
	gittest.Write(t, dir, map[string]string{"run.sh": "", "tools/run": "", "clean/file": "", "smudge/file": "", "prog": ""})
	var want []string
	for name, filter := range map[string]struct {
		command string
		counts  bool
	}{
		"lfs":        {"git-lfs clean -- %f", true},
		"lfs2":       {"git lfs smudge -- %f", true},
		"crypt":      {`"git-crypt" smudge --key-name=x`, true},
		"cat":        {"cat", true},
		"tr":         {"tr a-z A-Z", true},
		"sed":        {`sed 's/ *$//'`, true},
		"sed2":       {`sed "s/\\t/ /"`, true},
		"pointer":    {`test -n "$GIT_LFS_SKIP_SMUDGE" && cat # lfs`, true},
		"absolute":   {"/usr/bin/expand -t 4", true},
		"file":       {"./run.sh", false},
		"deep":       {"tools/run x", false},
		"whole":      {filepath.Join(dir, "tools/run"), false},
		"argument":   {"awk -f prog", false},
		"shell":      {"sh", false},
		"shell2":     {"/bin/bash -s", false},
		"module":     {"python3 -m filter", false},
		"second":     {"cat && ./run.sh", false},
		"redirected": {"awk '{print}' <tools/run", false},
		"variable":   {"$PWD/run.sh", false},
		"inner":      {"`pwd`/run.sh", false},
		"glob":       {"./ru?.sh", false},
		"ssh":        {"ssh -i ~/.ssh/work host.example cat", true},
		"built":      {"bin/built", false},
		"installed":  {"node_modules/.bin/tidy --stdin", false},
		"beside":     {"../" + filepath.Base(dir) + "-tools/tidy", true},
		"listed":     {"PATH=tools:$PATH tidy", false},
		"listed2":    {"PATH=/usr/bin:" + dir + "/tools tidy", false},
		"listed3":    {"PATH=/usr/bin:$PATH expand", true},
		"pipe":       {"tr '|' x | LC_ALL=C fold", true},
		"macros":     {"m4", false},
		"input":      {"sed -f /dev/stdin", false},
		"input2":     {"cat - | sed -f-", false},
		"awk":        {"awk '{system($0)}'", false},
		"sed3":       {"sed 's/.*/&/e'", false},
		"sed4":       {"sed -n 's|a|b|p;1e'", false},
		"database":   {"cat && sqlite3", false},
		"unknown":    {"somefilter --stdin", false},
		"linked":     {"../linked", false},
	} {
		gittest.Git(t, dir, "config", "filter."+name+".clean", filter.command)
		if !filter.counts {
			want = append(want, "filter."+name+".clean", "filter."+name+".required")
		}
	}
	if dd, err := exec.LookPath("dd"); err != nil || os.Symlink(dd, filepath.Join(dir, "../linked")) != nil {
		t.Fatal(err)
	}
	program, ok := git.Find(dir)
	if !ok {
		t.Fatal("no git")
	}
	guarded, err := program.Guard(t.Context(), dir, filepath.Join(dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		slices.Sort(want)
		got, err := guarded.Unheeded(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got\n%s", err, diff)
		}
	}
	check()
	gittest.Git(t, dir, "config", "filter.tr.clean", "tr x y") // since then
	gittest.Git(t, dir, "config", "filter.new.smudge", "cat")
	want = append(want, "filter.tr.clean", "filter.tr.required", "filter.new.smudge", "filter.new.required")
	check()
}

// A word that names nothing yet may be the name of a file of the tree later: the
// setting counts until then.
func TestWhatComesToBeNamedIsJudged(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	global := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(global, []byte("[filter \"mine\"]\n\tclean = sed -f late.sed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	gittest.Git(t, dir, "init", "-q")
	gittest.Git(t, dir, "config", "filter.awk.clean", "iconv -f late.awk")
	gittest.Git(t, dir, "config", "core.sshCommand", "ssh -F late.ssh")
	gittest.Write(t, dir, map[string]string{"word/file": ""})
	gittest.Git(t, dir, "config", "filter.folder.clean", "tr word other")
	program, ok := git.Find(dir)
	if !ok {
		t.Fatal("no git")
	}
	guarded, err := program.Guard(t.Context(), dir, filepath.Join(dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"filter.awk.clean", "core.sshCommand", "filter.folder.clean", "filter.mine.clean"}
	said := func() (out []string) {
		t.Helper()
		for _, name := range settings {
			value, err := guarded.Run(t.Context(), git.Call{Dir: dir, Args: []string{"config", name}})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, strings.TrimSpace(value))
		}
		return out
	}
	first := []string{"iconv -f late.awk", "ssh -F late.ssh", "tr word other", "sed -f late.sed"}
	if diff := cmp.Diff(first, said()); diff != "" {
		t.Errorf("before: -want +got\n%s", diff)
	}
	if err := os.RemoveAll(filepath.Join(dir, "word")); err != nil {
		t.Fatal(err)
	}
	gittest.Write(t, dir, map[string]string{"late.awk": "", "late.ssh": "", "late.sed": "", "word": ""})
	if diff := cmp.Diff([]string{"", "ssh", "", ""}, said()); diff != "" {
		t.Errorf("after: -want +got\n%s", diff)
	}
}

// How commits are signed names no program: git is told it as it stands, whatever lies in
// the tree.
func TestTheFormatOfSignaturesCounts(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "init", "-q")
	gittest.Git(t, dir, "config", "gpg.format", "ssh")
	gittest.Write(t, dir, map[string]string{"ssh": ""})
	program, ok := git.Find(dir)
	if !ok {
		t.Fatal("no git")
	}
	guarded, err := program.Guard(t.Context(), dir, filepath.Join(dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := guarded.Run(t.Context(), git.Call{Dir: dir, Args: []string{"log", "--all"}}); err != nil {
		t.Error(err)
	}
}

// The user's own settings count, but not those in a file that the tree holds.
func TestTheUsersSettingsCountOutsideTheTree(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "init", "-q")
	gittest.Write(t, dir, map[string]string{
		"auth":               "",
		"dotfiles/gitconfig": "[filter \"theirs\"]\n\tclean = " + dir + "/run\n[core]\n\tsshCommand = " + dir + "/run\n",
	})
	global := filepath.Join(t.TempDir(), "gitconfig")
	text := "[include]\n\tpath = " + dir + "/dotfiles/gitconfig\n[filter \"mine\"]\n\tclean = expand\n" +
		"[filter \"within\"]\n\tclean = " + dir + "/dotfiles/gitconfig\n" +
		"[alias]\n\tall = !git add . && git commit\n[credential]\n\thelper = !/usr/bin/tool auth get\n"
	if err := os.WriteFile(global, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	program, ok := git.Find(dir)
	if !ok {
		t.Fatal("no git")
	}
	guarded, err := program.Guard(t.Context(), dir, filepath.Join(dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := guarded.Unheeded(t.Context())
	if diff := cmp.Diff([]string{
		"filter.theirs.clean", "filter.theirs.required", "filter.within.clean", "filter.within.required",
	}, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
	for name, want := range map[string]string{
		"core.sshcommand": "ssh", "filter.mine.clean": "expand", "filter.theirs.clean": "", "filter.within.clean": "",
		"alias.all": "!git add . && git commit", "credential.helper": "!/usr/bin/tool auth get",
	} {
		out, err := guarded.Run(t.Context(), git.Call{Dir: dir, Args: []string{"config", name}})
		if err != nil || out != want+"\n" {
			t.Errorf("%s is %q, %v", name, out, err)
		}
	}
}
