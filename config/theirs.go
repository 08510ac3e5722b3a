package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/internal/oneline"
)

// theirFile is where a repository keeps its settings.
const theirFile = ".plan/config.toml"

// theirs is what a repository's file says.
type theirs struct {
	path     string
	data     []byte
	tight    tightening
	loosens  []Warning // keys that only a trusted file may say
	unknown  []Warning
	hooks    []Hook // with their digests; "" for one that has none
	hookErrs []error
}

// readTheirs reads a repository's file. It may be older or newer than this
// program, so keys that are not known are no error.
func readTheirs(root string) (theirs, error) {
	t := theirs{path: filepath.Join(root, filepath.FromSlash(theirFile))}
	var err error
	if t.data, err = readFile(t.path); err != nil {
		return t, err
	}
	extra, err := decode(t.path, t.data, &t.tight)
	if err != nil {
		return t, err
	}
	if err := checkFile(t.path, t.data, t.tight.asConfig()); err != nil {
		return t, err
	}
	for _, u := range extra {
		w := Warning{
			File: t.path,
			Line: u.line,
			Key:  u.name(),
		}
		if isKnown(u.key) {
			w.Why = "you have not trusted this repository's settings; see what they say with `plan trust`, or " +
				"put it in your own config.toml"
			t.loosens = append(t.loosens, w)
			continue
		}
		w.Why = "it is not a setting" + didYouMean(u.key)
		t.unknown = append(t.unknown, w)
	}
	for _, h := range t.tight.Hooks {
		h.Digest, err = HookDigest(root, h)
		t.hooks, t.hookErrs = append(t.hooks, h), append(t.hookErrs, err)
	}
	return t, nil
}

// under lays what the file may say over the settings.
func (t theirs) under(cfg Config, trusted func(trust.Item) bool) (Config, []Warning) {
	if trusted == nil {
		trusted = func(trust.Item) bool { return false }
	}
	warnings := slices.Clone(t.unknown)
	cfg = tighten(cfg, t.tight)
	from := FromRepository
	if len(t.loosens)+len(t.tight.Permission) > 0 && trusted(t.item()) {
		var all Config
		if _, err := decode(t.path, t.data, &all); err == nil && len(faults(all)) == 0 {
			all.Permission, all.Hooks = nil, nil
			all.Walls.Show = joined(cfg.Walls.Show, all.Walls.Show)
			all.Walls.AllowEnv = cfg.Walls.AllowEnv // it would name the user's keys
			var refused []Warning
			all.Providers, refused = t.withoutKeys(all.Providers, cfg.Providers)
			warnings = append(warnings, refused...)
			cfg, from = over(cfg, all), FromTrusted
		}
	}
	if from != FromTrusted {
		warnings = append(warnings, t.loosens...)
	}
	for _, p := range t.tight.Permission {
		p.From = from
		cfg.Permission = append(slices.Clip(cfg.Permission), p)
	}
	for i, h := range t.hooks {
		if h.Digest == "" || !trusted(t.hookItem(i)) {
			warnings = append(warnings, Warning{
				File: t.path,
				Line: lineOf(t.data, "hooks", i+1),
				Key:  fmt.Sprintf("the %s hook %q", h.Event, h.Command),
				Why:  "the repository's hook is not trusted as it is now; see it and allow it with `plan trust`",
			})
			continue
		}
		h.From = FromTrusted
		cfg.Hooks = append(slices.Clip(cfg.Hooks), h)
	}
	return cfg, warnings
}

// item is the file as something to be trusted.
func (t theirs) item() trust.Item {
	var keys []string
	for _, w := range t.loosens {
		keys = append(keys, w.Key)
	}
	for _, p := range t.tight.Permission {
		if p.Action == "allow" {
			keys = append(
				keys,
				"permission allow "+oneline.Of(p.Tool+" "+p.Path+" "+p.Command),
			)
		}
	}
	keys = append(keys, t.addresses()...)
	keys = append(keys, t.shows()...)
	return trust.Item{
		Kind:   "config",
		Path:   theirFile,
		Digest: trust.Text(string(t.data)),
		Detail: "sets " + strings.Join(keys, ", "),
	}
}

// shows lists what the file would show of the user's home.
func (t theirs) shows() []string {
	var all Config
	if _, err := decode(t.path, t.data, &all); err != nil {
		return nil // said elsewhere
	}
	var out []string
	for _, path := range all.Walls.Show {
		out = append(out, "walls.show "+oneline.Of(path))
	}
	return out
}

func (t theirs) hookItem(i int) trust.Item {
	h := t.hooks[i]
	item := trust.Item{
		Kind:   "hook",
		Path:   fmt.Sprintf("%s#%s %s", theirFile, h.Event, h.Command),
		Digest: h.Digest,
		Detail: fmt.Sprintf("at %s runs: %s", h.Event, h.Command),
	}
	if err := t.hookErrs[i]; err != nil {
		item.Detail += "; it cannot be trusted: " + err.Error()
	}
	return item
}

