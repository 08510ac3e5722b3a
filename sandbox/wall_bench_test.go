package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/sandbox/places"
)

// BenchmarkCommand is what a command costs at each level, beside a bare exec.
func BenchmarkCommand(b *testing.B) {
	dir, stand := b.TempDir(), b.TempDir()
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for _, level := range sandbox.Levels() {
		if sandbox.Try(b.Context(), level, shell, os.Environ()) != nil {
			continue
		}
		w, err := sandbox.NewWall(level, sandbox.Policy{Tree: dir, Discard: true, Copy: stand}, os.Environ())
		if err != nil {
			b.Fatal(err)
		}
		walled := w.Shell(shell)
		measure(b, string(level), func() error {
			_, err := walled.Run(b.Context(), sandbox.Command{Line: ":", Dir: dir})
			return err
		})
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	measure(b, "exec", func() error { return exec.CommandContext(b.Context(), "bash", "-c", ":").Run() })
}

// measure reports the median and the slowest of a hundred, without the first,
// which builds.
func measure(b *testing.B, name string, do func() error) {
	b.Run(name, func(b *testing.B) {
		if err := do(); err != nil {
			b.Fatal(err)
		}
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			if err := do(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	})
}

// BenchmarkWall is what a wall costs from its first command to its end, with the home in
// sight, which is how it was, and hidden but for what tools need.
func BenchmarkWall(b *testing.B) {
	dir, stand := b.TempDir(), b.TempDir()
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		b.Fatal(err)
	}
	env := os.Environ()
	home := places.Of(env, dir)
	for _, level := range sandbox.Levels() {
		if level == sandbox.LevelNone || sandbox.Try(b.Context(), level, shell, env) != nil {
			continue
		}
		for name, policy := range map[string]sandbox.Policy{
			"seen":   {},
			"hidden": {Home: home.Dir(), Shown: home.Shown(), Settings: home.Settings()},
		} {
			policy.Tree, policy.Discard, policy.Copy = dir, true, stand
			policy.Hidden = sandbox.Secrets(env)
			measure(b, string(level)+"/"+name, func() error {
				w, err := sandbox.NewWall(level, policy, env)
				if err != nil {
					return err
				}
				_, err = w.Shell(shell).Run(b.Context(), sandbox.Command{Line: ":", Dir: dir})
				return errors.Join(err, w.Close())
			})
		}
	}
}
