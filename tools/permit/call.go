package permit

import (
	"context"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools"
	"github.com/plan-engine/plan/tools/outside"
)

// Read makes a call to be judged of a tool's arguments: what the tool says that
// it touches. Dir is where the tool works.
func Read(tool string, args []byte, dir string) Call {
	about := tools.Describe(tool, args, dir)
	return Call{
		Tool:     tool,
		Command:  about.Command,
		Paths:    about.Paths,
		Mentions: about.Mentions,
		Untold:   about.Untold,
		Dir:      dir,
	}
}

// Hooks asks the policy about every call of a conversation whose tools work in
// dir. With force nothing is asked or denied, and the journal says of what.
func (p *Policy) Hooks(dir string, force bool) loop.Hooks {
	return loop.Hooks{BeforeTool: func(_ context.Context, t loop.ToolCall) loop.Decision {
		call := Read(t.Info.Name, t.Args, dir)
		call.Untold = call.Untold && t.Info.Writes && t.Info.Delegate == nil
		call.Foreign = outside.IsOutside(t.Info.Name) && !outside.Reads(t.Info)
		r := p.Judge(call)
		decided := plan.ApprovalResolved{
			Call:   t.ID,
			Reason: r.Reason,
			By:     "policy",
			Rule:   r.Rule,
		}
		switch {
		case r.Action == Allow:
			return loop.Decision{Verb: loop.Pass}
		case force:
			decided.Approved, decided.Reason = true, "forced: "+r.Reason
			return loop.Decision{Verb: loop.Pass, Record: []plan.Body{decided}}
		case r.Action == Ask:
			return loop.Decision{
				Verb:   loop.Confirm,
				Reason: r.Reason,
				Rule:   r.Rule,
				Grant:  r.Grant,
				Effect: effect(dir, t.Info.Name, t.Args),
			}
		}
		return loop.Decision{
			Verb:   loop.Block,
			Reason: r.Reason,
			Rule:   r.Rule,
			Record: []plan.Body{decided},
		}
	}}
}

// mostEffect is how much of an effect is shown, in bytes.
const mostEffect = 16 << 10

// effect is what a call would do, as a person can judge it; "" where its
// arguments say it all.
func effect(dir, tool string, args []byte) string {
	about := tools.Describe(tool, args, dir)
	if about.Preview == nil {
		return ""
	}
	text := about.Preview()
	if len(text) <= mostEffect {
		return text
	}
	return strings.ToValidUTF8(text[:mostEffect], "") +
		"\n(the rest is left out here; the arguments in the journal have all of it)"
}
