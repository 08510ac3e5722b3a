package git_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/worktree/git"
)

// The user's helpers are asked for the host alone that is meant, and no one is asked
// for what they do not have.
func TestCredential(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := filepath.Join(dir, "settings")
	text := "[credential \"https://a.example\"]\n\thelper = \"!f() { cat >>" + dir + "/asked; echo username=me; echo password=secret; }; f\"\n" +
		"[core]\n\taskPass = \"echo asked >" + dir + "/prompted #\"\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	program := git.At(path, []string{
		"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + settings, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	})
	name, password, err := program.Credential(t.Context(), "a.example")
	if err != nil || name != "me" || password != "secret" {
		t.Errorf("%q, %q, %v", name, password, err)
	}
	if _, _, err := program.Credential(t.Context(), "b.example"); !errors.Is(err, git.ErrNoCredential) {
		t.Errorf("another host: %v", err)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if want := "capability[]=authtype\ncapability[]=state\nprotocol=https\nhost=a.example\n"; err != nil || len(asked) > len(want)+60 {
		t.Errorf("the helper was asked %q, %v", asked, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "prompted")); err == nil {
		t.Error("a prompt was opened")
	}
}
