package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/pty"
)

// sitting is plan in the foreground of a terminal, with a person before it.
type sitting struct {
	place
	t         *testing.T
	cmd       *exec.Cmd
	keys, tty *os.File

	mu     sync.Mutex
	screen bytes.Buffer // what stands on it since the last look
	drawn  bool         // it is more than lines of text, and colours
	more   chan struct{}
}

// sit starts plan on a terminal of its own, where it asks in lines.
func (p place) sit(t *testing.T, args ...string) *sitting {
	t.Helper()
	return p.sitBefore(t, []string{"NO_COLOR=1"}, append([]string{p.binary, "-C", p.repoDir()}, args...)...)
}

// sitBefore starts a program on a terminal of its own.
func (p place) sitBefore(t *testing.T, env []string, command ...string) *sitting {
	t.Helper()
	s := &sitting{
		place: p,
		t:     t,
		cmd:   exec.Command(command[0], command[1:]...),
		more:  make(chan struct{}, 1),
	}
	s.keys, s.tty = pty.Open(t)
	s.resize(100, 30)
	s.cmd.Env = append(append(p.env(), "TERM=xterm"), env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.tty, s.tty, s.tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	go s.watch()
	return s
}

// moving is what moves the cursor, erases, or turns something on or off.
var moving = regexp.MustCompile(`\x1b(\[[0-9;?>]*[A-Za-ln-z]|[78M])`)

// watch reads the screen until the terminal is closed.
func (s *sitting) watch() {
	part := make([]byte, 4096)
	for {
		n, err := s.keys.Read(part)
		s.mu.Lock()
		s.screen.Write(part[:n])
		s.drawn = s.drawn || moving.Match(part[:n])
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// reads waits until a text stands on the screen, and looks away from what stands up
// to it.
func (s *sitting) reads(text string) {
	s.t.Helper()
	late := time.After(time.Minute)
	for {
		s.mu.Lock()
		_, rest, ok := strings.Cut(s.screen.String(), text)
		if ok {
			s.screen.Reset()
			s.screen.WriteString(rest)
		}
		stands := s.screen.String()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.more:
		case <-late:
			s.t.Fatalf("waiting for %q, the screen is %q", text, stands)
		}
	}
}

func (s *sitting) types(text string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// typesAhead types lines, and sees to it that they wait to be read.
func (s *sitting) typesAhead(text string) {
	s.t.Helper()
	s.types(text)
	s.until("what was typed is there", func() bool { return pty.Typed(s.t, s.tty) >= len(text) })
}

// until waits for something that no event tells of.
func (s *sitting) until(what string, holds func() bool) {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); !holds(); {
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatal("waiting in vain until " + what)
		}
	}
}

// held waits until the run's command is held, and letGo lets it go on.
func (s *sitting) held(n string) {
	s.t.Helper()
	s.until("command "+n+" is held", func() bool { return exists(s.repoDir(), "at-"+n) })
}

func (s *sitting) letGo(n string) {
	s.t.Helper()
	s.writes("repo/go-" + n)
}

// writes makes an empty file.
func (p place) writes(name string) {
	if err := os.WriteFile(filepath.Join(p.dir, name), nil, 0o600); err != nil {
		p.t.Error(err)
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// ends waits for the end of plan, and returns its exit code, -1 if it was killed.
func (s *sitting) ends() int {
	s.t.Helper()
	killer := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer killer.Stop()
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// elsewhere runs plan in another process, and looks for what it says.
func (s *sitting) elsewhere(code int, says string, args ...string) {
	s.t.Helper()
	got, said := s.start(0, 0, args...)
	if got != code || !strings.Contains(said, says) {
		s.t.Errorf("plan %s: exit code %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, says, said)
	}
}

// decisions are the decisions in the run's journal, by call and in order.
func (s *sitting) decisions() []string {
	calls := map[string]string{}
	var out []string
	for _, ev := range s.journal() {
		switch b := ev.Body.(type) {
		case plan.ApprovalRequired:
			calls[b.Call] = string(b.Args)
		case plan.ApprovalResolved:
			word := "deny"
			if b.Approved {
				word = "approve"
			}
			out = append(out, strings.TrimSpace(strings.Join([]string{word, calls[b.Call], b.Reason}, " ")))
		}
	}
	return out
}

func (s *sitting) journal() []plan.Event {
	s.t.Helper()
	runs := s.runs()
	if len(runs) != 1 {
		s.t.Fatalf("there are %d runs", len(runs))
	}
	return runs[0]
}

// parks are the reasons that the run has parked for.
func (s *sitting) parks() []plan.ParkReason {
	var out []plan.ParkReason
	for _, ev := range s.journal() {
		if b, ok := ev.Body.(plan.Parked); ok {
			out = append(out, b.Reason)
		}
	}
	return out
}

// holdsItsEnd is a hook that says when it begins and ends, and waits in between.
const holdsItsEnd = `
[[hooks]]
event = "session_end"
command = "touch $HOME/ending; until test -e $HOME/end; do sleep 0.02; done; touch $HOME/ended"
outside = true
`

// TestAtATerminal: plan itself in the foreground of a real terminal, with what
// people and other processes do to it meanwhile.
func TestAtATerminal(t *testing.T) {
	t.Parallel()
	r := newKillRange(t, "terminal.toml")
	for name, c := range map[string]struct {
		way, settings string
		story         func(t *testing.T, s *sitting)
	}{
		"asked":       {"in digits", "", isAsked},
		"hung-up":     {"in silence", "", hangsUp},
		"interrupted": {"in silence", holdsItsEnd, isInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := r.newPlace(name)
			if err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				"plan.md":          "Mend a.txt.\n\n## Files\n- a.txt\n",
				"home/config.toml": c.settings,
			} {
				file = filepath.Join(p.dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			c.story(t, p.sit(t, "run", "--from-plan", filepath.Join(p.dir, "plan.md"), "--check", "sh check.sh", "Count "+c.way))
		})
	}
}

// isAsked: nothing that was typed before a question answers it or reaches the shell,
// and what another process decides closes the question.
func isAsked(t *testing.T, s *sitting) {
	const asked = "leave it for later): "
	s.held("1")
	s.typesAhead("y\ny\n")
	s.letGo("1")
	s.reads("rm -rf first")
	s.reads(asked)
	s.types("n not that\n")

	s.reads("rm -rf second")
	s.reads(asked)
	s.types("y") // half a line, of a question that is closed
	s.elsewhere(1, "is not what you were shown", "approve", "0", "--digest", "00")
	s.elsewhere(0, "reads it at its next step", "approve", "0")
	s.reads("It was decided elsewhere just now.")

	s.reads("rm -rf third")
	s.reads(asked)
	s.elsewhere(1, "say which one is meant", "approve", "0")
	third := s.waiting()[0].Call
	s.elsewhere(0, "reads it at its next step", "deny", "0", third, "--reason", "keep it")
	s.reads("It was decided elsewhere just now.")
	s.reads("rm -rf fourth")
	s.reads(asked)
	s.elsewhere(1, "it was denied by person at", "approve", "0", third)
	s.types("y\n")

	s.held("2")
	s.elsewhere(1, "was approved by person at", "approve", "0")
	s.typesAhead("rm -rf /tmp/nothing\n")
	s.types("and half a li")
	s.letGo("2")
	if code := s.ends(); code != plan.ExitOK {
		t.Errorf("it ended with %d", code)
	}
	if n := pty.Typed(t, s.tty); n > 0 {
		t.Errorf("%d bytes are left to the shell", n)
	}
	s.types("\n") // would end the half line
	s.until("the line is ended", func() bool { return pty.Typed(t, s.tty) > 0 })
	if n := pty.Typed(t, s.tty); n != 1 {
		t.Errorf("with half a line, %d bytes are left to the shell", n)
	}
	want := []string{
		`deny {"command":"rm -rf first"} not that`,
		`approve {"command":"rm -rf second"}`,
		`deny {"command":"rm -rf third"} keep it`,
		`approve {"command":"rm -rf fourth"}`,
	}
	if diff := cmp.Diff(want, s.decisions()); diff != "" {
		t.Errorf("the decisions (-want +got):\n%s", diff)
	}
}

// waiting is what the run waits with.
func (s *sitting) waiting() []plan.WaitingCall {
	s.t.Helper()
	for _, ev := range s.journal() {
		if b, ok := ev.Body.(plan.Parked); ok && len(b.Waiting) > 1 {
			return b.Waiting
		}
	}
	s.t.Fatal("no two calls have waited")
	return nil
}

// hangsUp: a terminal that goes away parks the run once, while it works and while it
// asks; it is resumed, and goes on to the end.
func hangsUp(t *testing.T, s *sitting) {
	hangUp := func() {
		if err := s.keys.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.held("1")
	hangUp()
	if code := s.ends(); code != plan.ExitInterrupted {
		t.Errorf("it ended with %d", code)
	}
	s.elsewhere(0, "parked: interrupted", "list")
	if diff := cmp.Diff([]plan.ParkReason{plan.ParkInterrupted}, s.parks()); diff != "" {
		t.Errorf("parked for (-want +got):\n%s", diff)
	}

	s = s.sit(t, "resume")
	s.reads("leave it for later): ")
	hangUp()
	if code := s.ends(); code != plan.ExitWaiting && code != plan.ExitInterrupted {
		t.Errorf("it ended with %d", code)
	}
	s.elsewhere(0, "parked: approval", "list")
	s.elsewhere(0, "plan resume", "approve", "0")
	s.elsewhere(1, "was already approved by person at", "approve", "0")
	s.elsewhere(0, "approved", "resume")
	if diff := cmp.Diff([]plan.ParkReason{plan.ParkInterrupted, plan.ParkApproval}, s.parks()); diff != "" {
		t.Errorf("parked for (-want +got):\n%s", diff)
	}
}

// isInterrupted: two Ctrl-C at once stop the run as one does, and one that comes
// later ends the process at once.
func isInterrupted(t *testing.T, s *sitting) {
	s.held("1")
	for range 2 {
		if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	s.until("the run comes to its end", func() bool { return exists(s.dir, "ending") })
	s.writes("end")
	if code := s.ends(); code != plan.ExitInterrupted || !exists(s.dir, "ended") {
		t.Errorf("it ended with %d, without its end", code)
	}
	if diff := cmp.Diff([]plan.ParkReason{plan.ParkInterrupted}, s.parks()); diff != "" {
		t.Errorf("parked for (-want +got):\n%s", diff)
	}

	for _, name := range []string{"ending", "end", "ended"} {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s = s.sit(t, "resume")
	defer s.writes("end") // to the hook
	s.reads("leave it for later): ")
	began := time.Now()
	s.types("\x03")
	s.until("the run comes to its end", func() bool { return exists(s.dir, "ending") })
	gone := make(chan int)
	go func() { gone <- s.ends() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		s.types("\x03")
		select {
		case <-tick.C:
			continue
		case code := <-gone:
			if took := time.Since(began); code != plan.ExitInterrupted || took < 500*time.Millisecond || exists(s.dir, "ended") {
				t.Errorf("it ended with %d after %s", code, took)
			}
		}
		break
	}
	s.elsewhere(0, "parked: approval", "list")
}

func (s *sitting) resize(columns, rows uint16) {
	s.t.Helper()
	if err := unix.IoctlSetWinsize(int(s.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		s.t.Fatal(err)
	}
}
