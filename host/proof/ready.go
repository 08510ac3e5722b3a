package proof

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

const (
	// probeLimit bounds one look at whether a check can start. One that takes longer
	// has started.
	probeLimit = time.Minute
	// maxWhy bounds the line that says why it cannot, in bytes.
	maxWhy = 200
)

// starter finds out which commands can start where checks run, and remembers it.
type starter struct {
	walls *walls.Walls
	root  string
	path  string // where programs of the machine are looked for
	// redact takes secrets out of what a probe printed.
	redact func(string) string

	mu    sync.Mutex
	known map[string]string // why a command cannot start, "" where it can
}

// forget has everything looked at again: something was set up.
func (s *starter) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = nil
}

// recall is why a command cannot start, as far as that is known.
func (s *starter) recall(command string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[command]
}

// has reports whether the machine has a program.
func (s *starter) has(program string) bool {
	return slices.ContainsFunc(filepath.SplitList(s.path), func(dir string) bool {
		_, err := exec.LookPath(filepath.Join(dir, program))
		return err == nil
	})
}

// first is the first of the commands that can start, or just the first if none can.
func (s *starter) first(ctx context.Context, commands []string) string {
	if len(commands) == 1 {
		return commands[0]
	}
	why, err := s.startProblems(ctx, commands, true)
	if last := len(why) - 1; err == nil && why[last] == "" {
		return commands[last]
	}
	return commands[0]
}

// startProblems says of each of the commands why it cannot start here, "" where it can, or where
// only running it tells; till the first that can, if no more is wanted. One room serves
// for all of them.
func (s *starter) startProblems(ctx context.Context, commands []string, tillOne bool) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var room *phases.Room
	defer func() {
		if room != nil {
			_ = room.Close() // what is left is swept up later
		}
	}()
	open := func() (phases.Room, error) {
		if room != nil {
			return *room, nil
		}
		opened, err := s.walls.PhaseRoom(ctx, plan.Review, plan.Trees{})
		if err == nil {
			room = &opened
		}
		return opened, err
	}
	var out []string
	for _, command := range commands {
		why, err := s.find(ctx, command, open)
		if err != nil {
			return nil, err
		}
		if out = append(out, why); why == "" && tillOne {
			break
		}
	}
	return out, nil
}

// find says why a command cannot start, as it is known, or as a probe in a room shows.
// The caller holds the lock.
func (s *starter) find(ctx context.Context, command string, open func() (phases.Room, error)) (string, error) {
	if why, ok := s.known[command]; ok {
		return why, nil
	}
	why := ""
	if probe := checks.ProbeOf(s.root, command); probe.Line != "" && !s.isOfMachine(probe.Program) {
		room, err := open()
		if err != nil {
			return "", err
		}
		if why, err = s.look(ctx, room, probe.Line); err != nil {
			return "", err
		}
	}
	if s.known == nil {
		s.known = map[string]string{}
	}
	s.known[command] = why
	return why, nil
}

// look runs a probe.
func (s *starter) look(ctx context.Context, room phases.Room, line string) (string, error) {
	shell := room.Shell.With(checks.Env(room.Shell.Env(), room.Shell.Temp()))
	res, err := shell.Run(ctx, sandbox.Command{
		Line:    line,
		Dir:     room.Dir,
		Timeout: probeLimit,
	})
	if err != nil || res.ExitCode == 0 || res.TimedOut {
		return "", err
	}
	text, _ := sandbox.Cut(res.Output, len(res.Output)*len("\uFFFD"))
	lines := strings.Split(strings.TrimSpace(s.redact(text)), "\n")
	why := checks.NotStarted(plan.CheckResult{ExitCode: res.ExitCode, Output: s.redact(text)})
	if why == "" {
		why = "it cannot even say its version: " + oneline.CutBytes(oneline.Of(lines[len(lines)-1]), maxWhy)
	}
	return why, nil
}

// isOfMachine reports whether a program stands where every wall shows it.
func (s *starter) isOfMachine(program string) bool {
	if program == "" {
		return false
	}
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin"} {
		if !slices.Contains(filepath.SplitList(s.path), dir) {
			continue
		}
		if _, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return true
		}
	}
	return false
}

// Unready lists the checks that are known without a plan and cannot start here, with
// what most likely makes them possible. What was set up since the last look counts.
func (p *Proof) Unready(ctx context.Context) ([]plan.Unready, error) {
	p.starter.forget()
	p.looked.Store(nil)
	list := p.checks()
	commands := make([]string, len(list))
	for i, c := range list {
		commands[i] = c.Command
	}
	why, err := p.starter.startProblems(ctx, commands, false)
	if err != nil {
		return nil, err
	}
	var out []plan.Unready
	for i, c := range list {
		if why[i] != "" {
			out = append(out, plan.Unready{
				Check: c,
				Why:   why[i],
				Setup: checks.SetupFor(p.starter.root, c.Command, p.starter.has),
			})
		}
	}
	return out, nil
}

// checks are those that are known without a plan.
func (p *Proof) checks() []plan.Check {
	if p.Detected == nil {
		return p.Required
	}
	return p.Detected()
}

// Known lists the checks that are known without a plan, with what is known already of
// why one cannot start here. Nothing is looked into for it.
func (p *Proof) Known() []plan.Unready {
	var out []plan.Unready
	for _, c := range p.checks() {
		out = append(out, plan.Unready{Check: c, Why: p.starter.recall(c.Command)})
	}
	return out
}
