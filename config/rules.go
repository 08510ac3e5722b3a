package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plan-engine/plan/config/trust"
)

// Permission is a rule about what tools may do. Empty patterns fit everything;
// of Tool, Path and Command one must be there.
type Permission struct {
	Tool    string `toml:"tool,omitempty" json:"tool,omitempty"`
	Path    string `toml:"path,omitempty" json:"path,omitempty"`
	Command string `toml:"command,omitempty" json:"command,omitempty"`
	Action  string `toml:"action" json:"action"`                     // allow, ask or deny
	Reason  string `toml:"reason,omitempty" json:"reason,omitempty"` // for the person who is asked, and for the model
	// From says whose rule it is.
	From Origin `toml:"-" json:"from,omitempty"`
}

// Hook is a command that is run at a moment of a run.
type Hook struct {
	Event   string   `toml:"event" json:"event"`                        // one of hookEvents
	Tool    string   `toml:"tool,omitempty" json:"tool,omitempty"`      // pattern; only for calls of such a tool
	Path    string   `toml:"path,omitempty" json:"path,omitempty"`      // pattern; only for calls that name such a path
	Command string   `toml:"command" json:"command"`                    // for the shell, in the repository root
	Timeout Duration `toml:"timeout,omitempty" json:"timeout,omitzero"` // default 30s
	// Outside runs it without walls. Only the user's own file can say it.
	Outside bool   `toml:"outside,omitempty" json:"outside,omitempty"`
	From    Origin `toml:"-" json:"from,omitempty"`
	// Digest is what a repository's hook was trusted as, and what the programs of the
	// tree that a user's hook names were when the run began, "" for none.
	Digest string `toml:"-" json:"digest,omitempty"`
}

// Judges reports whether the hook can block: then it does where it cannot run.
func (h Hook) Judges() bool {
	return slices.Contains([]string{
		"pre_prompt", "turn_start", "request", "pre_tool_use", "result", "pre_compact", "phase_end",
	}, h.Event)
}

// Programs lists the files below root that the hook runs or might. Those of a hook that
// judges, or that no wall contains, are looked for strictly.
func (h Hook) Programs(root string) []string {
	return trust.Programs(root, h.Command, h.Outside || h.Judges())
}

// Origin says who said something.
type Origin string

// The origins of rules and hooks.
const (
	FromUser       Origin = "user"
	FromRepository Origin = "repository" // one that is not trusted, or a rule that tightens
	FromTrusted    Origin = "trusted"    // a repository's file that the user has trusted
)

// hookEvents lists the moments at which hooks run.
func hookEvents() []string {
	return []string{
		"session_start", "pre_prompt", "turn_model", "turn_start", "request", "pre_tool_use", "post_tool_use", "result",
		"turn_end", "pre_compact", "phase_end", "verdict", "session_end",
	}
}

// callEvents lists those of them that are about a call of a tool.
func callEvents() []string { return []string{"pre_tool_use", "post_tool_use", "result"} }

// ruleFaults checks rules and hooks.
func ruleFaults(c Config) []fault {
	var out []fault
	for i, p := range c.Permission {
		if text := p.wrong(); text != "" {
			out = append(out, fault{
				key:  "permission",
				text: fmt.Sprintf("number %d: %s", i+1, text),
				nth:  i + 1,
			})
		}
	}
	for i, h := range c.Hooks {
		if text := h.wrong(); text != "" {
			out = append(out, fault{
				key:  "hooks",
				text: fmt.Sprintf("number %d: %s", i+1, text),
				nth:  i + 1,
			})
		}
	}
	return out
}

func (p Permission) wrong() string {
	switch {
	case !slices.Contains([]string{"allow", "ask", "deny"}, p.Action):
		return fmt.Sprintf("action = %q must be one of allow, ask, deny", p.Action)
	case p.Tool == "" && p.Path == "" && p.Command == "":
		return "it needs a tool, a path or a command"
	}
	for _, s := range []string{p.Tool, p.Path, p.Command, p.Reason} {
		if text := wrongText(s); text != "" {
			return text
		}
	}
	return wrongPatterns(p.Tool, p.Path)
}

func (h Hook) wrong() string {
	switch {
	case !slices.Contains(hookEvents(), h.Event):
		return fmt.Sprintf("event = %q must be one of %s", h.Event, strings.Join(hookEvents(), ", "))
	case isBlank(h.Command):
		return "it needs a command"
	case (h.Tool != "" || h.Path != "") && !slices.Contains(callEvents(), h.Event):
		return "tool and path are for pre_tool_use, post_tool_use and result"
	case h.Timeout.Duration < 0 || h.Timeout.Duration > longest:
		return fmt.Sprintf("timeout = %q must be between 0s and %s", h.Timeout, Of(longest))
	}
	return wrongPatterns(h.Tool, h.Path)
}

func wrongPatterns(tool, path string) string {
	switch {
	case !doublestar.ValidatePattern(tool):
		return fmt.Sprintf("tool = %q is not a pattern that can be read", tool)
	case !doublestar.ValidatePattern(path):
		return fmt.Sprintf("path = %q is not a pattern that can be read", path)
	}
	return ""
}
