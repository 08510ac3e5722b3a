package phases_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

// TestGoingOnAnywhere stops the whole workflow after each of its commits, as a
// kill would, and plays it to its end in a new process, over a tree as it was
// then. Whatever is asked must have been asked, byte for byte, by the run that
// no one stopped.
func TestGoingOnAnywhere(t *testing.T) {
	t.Parallel()
	first := whole(t)
	bodies := map[string]bool{}
	for _, r := range first.requests() {
		bodies[string(r.body)] = true
	}
	for cut := range first.commits {
		t.Run(fmt.Sprint("after commit ", cut), func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"a.txt": "alpha\n"}
			past := slices.Concat(first.commits[:cut]...)
			if ended(past, "edit") {
				files["a.txt"] = "beta\n"
			}
			if ended(past, "write") {
				files["new.txt"] = "more\n"
			}
			b := setup(t, scenario(t, "whole.toml"), files)
			b.cfg.Instructions = []phases.Instruction{{Path: "AGENTS.md", Text: "HOUSE-RULES"}}
			b.commits, b.seq = first.commits[:cut:cut], int64(len(past))
			lost := openCall(past)
			j := play(t, b)
			b.balanced()
			if lost == "bash" || lost == "edit" || lost == "write" {
				return // the model was told that the outcome is not known, and says what it will
			}
			if !j.Approved {
				t.Errorf("judged %+v", j)
			}
			if diff := cmp.Diff(shape(untimed(first.events())), shape(untimed(b.events()))); diff != "" {
				t.Errorf("the journal is another (-whole +resumed):\n%s", diff)
			}
			for _, r := range b.requests() {
				if !bodies[string(r.body)] {
					t.Errorf("this request was never made by the whole run; it ends in\n%s", r.last())
				}
			}
		})
	}
}

// untimed leaves out what was run to weigh a verdict: how much of it is needed
// depends on what is known first.
func untimed(events []plan.Event) []plan.Event {
	return slices.DeleteFunc(slices.Clone(events), func(ev plan.Event) bool {
		start, _ := ev.Body.(plan.CheckStart)
		end, _ := ev.Body.(plan.CheckEnd)
		return start.Evidence != "" || end.Evidence != ""
	})
}

// ended says whether a call of the tool was recorded as done.
func ended(events []plan.Event, name string) bool {
	return slices.ContainsFunc(events, func(ev plan.Event) bool {
		end, ok := ev.Body.(plan.ToolEnd)
		return ok && end.Name == name
	})
}

// openCall names the tool that may not be run again and was running.
func openCall(events []plan.Event) string {
	open := map[string]string{}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case plan.ToolStart:
			if b.Effect != plan.EffectReplay {
				open[b.Call] = b.Name
			}
		case plan.ToolEnd:
			delete(open, b.Call)
		}
	}
	for _, name := range open {
		return name
	}
	return ""
}

// shape is what a journal says apart from the retries that a resume costs, the
// order of results that came at the same time, and times.
func shape(events []plan.Event) []string {
	var out, ends []string
	flush := func() {
		slices.Sort(ends)
		out = append(out, ends...)
		ends = nil
	}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case plan.Retry:
			continue
		case plan.ToolEnd:
			// The reviewer's copy has another name each time.
			ends = append(ends, strings.TrimSpace(fmt.Sprint("tool_end ", b.Call, " ", b.Name, " ", b.Error, b.Status)))
			continue
		case plan.ToolStart:
			flush()
			out = append(out, "tool_start "+b.Call+" "+string(b.Args))
		case plan.MessageEnd:
			flush()
			out = append(out, fmt.Sprint("message_end ", b.Role, " ", b.Text()))
		default:
			flush()
			out = append(out, fmt.Sprint(ev.Type(), " ", ev.Conv, " ", ev.Attempt))
		}
	}
	flush()
	return out
}
