package host

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/worktree"
)

// answers is a person who says yes to folders of some name.
type answers struct {
	Person
	yes   string
	asked []string
}

func (a *answers) Trust(_ context.Context, it trust.Item) bool {
	a.asked = append(a.asked, it.Path)
	return a.yes != "" && strings.HasSuffix(it.Path, a.yes)
}

// Commands see a folder that a manifest names when the user has agreed to it. A person
// is asked once, and elsewhere the user is told what to do.
func TestNamedFoldersNeedTrust(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Write(t, home, map[string]string{
		"src/lib/x":           "",
		"src/more/x":          "",
		"src/repo/sub/own/x":  "",
		"src/repo/app/go.mod": "module x\nreplace own => ../sub/own\n",
		"src/repo/go.mod":     "module x\nreplace lib => ../lib\nreplace more => ../more\n",
	})
	root := filepath.Join(home, "src/repo")
	gittest.Git(t, root, "init", "-q")
	gittest.Git(t, root, "add", "-A")
	gittest.Git(t, root, "commit", "-q", "-m", "start")
	repo, err := worktree.Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	h := New(Config{
		Environ: []string{"HOME=" + home, "PLAN_HOME=" + t.TempDir()},
		Note:    func(text string) { notes = append(notes, text) },
	})
	paths, err := h.Paths()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what         string
		person       *answers
		auto         bool
		shown, asked string
		notes        int
	}{
		{what: "no one is there", notes: 2},
		{what: "no one is waited for", person: &answers{yes: "lib"}, auto: true, notes: 2},
		{what: "a person", person: &answers{yes: "lib"}, shown: "lib", asked: "go.mod#../lib go.mod#../more", notes: 1},
		{what: "the same again", person: &answers{yes: "more"}, shown: "lib", notes: 1},
		{what: "no one again", shown: "lib", notes: 1},
	} {
		notes = nil
		s := &session{host: h, repo: repo, autoApprove: step.auto}
		if step.person != nil {
			s.face.Person = step.person
		} else {
			step.person = &answers{}
		}
		shown, err := s.shownFolders(t.Context(), paths, root)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(strings.Join(shown, " "), filepath.Join(home, "src")+"/", "")
		if asked := strings.Join(step.person.asked, " "); got != step.shown || asked != step.asked || len(notes) != step.notes {
			t.Errorf("%s: shown %q, asked %q, notes %q", step.what, got, asked, notes)
		}
		for _, note := range notes {
			if !strings.Contains(note, `show = ["`+filepath.Join(home, "src")) {
				t.Errorf("%s: %s", step.what, note)
			}
		}
	}
	gittest.Write(t, home, map[string]string{"src/repo/go.mod": "module x\nreplace lib => ../lib/../../other\n", "other/x": ""})
	s := &session{host: h, repo: repo}
	if shown, err := s.shownFolders(t.Context(), paths, root); len(shown) > 0 || err != nil {
		t.Errorf("another folder: %q, %v", shown, err)
	}
	if claims, err := h.repositoryClaims(root); err != nil || len(claims) != 1 || claims[0].Kind != "folder" {
		t.Errorf("%+v, %v", claims, err)
	}
}
