package phases

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/review"
	"github.com/plan-engine/plan/tools"
	"github.com/plan-engine/plan/tools/outside"
)

//go:embed prompts/*.md
var prompts embed.FS

// Kit is every word that is sent to a model apart from the work itself. It is
// stored with a run when it starts, so that a later version of the program
// resumes the run with the same bytes.
type Kit struct {
	System  string               `json:"system"`
	Prompts map[string]string    `json:"prompts"` // by file name; task only with sub-agents
	Tools   map[string]loop.Spec `json:"tools"`
	// Offer names the tools of each phase, in order.
	Offer   map[plan.Phase][]string `json:"offer"`
	Verdict json.RawMessage         `json:"verdict"` // schema of the reviewer's answer
}

// NewKit is the kit of this version of the program, with these tools. With
// commands, the phases that may run some do.
func NewKit(offered []loop.Tool, commands bool) (Kit, error) {
	kit := Kit{
		Prompts: map[string]string{},
		Tools:   map[string]loop.Spec{},
		Offer:   map[plan.Phase][]string{},
		Verdict: review.Schema(),
	}
	var err error
	if kit.System, err = promptFile("system"); err != nil {
		return Kit{}, err
	}
	for _, d := range descriptions() {
		for _, name := range append(d.prompts, headPrompt) {
			if kit.Prompts[name], err = promptFile(name); err != nil {
				return Kit{}, err
			}
		}
		kit.Offer[d.phase] = d.tools()
		if commands && d.MayRunCommands {
			kit.Offer[d.phase] = d.tools(tools.Execute)
		}
	}
	for _, t := range offered {
		spec := t.Info().Spec
		kit.Tools[spec.Name] = spec
	}
	return kit, nil
}

// WithSkills is the kit of a run that has skills to load in these phases. Those that load
// none have no tool for them, whatever is named.
func (k Kit) WithSkills(in ...plan.Phase) Kit {
	k.Offer = maps.Clone(k.Offer)
	for _, d := range descriptions() {
		if d.LoadsSkills && slices.Contains(in, d.phase) {
			k.Offer[d.phase] = inOrder(append(slices.Clip(k.Offer[d.phase]), tools.Names(tools.Skill)...))
		}
	}
	return k
}

// Outsiders are the tools from outside that a run has when it begins.
type Outsiders struct {
	// Named are offered by name to phases that write, and Reading to those that only look.
	Named, Reading []loop.Info
	// About says of the others where they come from, "" where there are none. Further
	// reports whether a phase has some that are not named.
	About   string
	Further func(reads bool) bool
}

// For are those that a phase is offered by name. One that only looks has none that may
// change something, whatever it is given.
func (o Outsiders) For(writes bool) []loop.Info {
	if writes {
		return o.Named
	}
	return slices.DeleteFunc(slices.Clone(o.Reading), func(info loop.Info) bool { return !outside.Reads(info) })
}

// WithOutside is the kit of a run that has tools from outside. Phases that only look are
// offered those that only read.
func (k Kit) WithOutside(o Outsiders) Kit {
	k.Offer, k.Tools = maps.Clone(k.Offer), maps.Clone(k.Tools)
	for _, d := range descriptions() {
		if !d.UsesOutside {
			continue
		}
		var named []string
		for _, info := range o.For(d.Writes) {
			named = append(named, info.Name)
			k.Tools[info.Name] = info.Spec
		}
		if o.Further != nil && o.Further(!d.Writes) {
			named = append(named, tools.Names(tools.Outside)...)
		}
		if len(named) > 0 {
			k.Offer[d.phase] = inOrder(append(slices.Clip(k.offer(d.phase)), named...))
		}
	}
	for _, name := range tools.Names(tools.Outside) {
		if spec := k.Tools[name]; o.About != "" && strings.HasPrefix(name, "find") {
			spec.Description += "\n" + o.About
			k.Tools[name] = spec
		}
	}
	return k
}

// Unattended is the kit of a run in which no person answers: a question would only cost
// a turn.
func (k Kit) Unattended() Kit {
	k.Offer = maps.Clone(k.Offer)
	for phase, names := range k.Offer {
		k.Offer[phase] = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return tools.PurposeOf(name) == tools.Ask
		})
	}
	return k
}

// promptFile reads a prompt of this version.
func promptFile(name string) (string, error) {
	data, err := prompts.ReadFile("prompts/" + name + ".md")
	if err != nil {
		return "", fmt.Errorf("read the prompt %s: %w", name, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// inOrder sorts names of tools into the order in which tools are offered; those
// that are not built in come last.
func inOrder(names []string) []string {
	ours := tools.Names()
	others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(ours, n) })
	return append(slices.DeleteFunc(ours, func(n string) bool { return !slices.Contains(names, n) }), others...)
}

// Encode returns the kit as a blob.
func (k Kit) Encode() (plan.Blob, error) {
	data, err := plan.MarshalCompact(k)
	if err != nil {
		return plan.Blob{}, fmt.Errorf("encode the kit: %w", err)
	}
	return plan.NewBlob(data), nil
}

// DecodeKit reads what Encode wrote.
func DecodeKit(data []byte) (Kit, error) {
	var k Kit
	if err := json.Unmarshal(data, &k); err != nil {
		return Kit{}, fmt.Errorf("decode the kit of the run: %w", err)
	}
	return k, nil
}

// offer names the tools of a phase: those it had when the run was started.
func (k Kit) offer(p plan.Phase) []string {
	if names, ok := k.Offer[p]; ok {
		return names
	}
	return toolNames(p)
}

// dress gives tools the descriptions that the kit holds for them.
func (k Kit) dress(offered []loop.Tool) []loop.Tool {
	out := make([]loop.Tool, len(offered))
	for i, t := range offered {
		info := t.Info()
		if spec, ok := k.Tools[info.Name]; ok {
			info.Spec = spec
		}
		out[i] = redescribed{Tool: t, info: info}
	}
	return out
}

// redescribed is a tool under another description.
type redescribed struct {
	loop.Tool
	info loop.Info
}

// Unwrap returns the tool itself, for what else it can do.
func (d redescribed) Unwrap() loop.Tool { return d.Tool }

// Info implements loop.Tool.
func (d redescribed) Info() loop.Info { return d.info }
