package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/pty"
)

// TestWhatIsTypedAnswersWhatIsAsked: a process in the foreground of a real terminal
// hears nothing that was typed before a question, leaves nothing to the shell, and a
// question that was closed takes no line away from the next one.
func TestWhatIsTypedAnswersWhatIsAsked(t *testing.T) {
	t.Parallel()
	keys, tty := pty.Open(t)
	steps, proceed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestForeground$")
	cmd.Env = append(os.Environ(), "PLAN_TEST_FOREGROUND=yes")
	cmd.Stdin, cmd.ExtraFiles, cmd.Stderr = tty, []*os.File{steps}, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stdout)
	await := func(text string) {
		t.Helper()
		var seen strings.Builder
		for !strings.HasSuffix(seen.String(), text) {
			b, err := reader.ReadByte()
			if err != nil {
				t.Fatalf("waiting for %q: %v after %q", text, err, seen.String())
			}
			seen.WriteByte(b)
			if _, got, _ := strings.Cut(seen.String(), "decided: "); b == '\n' && got != "" && !strings.HasSuffix(seen.String(), text) {
				t.Fatalf("waiting for %q: decided %s", text, got)
			}
		}
	}
	types := func(line string) {
		t.Helper()
		if _, err := keys.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	step := func() {
		t.Helper()
		if _, err := proceed.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	typeAhead := func() {
		t.Helper()
		types("y\ny\n")
		for ready := false; !ready; {
			if ready, err = readable(int(tty.Fd()), time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	const asked = "leave it for later): "
	typeAhead()
	step()
	await(asked)
	types("n not that\n")
	await("decided: deny not that true\n")

	step()
	await(asked)
	types("y") // half a line, of a question that is closed
	step()
	await("It was decided elsewhere just now.\n")
	await("decided:   false\n")
	step()
	await(asked)
	types("n the next one\n")
	await("decided: deny the next one true\n")

	typeAhead()
	step()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if left, err := readable(int(tty.Fd()), 0); left || err != nil {
		t.Errorf("something is left to the shell: %t, %v", left, err)
	}
}

// TestForeground is the process that TestWhatIsTypedAnswersWhatIsAsked starts.
func TestForeground(t *testing.T) {
	t.Parallel()
	if os.Getenv("PLAN_TEST_FOREGROUND") == "" {
		return
	}
	steps := os.NewFile(3, "steps")
	await := func() {
		if _, err := io.ReadFull(steps, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	p := Person{
		Terminal: Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr},
		Hide:     func() {},
		Show:     func() {},
	}
	end := engine.End{Parked: &plan.Parked{Waiting: []plan.WaitingCall{{Call: "k1", Name: "bash"}}}}
	decide := func(ctx context.Context) {
		letters, ok := p.Decide(ctx, end, nil)
		letters = append(letters, host.Letter{})
		fmt.Printf("decided: %s %s %t\n", letters[0].Kind, letters[0].Text, ok)
	}
	await()
	decide(t.Context())
	await()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		await()
		cancel(host.ErrDecidedElsewhere)
	}()
	decide(ctx)
	await()
	decide(t.Context())
	await()
	p.Discard()
}
