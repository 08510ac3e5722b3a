// Package hosttest gives tests a small world to run in: a repository, a home, and a model
// that plays a scenario. What drives runs and what shows them is tested in the same one.
package hosttest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/model/scripted"
)

// Greet is a scenario that has greet.sh say hello. A request with the words "Ask first" is
// asked about before anything changes.
//
//go:embed greet.toml
var Greet string

// World is a repository whose greet.sh says hullo, a home, and a scripted model.
type World struct {
	Dir    string // in which all of it is
	Repo   string
	Config host.Config
	Model  *scripted.Server
}

// New makes a world for a test, which ends with it. Its model plays the replies, and
// [Greet] behind them.
func New(t testing.TB, replies ...string) *World {
	t.Helper()
	return Play(t, strings.Join(replies, "")+Greet)
}

// Play is New with a scenario of the test's own.
func Play(t testing.TB, scenario string) *World {
	t.Helper()
	w, err := Make(scenario)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Make makes a world that its caller closes, such as an Example.
func Make(scenario string) (*World, error) {
	played, err := scripted.Parse([]byte(scenario))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "plan-world-")
	if err != nil {
		return nil, fmt.Errorf("make a world: %w", err)
	}
	model, err := scripted.Start(context.Background(), played, scripted.Config{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	w := &World{
		Dir:   dir,
		Repo:  filepath.Join(dir, "repo"),
		Model: model,
	}
	w.Config.Environ = append(os.Environ(),
		"HOME="+dir,
		"PLAN_HOME="+filepath.Join(dir, "home"),
		"OPENAI_BASE_URL="+model.URL(),
		"OPENAI_API_KEY="+model.Key(),
		"PLAN_MODEL=scripted",
	)
	if err := w.commitGreet(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *World) commitGreet() error {
	err := errors.Join(
		os.MkdirAll(w.Repo, 0o755),
		os.WriteFile(filepath.Join(w.Repo, "greet.sh"), []byte("echo hullo\n"), 0o644),
	)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-qm", "first"}} {
		if err == nil {
			_, err = gittest.Run(context.Background(), w.Repo, args...)
		}
	}
	return err
}

// Close ends the model and removes the world.
func (w *World) Close() error {
	return errors.Join(w.Model.Close(), os.RemoveAll(w.Dir))
}
