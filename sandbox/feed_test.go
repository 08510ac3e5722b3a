package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/plan-engine/plan/sandbox"
)

// TestACommandIsSpokenWith has a conversation with a command behind every kind of wall,
// for which other commands do not wait, and which ends with its context.
func TestACommandIsSpokenWith(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		y := newYard(t)
		shell := newShell(t)
		if level != sandbox.LevelNone {
			wall, err := sandbox.NewWall(level, sandbox.Policy{Tree: y.tree}, y.env())
			if err != nil {
				t.Fatal(err)
			}
			defer wall.Close()
			shell = wall.Shell(shell)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		reads, says := io.Pipe()
		hears, printed := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			_, err := shell.Run(ctx, sandbox.Command{
				Line:   "while read -r word; do echo \"heard $word\"; done; echo over; sleep 1000",
				Dir:    y.tree,
				Input:  []byte("first\n"),
				Feed:   reads,
				Output: func(p []byte) { _, _ = printed.Write(p) },
			})
			_ = reads.Close()
			ended <- errors.Join(err, printed.Close())
		}()
		lines := bufio.NewScanner(hears)
		hear := func(want string) {
			t.Helper()
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("it says %q; want %q", lines.Text(), want)
			}
		}
		hear("heard first")
		for i := range 3 {
			fmt.Fprintf(says, "word%d\n", i)
			hear(fmt.Sprintf("heard word%d", i))
			if res, err := shell.Run(t.Context(), sandbox.Command{Line: "echo beside", Dir: y.tree}); string(res.Output) != "beside\n" {
				t.Errorf("beside it: %q, %v", res.Output, err)
			}
		}
		if err := says.Close(); err != nil {
			t.Fatal(err)
		}
		hear("over")
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
}
