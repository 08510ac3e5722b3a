package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/pty"
)

// sessionSettings have a run begin with Implement, and one command decide.
const sessionSettings = "way = \"direct\"\n[checks]\nrequired = [\"sh check.sh\"]\n"

// TestSession: plan itself on a real terminal, with a person who lives there.
func TestSession(t *testing.T) {
	t.Parallel()
	r := newKillRange(t, "terminal.toml")
	for name, c := range map[string]struct {
		settings string
		args     []string
		story    func(t *testing.T, s *sitting)
	}{
		"lived in":  {sessionSettings, nil, isLivedIn},
		"gone":      {sessionSettings, nil, goesAway},
		"killed":    {sessionSettings + holdsItsEnd, nil, isKilled},
		"suspended": {sessionSettings, []string{"sh"}, isSuspended},
		"in line":   {sessionSettings, []string{"run", "Count in digits"}, isInLine},
		"left":      {sessionSettings, []string{"run", "Count in digits"}, isLeft},
		"in lines":  {sessionSettings, []string{"--plain"}, isInLines},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := r.newPlace(name)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(p.dir, "home", "config.toml")
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(c.settings), 0o600)); err != nil {
				t.Fatal(err)
			}
			if slices.Equal(c.args, []string{"sh"}) {
				c.story(t, p.sitBefore(t, []string{"PS1=ready "}, "bash", "--norc", "-i"))
				return
			}
			c.story(t, p.sitLive(t, c.args...))
		})
	}
}

// sitLive starts plan on a terminal that can be drawn on.
func (p place) sitLive(t *testing.T, args ...string) *sitting {
	t.Helper()
	return p.sitBefore(t, nil, append([]string{p.binary, "-C", p.repoDir()}, args...)...)
}

// again lets the held command go: the model begins again with what it heard.
func (s *sitting) again() {
	s.t.Helper()
	s.letGo("1")
	s.until("the command has ended", func() bool { return !exists(s.repoDir(), "go-1") })
	s.held("1")
}

// decides answers the calls of the way "in digits". What is typed before the question
// stands there answers nothing.
func (s *sitting) decides() {
	s.letGo("1")
	for _, c := range []struct{ about, answer string }{
		{"first", "n not that\r"}, {"second", "y\r"}, {"third", "n keep it\r"}, {"fourth", "y\r"},
	} {
		s.reads(c.about)
		s.reads("once")
		s.types(c.answer)
	}
}

var decided = []string{
	`deny {"command":"rm -rf first"} not that`,
	`approve {"command":"rm -rf second"}`,
	`deny {"command":"rm -rf third"} keep it`,
	`approve {"command":"rm -rf fourth"}`,
}

func (s *sitting) hasDecided(want []string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.decisions()); diff != "" {
		s.t.Errorf("the decisions (-want +got):\n%s", diff)
	}
}

// isLivedIn: a request is typed, the run is steered, the terminal gets another size, and
// what waits is decided; then one leaves, and nothing is left to the shell.
func isLivedIn(t *testing.T, s *sitting) {
	s.reads("change?")
	s.types("Count in digits\r")
	s.held("1")
	s.types("mind the spelling\r")
	s.reads("heard:")
	s.resize(60, 20)
	s.again()
	s.types("y") // is no answer to what is asked later
	s.decides()
	s.held("2")
	s.letGo("2")
	s.reads("approved")
	s.types("\x03") // what is written goes first
	s.types("\x03")
	s.reads("once more")
	s.types("\x03")
	s.reads("approved · 1 file") // what the shell keeps of it
	s.reads("plan show ")
	if code := s.ends(); code != plan.ExitOK {
		t.Errorf("it ended with %d", code)
	}
	if n := pty.Typed(t, s.tty); n > 0 {
		t.Errorf("%d bytes are left to the shell", n)
	}
	s.hasDecided(decided)
	var said []string
	for _, ev := range s.journal() {
		if b, ok := ev.Body.(plan.Steering); ok {
			said = append(said, b.Text)
		}
	}
	if diff := cmp.Diff([]string{"mind the spelling"}, said); diff != "" {
		t.Errorf("what was said (-want +got):\n%s", diff)
	}
}

// goesAway: a terminal that goes away parks the run; who comes back finds it, goes on,
// and decides.
func goesAway(t *testing.T, s *sitting) {
	s.reads("change?")
	s.types("Count in silence\r")
	s.held("1")
	if err := s.keys.Close(); err != nil {
		t.Fatal(err)
	}
	s.ends()
	s.elsewhere(0, "parked: interrupted", "list")
	s = s.sitLive(t)
	s.reads("interrupted")
	s.types("\x1b[B\r") // down
	s.reads("Parked")
	s.types("\r")
	s.reads("first")
	s.reads("once")
	s.elsewhere(0, "reads it at its next step", "deny", "0", "--reason", "not that")
	s.reads("elsewhere")
	s.reads("approved")
	s.types("\x03\x03")
	if code := s.ends(); code != plan.ExitOK {
		t.Errorf("it ended with %d", code)
	}
	if diff := cmp.Diff([]plan.ParkReason{plan.ParkInterrupted, plan.ParkApproval}, s.parks()); diff != "" {
		t.Errorf("parked for (-want +got):\n%s", diff)
	}
}

