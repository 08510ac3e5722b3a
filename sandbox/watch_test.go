package sandbox_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/sandbox"
)

// helperDeadlock makes the test binary wait for ever.
const helperDeadlock = "SANDBOX_TEST_DEADLOCK"

// waitForEver locks what is locked. The signals keep the runtime from seeing it.
func waitForEver() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	var mu sync.Mutex
	mu.Lock()
	mu.Lock() // for ever
}

func TestWhatIsStopped(t *testing.T) {
	t.Parallel()
	const soon, never = 400 * time.Millisecond, time.Minute
	stopped := sandbox.Result{ExitCode: 124, TimedOut: true}
	hung := sandbox.Result{ExitCode: 124, TimedOut: true, Hung: true}
	begun := hung
	begun.Output = []byte("begun\n")
	cases := map[string]struct {
		line    string
		quiet   time.Duration
		limit   time.Duration
		bare    bool // what is to be seen is seen without a wall, too
		want    sandbox.Result
		running string // one that still ran
	}{
		"waits for ever": {
			line:    "echo begun; sleep 8650",
			quiet:   soon,
			limit:   never,
			bare:    true,
			want:    begun,
			running: "sleep 8650",
		},
		"waits for what it started": {
			line:    "(sleep 8651; :) & wait",
			quiet:   soon,
			limit:   never,
			bare:    true,
			want:    hung,
			running: "sleep 8651",
		},
		"is busy": {
			line:    "while :; do :; done",
			quiet:   3 * soon, // a loop has to get the processor in it
			limit:   4 * soon,
			bare:    true,
			want:    stopped,
			running: "bash -o pipefail -c while :; do :; done",
		},
		"waits, and nobody minds": {
			line:    "sleep 8652",
			limit:   soon,
			bare:    true,
			want:    stopped,
			running: "sleep 8652",
		},
		"prints now and then": {
			line:  "for i in 1 2 3 4 5 6 7 8; do sleep 0.2; echo $i; done",
			quiet: 2 * soon,
			limit: never,
			bare:  true,
			want:  sandbox.Result{Output: []byte("1\n2\n3\n4\n5\n6\n7\n8\n")},
		},
		"waits for a busy session": {
			line:    "setsid sh -c 'while kill -0 $PPID; do :; done' 2>/dev/null & wait",
			quiet:   3 * soon, // a loop has to get the processor in it
			limit:   4 * soon,
			bare:    true,
			want:    stopped,
			running: "sh -c while kill -0 $PPID; do :; done",
		},
		"has lost a busy session": {
			line:    "(setsid sh -c 'while :; do :; done' >/dev/null 2>&1 &); exec sleep 8653",
			quiet:   3 * soon, // a loop has to get the processor in it
			limit:   4 * soon,
			want:    stopped,
			running: "sh -c while :; do :; done",
		},
	}
	sample := sampledAt(t, cases, func(name string, level sandbox.Level) bool {
		return cases[name].bare || level != sandbox.LevelNone
	})
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		for _, name := range sample[level] {
			c := cases[name]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w, _ := newYard(t).wall(t, level, sandbox.Policy{Discard: true})
				got, err := w.Shell(newShell(t)).Run(t.Context(), sandbox.Command{
					Line:    c.line,
					Dir:     w.Dir(),
					Timeout: c.limit,
					Quiet:   c.quiet,
				})
				if err != nil {
					t.Fatal(err)
				}
				found := slices.ContainsFunc(got.Running, func(line string) bool { return strings.HasSuffix(line, c.running) })
				if found != (c.running != "") {
					t.Errorf("still running: %q, want %q", got.Running, c.running)
				}
				got.Duration, got.Running = 0, nil
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	})
}