// HookDigest is what a repository's hook would be trusted as now.
func HookDigest(root string, h Hook) (string, error) {
	entry, err := plan.MarshalCompact(Hook{
		Event:   h.Event,
		Tool:    h.Tool,
		Path:    h.Path,
		Command: h.Command,
		Timeout: h.Timeout,
	})
	if err != nil {
		return "", fmt.Errorf("encode a hook: %w", err)
	}
	return trust.Command(root, string(entry), h.Command)
}

// Claims lists what a repository's settings want that needs the user's yes: the
// file itself if it loosens anything, each hook, and each MCP server.
func Claims(root string) ([]trust.Item, error) {
	t, err := readTheirs(root)
	if err != nil {
		return nil, err
	}
	var out []trust.Item
	loosens := len(t.loosens) > 0 ||
		slices.ContainsFunc(t.tight.Permission, func(p Permission) bool { return p.Action == "allow" })
	if loosens {
		out = append(out, t.item())
	}
	for i := range t.hooks {
		out = append(out, t.hookItem(i))
	}
	servers, err := t.servers()
	return append(out, servers...), err
}

// servers lists the MCP servers of the file.
func (t theirs) servers() ([]trust.Item, error) {
	var doc struct {
		MCP map[string]any `toml:"mcp"`
	}
	if err := toml.Unmarshal(t.data, &doc); err != nil {
		return nil, fmt.Errorf("read the settings: %s: mcp: %w", t.path, err)
	}
	var out []trust.Item
	for _, name := range slices.Sorted(maps.Keys(doc.MCP)) {
		text, err := plan.MarshalCompact(doc.MCP[name])
		if err != nil {
			return nil, fmt.Errorf("read the settings: %s: mcp.%s: %w", t.path, name, err)
		}
		out = append(out, trust.Item{
			Kind:   "mcp",
			Path:   theirFile + "#mcp." + name,
			Digest: trust.Text(string(text)),
			Detail: "an MCP server: " + string(text),
		})
	}
	return out, nil
}

// tightening is what a repository may say.
type tightening struct {
	MaxReviewCycles *int     `toml:"max_review_cycles"`
	MaxTurns        int      `toml:"max_turns"`
	MaxTokens       int64    `toml:"max_tokens"`
	MaxCost         float64  `toml:"max_cost"`
	Timeout         Duration `toml:"timeout"`
	WorktreeInclude []string `toml:"worktree_include"`
	MaxMemory       Size     `toml:"max_memory"`
	MaxProcesses    int64    `toml:"max_processes"`
	ApprovePlan     *bool    `toml:"approve_plan"`
	Checks          struct {
		Required []string      `toml:"required"`
		Run      []CheckConfig `toml:"run"`
		Evidence string        `toml:"evidence"`
	} `toml:"checks"`
	Permission []Permission `toml:"permission"`
	Hooks      []Hook       `toml:"hooks"`
}

// asConfig is the same in the general form, for checking.
func (t tightening) asConfig() Config {
	return Config{
		MaxReviewCycles: t.MaxReviewCycles,
		MaxTurns:        t.MaxTurns,
		MaxTokens:       t.MaxTokens,
		MaxCost:         t.MaxCost,
		Timeout:         t.Timeout,
		WorktreeInclude: t.WorktreeInclude,
		Checks: ChecksConfig{
			Required: t.Checks.Required,
			Run:      t.Checks.Run,
			Evidence: t.Checks.Evidence,
		},
		MaxMemory:    t.MaxMemory,
		MaxProcesses: t.MaxProcesses,
		Permission:   t.Permission,
		Hooks:        t.Hooks,
	}
}

func tighten(cfg Config, t tightening) Config {
	if t.MaxReviewCycles != nil && *t.MaxReviewCycles < *cfg.MaxReviewCycles {
		cfg.MaxReviewCycles = t.MaxReviewCycles
	}
	cfg.MaxTurns = smaller(cfg.MaxTurns, t.MaxTurns)
	cfg.MaxTokens = smaller(cfg.MaxTokens, t.MaxTokens)
	cfg.MaxCost = smaller(cfg.MaxCost, t.MaxCost)
	cfg.Timeout = Of(smaller(cfg.Timeout.Duration, t.Timeout.Duration))
	cfg.MaxMemory = smaller(cfg.MaxMemory, t.MaxMemory)
	cfg.MaxProcesses = smaller(cfg.MaxProcesses, t.MaxProcesses)
	cfg.Checks.Required = joined(cfg.Checks.Required, t.Checks.Required)
	cfg.Checks.Run = slices.Concat(cfg.Checks.Run, t.Checks.Run)
	if t.Checks.Evidence == plan.EvidenceShown {
		cfg.Checks.Evidence = t.Checks.Evidence
	}
	if t.ApprovePlan != nil && *t.ApprovePlan {
		cfg.ApprovePlan = t.ApprovePlan
	}
	cfg.WorktreeInclude = joined(cfg.WorktreeInclude, t.WorktreeInclude)
	return cfg
}

// smaller is the tighter of two bounds, where zero is none.
func smaller[T int | float64 | ~int64](a, b T) T {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// joined is a list with what another one has on top.
func joined(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
