package auto

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/oneline"
)

// Evidence is what one run did, as its journal tells.
type Evidence struct {
	Run      plan.RunID
	Request  string
	Repo     string   // the path of its repository
	Files    []string // that Implement wrote
	Commands []string // run by Implement with exit status zero
	Checks   []string // run by the engine, passing at the end
	Steps    []string // of the plan that was carried out
	Gaps     []string // that reviews found and that were closed
}

// Gather reads a journal.
func Gather(events iter.Seq2[plan.Event, error]) (Evidence, error) {
	var e Evidence
	g := journalReader{calls: map[string]plan.ToolStart{}, gaps: map[string]plan.Gap{}}
	for ev, err := range events {
		if err != nil {
			return Evidence{}, fmt.Errorf("read the journal: %w", err)
		}
		g.readEvent(&e, ev)
	}
	for _, id := range g.order {
		if gap := g.gaps[id]; !gap.Open() {
			e.Gaps = append(e.Gaps, gap.Gap)
		}
	}
	for _, c := range g.checks {
		if c.Passed() {
			e.Checks = append(e.Checks, c.Command)
		}
	}
	return e, nil
}

// journalReader is what is known so far of a journal that is being read.
type journalReader struct {
	calls  map[string]plan.ToolStart
	gaps   map[string]plan.Gap
	order  []string
	checks []plan.CheckResult // of the latest attempt
}

func (g *journalReader) readEvent(e *Evidence, ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.RunStart:
		e.Run, e.Request, e.Repo = ev.Run, b.Request, b.Repo
	case plan.PlanMade:
		e.Steps = steps(b.Text)
	case plan.StateChange:
		if b.To == plan.Reviewing {
			g.checks = nil
		}
	case plan.CheckEnd:
		if !b.Baseline && !b.Cancelled {
			g.checks = append(g.checks, b.CheckResult)
		}
	case plan.GapChange:
		if _, known := g.gaps[b.ID]; !known {
			g.order = append(g.order, b.ID)
		}
		g.gaps[b.ID] = b.Gap
	case plan.ToolStart:
		g.calls[b.Call] = b
	case plan.ToolEnd:
		g.readToolResult(e, ev.Phase, b)
	}
}

// readToolResult notes what a call of a tool shows: a command that worked, or files that
// were written.
func (g *journalReader) readToolResult(e *Evidence, p plan.Phase, b plan.ToolEnd) {
	if b.Error || b.Status != "" || p != plan.Implement {
		return
	}
	call := g.calls[b.Call]
	command := oneline.Of(call.CommandLine())
	if command != "" && b.ExitCode != nil && *b.ExitCode == 0 {
		e.Commands = add(e.Commands, command)
	}
	if call.ChangesFiles() {
		for file := range b.Files {
			e.Files = add(e.Files, file)
		}
		slices.Sort(e.Files)
	}
}

func add(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

var numbered = lazy.Regexp(`(?m)^\s{0,3}\d{1,3}[.)]\s+(.+)$`)

// steps are the numbered lines of a plan.
func steps(text string) []string {
	var out []string
	for _, m := range numbered().FindAllStringSubmatch(text, -1) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	return out
}

// Common is what several runs had in common.
type Common struct {
	Requests []string
	Files    []string
	Commands []string
	Checks   []string
	Steps    []string
	Gaps     []string
	Words    []string // content words that all requests share
}

// Compare finds what runs had in common: what more than half of them share.
// Files that differ are named by their folder and ending. Steps that no two
// runs share are those of the latest run. Every gap counts, since each cost a
// cycle.
func Compare(evidence []Evidence) Common {
	var c Common
	var files, commands, checks, plans [][]string
	var kinds []string
	for _, e := range evidence {
		c.Requests = add(c.Requests, e.Request)
		kinds = add(kinds, Kind(e.Request, e.Repo))
		files = append(files, e.Files)
		commands = append(commands, e.Commands)
		checks = append(checks, e.Checks)
		plans = append(plans, e.Steps)
		for _, g := range e.Gaps {
			c.Gaps = add(c.Gaps, g)
		}
	}
	if c.Files = sharedByMost(files, unchanged); len(c.Files) == 0 {
		c.Files = sharedByMost(files, pattern)
	}
	c.Commands, c.Checks = sharedByMost(commands, unchanged), sharedByMost(checks, unchanged)
	if c.Steps = sharedByMost(plans, unchanged); len(c.Steps) == 0 && len(evidence) > 0 {
		c.Steps = evidence[len(evidence)-1].Steps
	}
	c.Words = sharedWords(kinds)
	return c
}

func unchanged(s string) string { return s }

// pattern is a file's folder and ending.
func pattern(file string) string { return path.Join(path.Dir(file), "*"+path.Ext(file)) }

// sharedByMost lists what more than half of the lists hold, in the order in which it
// first comes.
func sharedByMost(lists [][]string, key func(string) string) []string {
	count := map[string]int{}
	var order []string
	for _, list := range lists {
		var mine []string
		for _, s := range list {
			mine = add(mine, key(s))
		}
		for _, k := range mine {
			if count[k]++; count[k] == 1 {
				order = append(order, k)
			}
		}
	}
	return slices.DeleteFunc(order, func(k string) bool { return count[k]*2 <= len(lists) })
}