// TestLastWords: what is sent SIGQUIT may say where it stands, also where the
// process that started it is gone sooner; what does not end is killed.
func TestLastWords(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		line, want string
		grace      time.Duration
	}{
		"said": {
			"trap 'echo last words; exit 3' QUIT; sleep 8660 >/dev/null 2>&1 & wait",
			"last words\n",
			4 * time.Second,
		},
		"said, and ended well": {
			"trap 'echo last words; exit 0' QUIT; sleep 8661 >/dev/null 2>&1 & wait",
			"last words\n",
			4 * time.Second,
		},
		"said late": {
			"(trap 'sleep 0.3; echo late words; exit' QUIT; sleep 8662 >/dev/null 2>&1 & wait) & " +
				"trap 'exit 1' QUIT; wait",
			"late words\n",
			4 * time.Second,
		},
		"held back by the parent": {
			"trap 'exit 1' QUIT; " +
				"said=$(trap 'echo last words; exit' QUIT; sleep 8666 >/dev/null 2>&1 & wait); echo \"$said\"",
			"last words\n",
			4 * time.Second,
		},
		"none, without grace": {
			"trap 'echo last words; exit' QUIT; sleep 8663 >/dev/null 2>&1 & wait",
			"",
			0,
		},
		"for ever": {
			"trap 'echo some words' QUIT; while :; do sleep 8664 & wait; done",
			"some words\n",
			300 * time.Millisecond,
		},
		"deaf": {
			"trap '' QUIT; sleep 8665",
			"",
			300 * time.Millisecond,
		},
	}
	sample := sampledAt(t, cases, atAnyLevel)
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		for _, name := range sample[level] {
			c := cases[name]
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w, _ := newYard(t).wall(t, level, sandbox.Policy{Discard: true})
				got, err := w.Shell(newShell(t)).Run(t.Context(), sandbox.Command{
					Line:    c.line,
					Dir:     w.Dir(),
					Timeout: time.Minute,
					Quiet:   300 * time.Millisecond,
					Grace:   c.grace,
				})
				if err != nil || got.ExitCode != 124 || !got.Hung || got.Duration > 15*time.Second {
					t.Errorf("%+v, %v", got, err)
				}
				if diff := cmp.Diff(c.want, string(got.Output)); diff != "" {
					t.Errorf("output (-want +got):\n%s", diff)
				}
			})
		}
	})
}

func TestADeadlockedGoProgramShowsItsGoroutines(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		y := newYard(t)
		for _, dir := range []string{y.tree, y.stand} {
			if err := os.WriteFile(filepath.Join(dir, "program"), program, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w, _ := y.wall(t, level, sandbox.Policy{Discard: true})
		got, err := w.Shell(newShell(t)).Run(t.Context(), sandbox.Command{
			// A copy that no process forked by another test can still have open for writing.
			Line: "cp program hanging && " + helperDeadlock + "=1 ./hanging; echo ended with $?", Dir: w.Dir(),
			Timeout: time.Minute, Quiet: time.Second, Grace: 20 * time.Second,
		})
		if err != nil || !got.Hung || !slices.Contains(got.Running, "./hanging") {
			t.Errorf("hung %v, running %q, %v", got.Hung, got.Running, err)
		}
		for _, want := range []string{"SIGQUIT", "goroutine ", "sandbox_test.waitForEver", "ended with 2"} {
			if !strings.Contains(string(got.Output), want) {
				t.Errorf("no %q in the output:\n%s", want, got.Output)
			}
		}
	})
}

func TestCancelDuringTheGrace(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		w, _ := newYard(t).wall(t, level, sandbox.Policy{Discard: true})
		for _, line := range []string{
			"trap 'echo asked' QUIT; while :; do sleep 8670; done",
			"(trap 'echo asked' QUIT; while :; do sleep 8671; done) & trap 'exit 1' QUIT; wait", // its first process ends
		} {
			fastest := time.Hour // a busy machine may make any one of them late
			for range 5 {
				ctx, cancel := context.WithCancel(t.Context())
				var at time.Time
				_, err := w.Shell(newShell(t)).Run(ctx, sandbox.Command{
					Line:    line,
					Dir:     w.Dir(),
					Timeout: 200 * time.Millisecond,
					Grace:   time.Minute,
					Output: func([]byte) {
						at = time.Now()
						cancel()
					},
				})
				fastest = min(fastest, time.Since(at))
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			if fastest > 100*time.Millisecond {
				t.Errorf("%s: stopped after %v", line, fastest)
			}
		}
	})
}
