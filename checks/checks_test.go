package checks_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRunner makes a runner that hides the word hunter2 and whose commands all
// take 1.5 s by its clock.
func newRunner(t *testing.T, cfg checks.Config) *checks.Runner {
	t.Helper()
	var now time.Time
	shell, err := sandbox.New(sandbox.Config{Now: func() time.Time {
		now = now.Add(1500 * time.Millisecond)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Shell = shell
	cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") }
	return checks.New(cfg)
}

func TestRun(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		cfg  checks.Config
		line string
		want plan.CheckResult
	}{
		"passes":           {line: "cat here", want: plan.CheckResult{Output: "content\n"}},
		"fails":            {line: "echo why >&2; exit 3", want: plan.CheckResult{ExitCode: 3, Output: "why\n"}},
		"pipe hides":       {line: "(echo FAIL; exit 2) | tee log | cat", want: plan.CheckResult{ExitCode: 2, Output: "FAIL\n"}},
		"killed":           {line: "kill -SEGV $$", want: plan.CheckResult{ExitCode: 139}},
		"out of time":      {cfg: checks.Config{Timeout: 200 * time.Millisecond}, line: "echo begun; exec sleep 1000", want: plan.CheckResult{ExitCode: 124, TimedOut: true, Running: []string{"sleep 1000"}, Output: "begun\n[This check was stopped after 200ms. Still running: sleep 1000.]\n"}},
		"secret":           {line: "echo it is hunter2", want: plan.CheckResult{Output: "it is [secret]\n"}},
		"binary":           {line: `printf 'a\377\000b'`, want: plan.CheckResult{Output: "a\uFFFDb"}},
		"not a command":    {line: "no-such-command 2>/dev/null", want: plan.CheckResult{ExitCode: 127, NotStarted: "its program is not there, or cannot be run"}},
		"fits to the byte": {cfg: checks.Config{OutputLimit: 10}, line: "printf 0123456789", want: plan.CheckResult{Output: "0123456789"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "here"), []byte("content\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			check := plan.Check{Command: c.line, Required: true, Source: plan.CheckFlag}
			got, blobs, err := newRunner(t, c.cfg).Run(t.Context(), dir, plan.Trial{Check: check}, nil)
			if err != nil || blobs != nil {
				t.Fatalf("blobs %v, error %v", blobs, err)
			}
			c.want.Check, c.want.DurationMS = check, 1500
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// A secret that the cut would go through is gone before the cut is made.
func TestLongOutputIsCutAndKeptWhole(t *testing.T) {
	t.Parallel()
	line := "printf 'first%sé' hunter2; for i in $(seq 2000); do echo line $i; done; printf last"
	got, blobs, err := newRunner(t, checks.Config{OutputLimit: 20}).Run(t.Context(), t.TempDir(), plan.Trial{Check: plan.Check{Command: line}}, nil)
	if err != nil || len(blobs) != 1 {
		t.Fatalf("%d blobs, error %v", len(blobs), err)
	}
	whole := string(blobs[0].Data)
	if !strings.HasPrefix(whole, "first[secret]éline 1\n") || !strings.HasSuffix(whole, "line 2000\nlast") {
		t.Errorf("the blob is not the whole redacted output: %.40q", whole)
	}
	sum := sha256.Sum256(blobs[0].Data)
	if hash := hex.EncodeToString(sum[:]); blobs[0].Hash != hash || got.Blob != hash {
		t.Errorf("hash %q, the result says %q, want %q", blobs[0].Hash, got.Blob, hash)
	}
	if !strings.HasPrefix(got.Output, "first[secret") || !strings.HasSuffix(got.Output, "000\nlast") ||
		!strings.Contains(got.Output, "bytes left out") || !utf8.ValidString(got.Output) {
		t.Errorf("output %q", got.Output)
	}
}

func TestDefaultOutputLimit(t *testing.T) {
	t.Parallel()
	got, blobs, err := newRunner(t, checks.Config{}).Run(t.Context(), t.TempDir(), plan.Trial{Check: plan.Check{Command: "head -c 10000 /dev/zero | tr '\\0' x"}}, nil)
	if err != nil || len(blobs) != 1 || strings.Count(got.Output, "x") != 8<<10 {
		t.Errorf("kept %d bytes, %d blobs, error %v", strings.Count(got.Output, "x"), len(blobs), err)
	}
}

func TestUpdateShowsWholeRedactedLines(t *testing.T) {
	t.Parallel()
	var shown []string
	line := `printf 'one\nhun'; printf 'ter2 \303'; printf '\251\nend \377'`
	_, _, err := newRunner(t, checks.Config{}).Run(t.Context(), t.TempDir(), plan.Trial{Check: plan.Check{Command: line}}, func(s string) {
		shown = append(shown, s)
		if !strings.HasSuffix(s, "\n") && !strings.HasPrefix(s, "end") {
			t.Errorf("shown before its end: %q", s)
		}
	})
	if diff := cmp.Diff("one\n[secret] é\nend \uFFFD", strings.Join(shown, "")); err != nil || diff != "" {
		t.Errorf("error %v, shown (-want +got):\n%s", err, diff)
	}
}

func TestUpdateDoesNotWaitForEverForALine(t *testing.T) {
	t.Parallel()
	var pieces, size int
	trial := plan.Trial{Check: plan.Check{Command: "head -c 100000 /dev/zero | tr '\\0' x"}}
	_, _, err := newRunner(t, checks.Config{}).Run(t.Context(), t.TempDir(), trial, func(s string) {
		pieces++
		size += len(s)
	})
	if err != nil || pieces < 2 || size != 100000 {
		t.Errorf("%d bytes in %d pieces, error %v", size, pieces, err)
	}
}

func TestCancelIsAnErrorWithWhatThereWas(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	got, _, err := newRunner(t, checks.Config{}).Run(ctx, t.TempDir(), plan.Trial{Check: plan.Check{Command: "echo begun hunter2; sleep 1000"}}, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
	if got.Output != "begun [secret]\n" {
		t.Errorf("output %q", got.Output)
	}
}

func TestShellThatCannotStartIsAnError(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	_, _, err := newRunner(t, checks.Config{}).Run(t.Context(), gone, plan.Trial{Check: plan.Check{Command: "true"}}, nil)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), gone) {
		t.Errorf("error %v", err)
	}
}
