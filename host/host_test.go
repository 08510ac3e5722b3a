package host_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

// An imported journal chooses no folder in which the user's commands run.
func TestAnImportedRunHasNoFolderForCommands(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	ctx := t.Context()
	h := host.New(w.Config)
	end, err := h.Run(ctx, host.Request{
		Dir:  w.Repo,
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

	w.Config.Environ = append(w.Config.Environ, "PLAN_HOME="+filepath.Join(w.Dir, "other"))
	h = host.New(w.Config)
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
