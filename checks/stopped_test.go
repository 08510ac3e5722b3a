package checks_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
)

func TestAStoppedCheckSaysWhy(t *testing.T) {
	t.Parallel()
	const soon = 300 * time.Millisecond
	cases := map[string]struct {
		cfg   checks.Config
		trial plan.Trial
		want  plan.CheckResult
	}{
		"hangs": {
			checks.Config{Quiet: soon},
			plan.Trial{
				Check: plan.Check{Command: "echo begun; exec sleep 8680"},
				Took:  12340 * time.Millisecond,
			},
			plan.CheckResult{
				Hung:    true,
				Running: []string{"sleep 8680"},
				Output: "begun\n" +
					"[This check hung: no output and no processor time for 300ms. " +
					"Before the change it took 12s. Still running: sleep 8680.]\n",
			},
		},
		"hangs before the change": {
			checks.Config{Quiet: soon},
			plan.Trial{
				Check:    plan.Check{Command: "printf begun; exec sleep 8681"},
				Took:     time.Minute,
				Baseline: true,
			},
			plan.CheckResult{
				Hung:    true,
				Running: []string{"sleep 8681"},
				Output: "begun\n" +
					"[This check hung: no output and no processor time for 300ms. Still running: sleep 8681.]\n",
			},
		},
		"takes too long": {
			checks.Config{Timeout: soon, Grace: soon},
			plan.Trial{
				Check: plan.Check{Command: "exec bash busy"},
				Took:  50 * time.Millisecond,
			},
			plan.CheckResult{
				Running: []string{"bash busy"},
				Output: "[This check was stopped after 300ms; before the change it took 50ms. " +
					"Still running: bash busy.]\n",
			},
		},
		"its own bound": {
			checks.Config{Timeout: time.Hour},
			plan.Trial{
				Check: plan.Check{Command: "exec sleep 8682", TimeoutMS: 300},
			},
			plan.CheckResult{
				Running: []string{"sleep 8682"},
				Output:  "[This check was stopped after 300ms. Still running: sleep 8682.]\n",
			},
		},
		"says where it stands": {
			checks.Config{Quiet: soon},
			plan.Trial{
				Check: plan.Check{Command: "exec bash waits hunter2"},
			},
			plan.CheckResult{
				Hung:    true,
				Running: []string{"sleep 8683", "bash waits [secret]"},
				Output: "last words of [secret]\n" +
					"[This check hung: no output and no processor time for 300ms. Still running: sleep 8683; bash waits [secret].]\n",
			},
		},
	}
	files := map[string]string{
		"busy":  "while :; do :; done",
		"waits": "trap 'echo last words of hunter2; exit' QUIT; sleep 8683 >/dev/null 2>&1 & wait",
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, blobs, err := newRunner(t, c.cfg).Run(t.Context(), dir, c.trial, nil)
			if err != nil || blobs != nil {
				t.Fatalf("blobs %v, error %v", blobs, err)
			}
			c.want.Check, c.want.ExitCode, c.want.TimedOut, c.want.DurationMS = c.trial.Check, 124, true, 1500
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}
