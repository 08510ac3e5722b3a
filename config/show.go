package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/plan-engine/plan"
)

// With returns the settings with those of flags, where given, over them.
func (c Config) With(flags Config) Config { return over(c, flags) }

// Files lists the files that settings are read from, first to last. They need
// not exist. Root is "" outside a repository.
func Files(home, root string) []string {
	files := []string{filepath.Join(home, "config.toml")}
	if root != "" {
		files = append(files, filepath.Join(root, ".plan", "config.toml"))
	}
	return files
}

// TOML writes the settings as a configuration file would, as Public has them.
func (c Config) TOML() (string, error) {
	data, err := toml.Marshal(c.Public())
	if err != nil {
		return "", fmt.Errorf("write the settings as TOML: %w", err)
	}
	return string(data), nil
}

// Layer is the settings as they are once a source was read, and those before it.
type Layer struct {
	Name   string // of the source
	Config Config
}

// Explained writes the settings of the last layer as a configuration file would,
// each with the first layer since which it is what it is. What is not set anywhere
// stands with the value that is used then, where there is one, else with what that means.
func Explained(layers []Layer) (string, error) {
	var text string
	values := make([]map[string]string, len(layers))
	for i, l := range layers {
		var err error
		if text, err = l.Config.asUsed().TOML(); err != nil {
			return "", err
		}
		values[i] = map[string]string{}
		eachValue(text, func(key, line string) string {
			values[i][key] = line
			return ""
		})
	}
	last, rules := values[len(values)-1], layers[len(layers)-1].Config.Permission
	text = eachValue(text, func(key, line string) string {
		from := len(layers) - 1
		for from > 0 && values[from-1][key] == line {
			from--
		}
		if means, ok := unset()[key]; ok && from == 0 {
			return fmt.Sprintf("%s  # not set: %s", line, means)
		}
		if strings.HasPrefix(key, "[[permission]]") && strings.HasSuffix(key, ".action") {
			rule := rules[0]
			rules = rules[1:]
			if rule.Action == "allow" && rule.From == FromRepository {
				return fmt.Sprintf("%s  # %s, not trusted: loosens none of your rules", line, layers[from].Name)
			}
		}
		return fmt.Sprintf("%s  # %s", line, layers[from].Name)
	})
	absent := maps.Clone(unset())
	maps.DeleteFunc(absent, func(key, _ string) bool {
		table := strings.Contains(text, "\n["+key+"]\n") || strings.Contains(text, "[["+key+"]]\n")
		return table || last[key] != ""
	})
	for _, key := range slices.Sorted(maps.Keys(absent)) {
		text += fmt.Sprintf("# %s is not set: %s\n", key, absent[key])
	}
	return text, nil
}

// unset says what it means that a setting has no value, where no one value is used then.
func unset() map[string]string {
	return map[string]string{ //nolint:gosec // names of settings, no credentials
		"model":                 "a run names one, or takes that of a local server",
		"base_url":              "the provider's own",
		"provider":              "the server at base_url where that is set, else openai",
		"providers":             "the usual ones as they are known",
		"models":                "as the catalogue has them",
		"phase":                 "all phases go by the settings above",
		"lsp":                   "none",
		"mcp":                   "none",
		"openapi":               "none",
		"effort":                "the server's",
		"temperature":           "the server's",
		"max_output_tokens":     "the server's bound",
		"max_tokens":            "no bound",
		"max_cost":              "no bound",
		"timeout":               "no bound",
		"worktree_include":      "none",
		"max_memory":            "no bound",
		"explore_bash":          "where a wall can be built",
		"wait":                  "on a terminal and in batches, there for a server only that answered before",
		"publish":               "nothing is published without --publish",
		"hooks":                 "none",
		"permission":            "the built-in rules alone",
		"checks.required":       "none but what --check names",
		"checks.run":            "none",
		"checks.setup":          "what the tools in use are known to need is proposed",
		"checks.timeout":        "60m before the change, then 15m or three times what it took",
		"setup.keys":            "none",
		"retry.unreachable_for": "10s before a run's first answer, 2m after it",
		"timeouts.first_byte":   "15m, an hour for a server on this machine",
		"timeouts.answer":       "15m more than first_byte",
		"timeouts.request":      "no bound but those of its answers and of [retry]",
		"terminal.notify":       "none",
		"serve.repositories":    "the one that plan serve is started in",
		"redact.patterns":       "the built-in ones alone",
		"route.cheap":           "@cheap is an error",
		"route.strong":          "@strong is an error",
		"route.summary":         "the phase's own model",
		"route.sub_agent":       "the phase's own model",
		"skills.seed":           "another for each run",
		"tools.budget":          "a twentieth of the model's window, at most 4000 tokens",
		"walls.show":            "what tools need alone",
		"walls.allow_env":       "none",
	}
}

// What is used where the settings say nothing. They do not stand in Default, because a
// run keeps the settings that it was started with.
const (
	UsualMaxUntracked Size = 1 << 30
	// UsualRetention is how long a fact is kept that no run has used.
	UsualRetention = 180 * 24 * time.Hour
)

// UsualRecall are the phases that are told facts.
func UsualRecall() []string { return []string{string(plan.Explore)} }

// asUsed has the values that are used where the settings say none.
func (c Config) asUsed() Config {
	c.Sandbox = cmp.Or(c.Sandbox, "auto")
	c.Structured = cmp.Or(c.Structured, "auto")
	c.Compact.Level = cmp.Or(c.Compact.Level, "safe")
	c.Checks.Evidence = cmp.Or(c.Checks.Evidence, plan.EvidenceUnbroken)
	c.Walls.Environment = cmp.Or(c.Walls.Environment, "minimal")
	c.PublishInterval = Of(cmp.Or(c.PublishInterval.Duration, 2*time.Second))
	c.PlanSize = cmp.Or(c.PlanSize, plan.PlanFull)
	c.MaxUntracked = cmp.Or(c.MaxUntracked, UsualMaxUntracked)
	c.Memory.Retention = Of(cmp.Or(c.Memory.Retention.Duration, UsualRetention))
	if c.Memory.Recall == nil {
		c.Memory.Recall = UsualRecall()
	}
	for _, choice := range []**bool{&c.Worktree, &c.ReplanOnDrift, &c.Critique, &c.ApprovePlan, &c.SubAgents} {
		if *choice == nil {
			*choice = new(false)
		}
	}
	if c.Terminal.Bell == nil {
		c.Terminal.Bell = new(true)
	}
	return c
}

// eachValue writes a file of settings with other lines in the place of those that
// give a key a value. A key has its table's name before it, and that of a list's item a number.
func eachValue(text string, with func(key, line string) string) string {
	var out strings.Builder
	table := ""
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		name, _, isValue := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "[["):
			table = fmt.Sprintf("%s %d.", line, n)
		case strings.HasPrefix(line, "["):
			table = strings.Trim(line, "[]") + "."
		case isValue:
			line = with(table+name, line)
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}
