package host_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

//go:embed testdata/greet.toml
var greet []byte

// world is a repository, a home and a scripted model server.
type world struct {
	dir    string
	repo   string
	config host.Config
	server *scripted.Server
}

// newWorld makes one, with a greet.sh that says hullo.
func newWorld() *world {
	w, err := makeWorld()
	if err != nil {
		log.Fatal(err)
	}
	return w
}

func makeWorld() (*world, error) { return makeWorldWith(greet) }

// makeWorldWith makes one whose model plays a scenario.
func makeWorldWith(toml []byte) (*world, error) {
	scenario, err := scripted.Parse(toml)
	if err != nil {
		return nil, err
	}
	server, err := scripted.Start(context.Background(), scenario, scripted.Config{})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "plan-host-")
	if err != nil {
		return nil, err
	}
	w := &world{
		dir:    dir,
		repo:   filepath.Join(dir, "repo"),
		server: server,
	}
	w.config.Environ = append(os.Environ(),
		"HOME="+dir,
		"PLAN_HOME="+filepath.Join(dir, "home"),
		"OPENAI_BASE_URL="+server.URL(),
		"OPENAI_API_KEY="+server.Key(),
		"PLAN_MODEL=scripted",
	)
	err = os.MkdirAll(w.repo, 0o755)
	err = errors.Join(err, os.WriteFile(filepath.Join(w.repo, "greet.sh"), []byte("echo hullo\n"), 0o644))
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "first"},
	} {
		git := exec.Command("git", args...)
		git.Dir = w.repo
		err = errors.Join(err, git.Run())
	}
	return w, err
}

func (w *world) close() {
	if err := errors.Join(w.server.Close(), os.RemoveAll(w.dir)); err != nil {
		log.Fatal(err)
	}
}

// An imported journal chooses no folder in which the user's commands run.
func TestAnImportedRunHasNoFolderForCommands(t *testing.T) {
	t.Parallel()
	w := newWorld()
	defer w.close()
	ctx := t.Context()
	h := host.New(w.config)
	end, err := h.Run(ctx, host.Request{
		Dir:  w.repo,
		Text: "Make greet.sh say hello",
	}, host.Face{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := h.Load(ctx, end.Run)
	if err != nil {
		t.Fatal(err)
	}
	if dir, err := h.WorkFolder(ctx, run); err != nil || dir != run.Start.Repo {
		t.Errorf("of a run that was begun here: %q, %v", dir, err)
	}
	var journal bytes.Buffer
	if _, err := h.Export(ctx, end.Run, &journal); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	w.config.Environ = append(w.config.Environ, "PLAN_HOME="+filepath.Join(w.dir, "other"))
	h = host.New(w.config)
	defer h.Close()
	if _, err := h.Import(ctx, bytes.NewReader(journal.Bytes())); err != nil {
		t.Fatal(err)
	}
	if run, err = h.Load(ctx, end.Run); err != nil {
		t.Fatal(err)
	}
	if dir, err := h.WorkFolder(ctx, run); err == nil {
		t.Errorf("a journal from elsewhere chooses %s", dir)
	}
}