// isKilled: one Ctrl-C parks the run, and a second one, half a second later, ends the
// process, although something holds it up.
func isKilled(t *testing.T, s *sitting) {
	s.reads("change?")
	s.types("Count in digits\r")
	s.held("1")
	began := time.Now()
	s.types("\x03")
	s.until("the run comes to its end", func() bool { return exists(s.dir, "ending") })
	parked := s.parkedAt()
	if took := parked.Sub(began); took > 100*time.Millisecond {
		t.Logf("it parked after %s", took) // others compile beside it
	}
	s.types("\x03") // too soon
	gone := make(chan int)
	go func() { gone <- s.ends() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for code := -2; code == -2; {
		select {
		case <-tick.C:
			s.types("\x03")
		case code = <-gone:
			if took := time.Since(began); code != plan.ExitInterrupted || took < 500*time.Millisecond || exists(s.dir, "ended") {
				t.Errorf("it ended with %d after %s", code, took)
			}
		}
	}
	s.writes("end") // to the hook
	s.elsewhere(0, "parked: interrupted", "list")
}

// parkedAt is when the run parked.
func (s *sitting) parkedAt() time.Time {
	for _, ev := range s.journal() {
		if ev.Type() == plan.TypeParked {
			return ev.Time
		}
	}
	s.t.Fatal("it has not parked")
	return time.Time{}
}

// isSuspended: Ctrl-Z gives the terminal back to the shell, and the run goes on with the
// session.
func isSuspended(t *testing.T, s *sitting) {
	s.reads("ready")
	s.types(s.binary + " -C " + s.repoDir() + "\n")
	s.reads("change?")
	s.types("Count in digits\r")
	s.held("1")
	s.types("\x1a")
	s.reads("Stopped")
	s.types("echo still $((40+2))\n")
	s.reads("still 42")
	s.types("fg\n")
	s.reads("implement")
	s.decides()
	s.held("2")
	s.letGo("2")
	s.reads("approved")
	s.types("\x03\x03")
	s.reads("ready")
	s.types("exit\n")
	s.ends()
	s.hasDecided(decided)
}

// isLeft: one Ctrl-C parks what plan run draws, and the terminal is given back at once.
func isLeft(t *testing.T, s *sitting) {
	s.held("1")
	s.types("\x03")
	s.reads("plan resume")
	if code := s.ends(); code != plan.ExitInterrupted {
		t.Errorf("it ended with %d", code)
	}
	if took := time.Since(s.parkedAt()); took > 1500*time.Millisecond {
		t.Errorf("it left %s after it had parked", took) // 0.05 s where nothing else runs
	}
}

// isInLine: plan run on a terminal takes guidance and decisions, leaves the story and the
// summary in the scrollback, and ends with the run's exit code.
func isInLine(t *testing.T, s *sitting) {
	s.held("1")
	s.types("mind\r")
	s.reads("heard:")
	s.again()
	s.decides()
	s.held("2")
	s.letGo("2")
	s.reads("digits.") // what the implementer said
	s.reads("evidence")
	s.reads("next")
	if code := s.ends(); code != plan.ExitOK {
		t.Errorf("it ended with %d", code)
	}
	s.hasDecided(decided)
}

// isInLines: with --plain the session is lines of text, and nothing is drawn over what
// stands there; what is written after the end continues the run.
func isInLines(t *testing.T, s *sitting) {
	s.reads("What should change? ")
	s.types("Count in digits\n")
	s.held("1")
	s.letGo("1")
	for _, c := range []struct{ about, answer string }{
		{"first", "n not that\n"}, {"second", "y\n"}, {"third", "n keep it\n"}, {"fourth", "y\n"},
	} {
		s.reads(c.about)
		s.reads("leave it for later): ")
		s.types(c.answer)
	}
	s.held("2")
	s.letGo("2")
	const asked = "for another run): " // what is typed before is thrown away
	s.reads("is approved. What you write continues it")
	s.reads(asked)
	s.types("/diff\n")
	s.reads("a.txt")
	s.reads(asked)
	s.types("/runs\n")
	s.reads("  1  ")
	s.reads(asked)
	s.types("/quit\n")
	if code := s.ends(); code != plan.ExitOK {
		t.Errorf("it ended with %d", code)
	}
	s.hasDecided(decided)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn {
		t.Error("something was drawn")
	}
}
