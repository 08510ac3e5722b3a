package plan

import "encoding/json"

// CommandLine is the command line that the call runs, "" for a call that runs
// none. It goes by what the call says of itself and not by the tool's name, so
// that it holds for every tool that runs commands.
func (b ToolStart) CommandLine() string {
	if b.Effect == EffectReplay || b.Effect == EffectVerifiable {
		return ""
	}
	var args struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(b.Args, &args) != nil {
		return ""
	}
	return args.Command
}

// ChangesFiles reports whether the call changes files in a way that was worked
// out before it ran.
func (b ToolStart) ChangesFiles() bool { return b.Effect == EffectVerifiable }
