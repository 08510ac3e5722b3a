package permit_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/permit"
)

// TestToolsFromOutsideAreAskedAbout: unless they only read, or a rule allows them by name, in
// either form of it.
func TestToolsFromOutsideAreAskedAbout(t *testing.T) {
	t.Parallel()
	p := policy(t, furnished(t), permit.Layer{Name: "config.toml", Rules: []permit.Rule{
		{Tool: "mcp.github.add_*", Action: permit.Allow},
		{Tool: "mcp__notes__put", Action: permit.Allow},
		{Tool: "mcp.github.get_secret", Action: permit.Deny},
		{Command: "rm *", Action: permit.Deny},
	}})
	for _, c := range []struct {
		tool  string
		reads bool
		args  string
		want  loop.Verb
	}{
		{"mcp__github__delete_repo", false, `{}`, loop.Confirm},
		{"mcp__github__delete_repo", false, `{"path":"a.txt"}`, loop.Confirm},
		{"mcp__github__get_issue", true, `{"path":"a.txt"}`, loop.Pass},
		{"mcp__github__get_secret", true, `{}`, loop.Block},
		{"mcp__github__add_comment", false, `{}`, loop.Pass},
		{"mcp__github__add_comment", false, `{"command":"rm -r x"}`, loop.Block},
		{"mcp__notes__put", false, `{}`, loop.Pass},
		{"mcp__notes__other", false, `{"command":"ls"}`, loop.Confirm},
		{"openapi__pets__addPet", false, `{}`, loop.Confirm},
		{"somewhere__else", false, `{}`, loop.Pass}, // no tool from outside: its maker's business
	} {
		info := loop.Info{
			Spec:   loop.Spec{Name: c.tool},
			Effect: plan.EffectUnknown,
			Writes: true,
		}
		if c.reads {
			info.Effect, info.Writes = plan.EffectReplay, false
		}
		d := p.Hooks("", false).BeforeTool(context.Background(), loop.ToolCall{Info: info, Args: json.RawMessage(c.args)})
		if d.Verb != c.want {
			t.Errorf("%s %s: %s (%s), want %s", c.tool, c.args, d.Verb, d.Reason, c.want)
		}
		if d.Verb == loop.Confirm && d.Grant != (plan.Grant{Tool: c.tool}) {
			t.Errorf("%s: a yes for the run would allow %+v", c.tool, d.Grant)
		}
	}
}
