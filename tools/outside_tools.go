package tools

import (
	"context"
	_ "embed"
	"encoding/json"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools/outside"
)

//go:embed find_tools.md
var findToolsDoc string

//go:embed use_tool.md
var useToolDoc string

type findToolsArgs struct {
	Query string `json:"query" jsonschema_description:"words of what is to be done, such as: create issue; empty for a list"`
}

type useToolArgs struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

// findToolsTool searches the tools that come from outside.
func findToolsTool() builtin {
	finder := spec("find_tools", findToolsDoc)
	finder.Finds = true
	return builtin{
		info: loop.Info{
			Spec:     finder,
			Effect:   plan.EffectReplay,
			Category: loop.CategoryMCP,
		},
		purpose:  Outside,
		describe: described(func(_ string, a findToolsArgs) Call { return Call{Title: a.Query} }),
		open:     opens((*Set).runFindTools),
	}
}

func (s *Set) runFindTools(ctx context.Context, args findToolsArgs, _ loop.Input) (loop.Result, error) {
	if s.cfg.Outside == nil {
		return loop.Failed(noneOutside), nil
	}
	return s.cfg.Outside.Find(ctx, args.Query), nil
}

// noneOutside is what a model reads where no tools come from outside.
const noneOutside = "There are no tools from outside here. Go on without."

// useToolTool calls a tool that the conversation is not offered by name.
func useToolTool() builtin {
	return builtin{
		info: loop.Info{
			Spec:     spec("use_tool", useToolDoc),
			Effect:   plan.EffectUnknown,
			Category: loop.CategoryMCP,
		},
		purpose:  Outside,
		describe: described(describeUse),
		open: func(s *Set, info loop.Info) loop.Tool {
			info.Schema = schemaOf[useToolArgs]()
			return &useTool{info: info, from: s.cfg.Outside}
		},
	}
}

// describeUse describes the call that is meant.
func describeUse(dir string, a useToolArgs) Call {
	args, err := plan.MarshalCompact(a.Arguments)
	if err != nil || a.Arguments == nil {
		args = []byte("{}")
	}
	c := describeUnknown(dir, args)
	c.Title, c.Detail, c.IsPath = outside.RuleName(a.Name), c.Title, false
	c.Preview = func() string { return c.Title + " " + string(args) }
	return c
}

// useTool leads to the tool that a call names.
type useTool struct {
	info loop.Info
	from Outsiders
}

var _ loop.Dispatcher = (*useTool)(nil)

// Info implements loop.Tool.
func (u *useTool) Info() loop.Info { return u.info }

// Dispatch implements loop.Dispatcher.
func (u *useTool) Dispatch(args json.RawMessage) (loop.Tool, json.RawMessage, string) {
	var call outside.Call
	if err := json.Unmarshal(args, &call); err != nil {
		return nil, nil, "The arguments cannot be read: " + err.Error()
	}
	if u.from == nil {
		return nil, nil, noneOutside
	}
	if len(call.Arguments) == 0 || string(call.Arguments) == "null" {
		call.Arguments = json.RawMessage("{}")
	}
	tool, problem := u.from.Dispatch(call.Name)
	return tool, call.Arguments, problem
}

// Named implements loop.Dispatcher.
func (u *useTool) Named(name string) loop.Tool {
	if u.from == nil || !outside.IsOutside(name) {
		return nil
	}
	tool, _ := u.from.Dispatch(name)
	return tool
}

// Run implements loop.Tool, for callers that do not ask what a call means.
func (u *useTool) Run(ctx context.Context, in loop.Input) (loop.Result, error) {
	tool, inner, problem := u.Dispatch(in.Args)
	if tool == nil {
		return loop.Failed(problem), nil
	}
	in.Args = inner
	return tool.Run(ctx, in)
}
