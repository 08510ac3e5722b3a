package phases

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/tools"
	"github.com/plan-engine/plan/tools/outside"
)

// taskTool is the tool that hands a task to a sub-agent.
const taskTool = "task"

// taskTools are what sub-agents have in every phase: they look and change
// nothing, so that several can work at the same time.
func taskTools() []string { return tools.Names(tools.Inspect) }

// AddTask offers the tool `task` to the phases of a kit, as their last one.
func (k *Kit) AddTask() error {
	prompt, err := promptFile(taskTool)
	if err != nil {
		return err
	}
	k.Prompts[taskTool] = prompt
	k.Tools[taskTool] = loop.SubAgent(loop.Delegate{Name: taskTool}).Info().Spec
	for _, p := range plan.Phases() {
		k.Offer[p] = append(slices.Clip(k.offer(p)), taskTool)
	}
	return nil
}

// offered makes the tools of a phase that work in dir, in the kit's order, and
// says how to give them back.
func (ph *Phases) offered(
	b plan.Brief,
	room Room,
	wanted *another,
) (out []loop.Tool, set *tools.Set, shut func() error, err error) {
	known := handedOver(b)
	maps.Copy(known, filesShown(slices.Concat(b.Carried...)))
	maps.Copy(known, filesShown(b.Past))
	foreign := ph.openOutside(b.Phase)
	if set, err = ph.openTools(room, known, ph.openedBefore(b), wanted.ask, foreign); err != nil {
		return nil, nil, nil, errors.Join(err, foreign.Close())
	}
	ph.opened, ph.openedFor = set, b.Conv
	shut = func() error { return errors.Join(foreign.Close(), set.Close()) }
	defer func() {
		if err != nil {
			err = errors.Join(err, shut())
		}
	}()
	for _, name := range ph.cfg.Kit.offer(b.Phase) {
		if outside.IsOutside(name) {
			spec := ph.cfg.Kit.Tools[name]
			spec.Name = name
			out = append(out, foreign.Tool(spec))
			continue
		}
		from, names := set, []string{name}
		if name == taskTool {
			// What sub-agents are shown their parent has not seen.
			if from, err = ph.openTools(room, nil, nil, nil, nil); err != nil {
				return nil, nil, nil, err
			}
			shut = func() error { return errors.Join(foreign.Close(), set.Close(), from.Close()) }
			names = taskTools()
		}
		own, err := from.Tools(names...)
		if err != nil {
			return nil, nil, nil, err
		}
		if name == taskTool {
			own = []loop.Tool{loop.SubAgent(ph.delegate(ph.cfg.Kit.dress(own)))}
		}
		out = append(out, own...)
	}
	return ph.cfg.Kit.dress(out), set, shut, nil
}

// openOutside opens the tools from outside of a phase. Without any, those that a run was
// started with say that they are gone.
func (ph *Phases) openOutside(p plan.Phase) *outside.Set {
	if d, _ := describe(p); ph.cfg.Outside == nil || !d.UsesOutside {
		return outside.New(outside.Config{})
	}
	return ph.cfg.Outside(p)
}

// delegate is a sub-agent with these tools.
func (ph *Phases) delegate(own []loop.Tool) loop.Delegate {
	d := loop.Delegate{
		Name:   taskTool,
		Prompt: ph.cfg.Kit.Prompts[taskTool],
		Tools:  own,
		Model:  ph.cfg.Route.SubAgent,
	}
	if d.Model != "" {
		d.Why = ph.cfg.Route.hint(d.Model) + "as [route] subagent asks"
	}
	return d
}

// openedBefore are the tools that an earlier attempt had in the same conversation, if
// it did in this process: they know the files that it was shown.
func (ph *Phases) openedBefore(b plan.Brief) *tools.Set {
	if ph.openedFor != b.Conv {
		return nil
	}
	return ph.opened
}

func (ph *Phases) openTools(
	room Room,
	seen map[string]string,
	before *tools.Set,
	replan func(string) bool,
	foreign *outside.Set,
) (*tools.Set, error) {
	var from tools.Outsiders
	if foreign != nil {
		from = foreign
	}
	return tools.New(tools.Config{
		Root:     room.Dir,
		Shell:    room.runner(),
		Blob:     ph.cfg.Blob,
		Seen:     seen,
		Before:   before,
		Redact:   ph.cfg.RedactRead,
		Withheld: ph.withheld(room.Dir),
		Remember: ph.cfg.Remember,
		Recall:   ph.recall(),
		Servers:  ph.cfg.Servers,
		Index:    ph.cfg.Index,
		Avoid:    ph.cfg.Avoid,
		Skill:    ph.cfg.Skill,
		Replan:   replan,
		Outside:  from,
	})
}

// withheld tells which files of a tree no search may show that has not named them.
func (ph *Phases) withheld(dir string) func(string) bool {
	if ph.cfg.Withheld == nil {
		return nil
	}
	return func(path string) bool { return ph.cfg.Withheld(dir, path) }
}

// conversation reads what sub-agents of a run have journalled.
func (ph *Phases) conversation(run plan.RunID) func(context.Context, string) ([]plan.Event, error) {
	if ph.cfg.Conversation == nil {
		return nil
	}
	return func(ctx context.Context, conv string) ([]plan.Event, error) {
		return ph.cfg.Conversation(ctx, run, conv)
	}
}
