package batch

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
)

// entry is a job, or the defaults of all jobs, as it is written.
type entry struct {
	ID       string            `yaml:"id"`
	Repo     string            `yaml:"repo"`
	Ref      string            `yaml:"ref"`
	Request  string            `yaml:"request"`
	Vars     map[string]string `yaml:"vars"`
	Checks   []string          `yaml:"checks"`
	Setup    string            `yaml:"setup"`
	Model    string            `yaml:"model"`
	Priority int               `yaml:"priority"`
	Needs    []string          `yaml:"needs"`
	// phases and limits are read by hand, for their keys.
	phases map[plan.Phase]config.PhaseConfig
	limits limits
}

// limits bound one job.
type limits struct {
	MaxReviewCycles *int    `yaml:"max_review_cycles"`
	MaxTurns        int     `yaml:"max_turns"`
	MaxTokens       int64   `yaml:"max_tokens"`
	MaxCost         float64 `yaml:"max_cost"`
	Timeout         string  `yaml:"timeout"`
}

var (
	defaultKeys = []string{
		"repo",
		"ref",
		"request",
		"vars",
		"checks",
		"setup",
		"model",
		"phases",
		"limits",
		"priority",
		"needs",
	}
	jobKeys   = append([]string{"id"}, defaultKeys...)
	limitKeys = []string{"max_review_cycles", "max_turns", "max_tokens", "max_cost", "timeout"}
	phaseKeys = []string{"model", "effort", "temperature", "max_output_tokens"}
)

// mappingKeys calls visit for each known key of a mapping, and complains about the
// others.
func (p *parser) mappingKeys(
	node *yaml.Node,
	subject string,
	known []string,
	visit func(key string, value *yaml.Node),
) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.MappingNode {
		p.errorf(node.Line, "%s is made of keys and values, such as %s: …", subject, known[0])
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case seen[key.Value] > 0:
			p.errorf(key.Line, "%s: %q stands there twice, first on line %d", subject, key.Value, seen[key.Value])
		case !slices.Contains(known, key.Value):
			p.errorf(key.Line, "%s has no key %q%s", subject, key.Value, didYouMean(key.Value, known))
		default:
			visit(key.Value, value)
		}
		seen[key.Value] = key.Line
	}
}

// entry reads a job or the defaults.
func (p *parser) entry(node *yaml.Node, subject string, known []string) entry {
	var e entry
	p.mappingKeys(node, subject, known, func(key string, v *yaml.Node) {
		switch key {
		case "phases":
			e.phases = map[plan.Phase]config.PhaseConfig{}
			p.mappingKeys(v, "phases", phaseNames(), func(name string, v *yaml.Node) {
				e.phases[plan.Phase(name)] = p.phase(v)
			})
		case "limits":
			p.mappingKeys(v, "limits", limitKeys, func(key string, v *yaml.Node) { p.decode(key, v, &e.limits) })
			p.checkLimits(v.Line, e.limits)
		case "checks":
			p.decode(key, asList(v), &e)
			for _, c := range e.Checks {
				if strings.TrimSpace(c) == "" {
					p.errorf(v.Line, "checks: a check needs a command")
				}
			}
		case "needs":
			p.decode(key, asList(v), &e)
			p.checkNeeds(v.Line, e.Needs)
		default:
			p.decode(key, v, &e)
		}
	})
	return e
}

// asList makes a list of one value that stands alone.
func asList(v *yaml.Node) *yaml.Node {
	if v.Kind != yaml.ScalarNode {
		return v
	}
	return &yaml.Node{
		Kind:    yaml.SequenceNode,
		Line:    v.Line,
		Content: []*yaml.Node{v},
	}
}

// decode puts one value into the field of a struct that has its key.
func (p *parser) decode(key string, v *yaml.Node, into any) {
	keyNode := &yaml.Node{
		Kind:  yaml.ScalarNode,
		Tag:   "!!str",
		Value: key,
		Line:  v.Line,
	}
	pair := &yaml.Node{
		Kind:    yaml.MappingNode,
		Line:    v.Line,
		Content: []*yaml.Node{keyNode, v},
	}
	if err := pair.Decode(into); err != nil {
		text := strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:\n")
		for line := range strings.Lines(text) {
			_, after, found := strings.Cut(line, ": ")
			if !found {
				after = line
			}
			p.errorf(v.Line, "%s: %s", key, strings.TrimSpace(after))
		}
	}
}

// phase reads the settings of a phase: a model's name, or several.
func (p *parser) phase(v *yaml.Node) config.PhaseConfig {
	if v.Kind == yaml.ScalarNode {
		return config.PhaseConfig{Model: v.Value}
	}
	var raw struct {
		Model           string   `yaml:"model"`
		Effort          string   `yaml:"effort"`
		Temperature     *float64 `yaml:"temperature"`
		MaxOutputTokens int      `yaml:"max_output_tokens"`
	}
	p.mappingKeys(v, "a phase", phaseKeys, func(key string, v *yaml.Node) { p.decode(key, v, &raw) })
	return config.PhaseConfig{
		Model:           raw.Model,
		Effort:          raw.Effort,
		Temperature:     raw.Temperature,
		MaxOutputTokens: raw.MaxOutputTokens,
	}
}

const maxNeeds = 8

// checkNeeds complains about names that no provider can have.
func (p *parser) checkNeeds(line int, names []string) {
	if len(names) > maxNeeds {
		p.errorf(line, "needs: a job can need %d providers", maxNeeds)
	}
	for _, name := range names {
		if !validID().MatchString(name) {
			p.errorf(line, "needs: %q is not the name of a provider, such as anthropic", name)
		}
	}
}

// checkLimits complains about limits that make no sense.
func (p *parser) checkLimits(line int, l limits) {
	if l.MaxReviewCycles != nil && *l.MaxReviewCycles < 0 || l.MaxTurns < 0 || l.MaxTokens < 0 || l.MaxCost < 0 {
		p.errorf(line, "limits: a limit cannot be negative")
	}
	if l.Timeout != "" {
		if d, err := time.ParseDuration(l.Timeout); err != nil || d <= 0 {
			p.errorf(
				line,
				"limits: timeout %q is not a time span: write a number with a unit, such as 30m",
				l.Timeout,
			)
		}
	}
}

// settings are what an entry says of the settings of a run.
func (p *parser) settings(e entry) config.Config {
	d, _ := time.ParseDuration(e.limits.Timeout) // bounds has complained
	return config.Config{
		Model:           e.Model,
		Phase:           e.phases,
		MaxReviewCycles: e.limits.MaxReviewCycles,
		MaxTurns:        e.limits.MaxTurns,
		MaxTokens:       e.limits.MaxTokens,
		MaxCost:         e.limits.MaxCost,
		Timeout:         config.Of(d),
		Checks:          config.ChecksConfig{Required: e.Checks, Setup: e.Setup},
	}
}

func phaseNames() []string {
	var out []string
	for _, p := range append(plan.Phases(), plan.Critique) {
		out = append(out, string(p))
	}
	return out
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
