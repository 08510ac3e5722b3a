package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// story is what happens in a run.
type story struct {
	files  map[string]string // of the repository; greetFiles where it is nil
	made   string            // a line that makes what git does not have, after the commit
	config string            // the user's config.toml
	flags  []string
	verify string // the plan's commands

	round                    // the first implement and review
	more    []round          // the later ones
	replies []scripted.Reply // tried before those that are made of the rest
}

// round is an implement and the review after it.
type round struct {
	build  []string // the implementer's commands
	closes string   // what it closes with
	ran    []string // the reviewer's commands
	says   []string // its answers to the first question, the second, …; the last one is repeated
}

// filled is a story with another's parts in the place of its empty ones.
func (s story) filled(from story) story {
	if s.files == nil {
		s.files = from.files
	}
	s.made = cmp.Or(s.made, from.made)
	s.config = cmp.Or(s.config, from.config)
	s.verify = cmp.Or(s.verify, from.verify)
	s.closes = cmp.Or(s.closes, from.closes)
	s.flags = orThese(s.flags, from.flags)
	s.build = orThese(s.build, from.build)
	s.ran = orThese(s.ran, from.ran)
	s.says = orThese(s.says, from.says)
	s.more = orThese(s.more, from.more)
	return s
}

func orThese[T any](a, b []T) []T {
	if a != nil {
		return a
	}
	return b
}

// scenario is what the model says in a story.
func (s story) scenario() *scripted.Scenario {
	planned := "# Plan\n## Files\n- greet.sh\n## Steps\n1. Change it.\n"
	if s.verify != "" {
		planned += "## Verify\n~~~\n" + s.verify + "\n~~~\n"
	}
	out := []scripted.Reply{
		{Phase: "explore", Text: "**What is asked**: another greeting.\n**Where it happens**: where it greets."},
		{Phase: "plan", Text: planned},
	}
	for i, r := range append([]round{s.round}, s.more...) {
		out = append(out, calls("implement", i+1, r.build)...)
		out = append(out, scripted.Reply{Phase: "implement", Attempt: i + 1, Text: cmp.Or(r.closes, "Done.")})
		out = append(out, calls("review", i+1, r.ran)...)
		for n, text := range r.says {
			answer := scripted.Reply{Phase: "review", Attempt: i + 1, Text: text}
			if n < len(r.says)-1 {
				answer.User = n + 1
			}
			out = append(out, answer)
		}
	}
	out = slices.DeleteFunc(out, func(r scripted.Reply) bool {
		return slices.ContainsFunc(s.replies, func(first scripted.Reply) bool { return inPlaceOf(first, r) })
	})
	return &scripted.Scenario{Replies: append(slices.Clone(s.replies), out...)}
}

// inPlaceOf reports whether one reply is served wherever the other would be.
func inPlaceOf(first, r scripted.Reply) bool {
	turn := first.Turn == nil || r.Turn != nil && *first.Turn == *r.Turn
	return first.Phase == r.Phase && turn && (first.User == 0 || first.User == r.User)
}

// calls are replies that run commands, one a turn.
func calls(phase string, attempt int, commands []string) []scripted.Reply {
	var out []scripted.Reply
	for turn, c := range commands {
		r := scripted.Reply{Phase: phase, Attempt: attempt, Turn: &turn, Calls: []scripted.Call{bash(c)}}
		if phase == "review" || attempt == 1 { // an implementer goes on with its conversation
			r.User = 1
		}
		out = append(out, r)
	}
	return out
}

func bash(command string) scripted.Call {
	return scripted.Call{Name: "bash", Args: map[string]any{"command": command}}
}

// done is a DONE that claims these commands to have exited with 0.
func done(commands ...string) string {
	var list []plan.RanCommand
	for _, c := range commands {
		list = append(list, plan.RanCommand{Command: c})
	}
	text, err := json.Marshal(map[string]any{"verdict": plan.Done, "commands": list})
	if err != nil {
		panic(err) // a list of strings
	}
	return string(text)
}

// doneWith is a DONE that claims theTest, with another part of a verdict.
func doneWith(part string) string {
	return `{"verdict": "DONE", ` + part + `, "commands": ["` + theTest + `"]}`
}

// doneBeside is a DONE that also says why these checks fail.
func doneBeside(checks string, commands ...string) string {
	item := `"checklist": [{"item": "` + checks + `", "met": true, "evidence": "it failed before, for another reason"}]`
	return strings.TrimSuffix(done(commands...), "}") + ", " + item + "}"
}

// verdict is a verdict as a reviewer writes it.
func verdict(v plan.Verdict) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a verdict is strings and numbers
	}
	return string(text)
}
