package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/model/wire"
)

// theirFile is where a repository keeps its settings.
const theirFile = ".plan/config.toml"

// Why what a repository's file says does not count.
const (
	ownFile = "put it in your own config.toml"
	waits   = "you have not trusted this repository's settings; see what they say with `plan trust`, or " + ownFile
)

// repoFile is what a repository's file says.
type repoFile struct {
	path     string
	data     []byte
	tight    tightening
	loosens  []Warning // keys that only a trusted file may say
	unknown  []Warning
	hooks    []Hook // with their digests; "" for one that has none
	hookErrs []error
	wires    []wire.Kind
	servers  []theirServer // of tools
}

// readTheirs reads a repository's file. It may be older or newer than this
// program, so keys that are not known are no error.
func readTheirs(root string, wires []wire.Kind) (repoFile, error) {
	t := repoFile{path: filepath.Join(root, filepath.FromSlash(theirFile)), wires: wires}
	var err error
	if t.data, err = readFile(t.path); err != nil {
		return t, err
	}
	extra, err := decode(t.path, t.data, &t.tight)
	if err != nil {
		return t, err
	}
	if err := checkFile(t.path, t.data, t.tight.asConfig(), wires); err != nil {
		return t, err
	}
	for _, u := range extra {
		w := Warning{
			File: t.path,
			Line: u.line,
			Key:  u.name(),
		}
		if isKnown(u.key) {
			if u.key[0] == "mcp" {
				continue // each server is trusted by itself
			}
			if u.key[0] == "openapi" {
				w.Why = "no repository names services of yours, trusted or not; " + ownFile
				t.unknown = append(t.unknown, w)
				continue
			}
			w.Why = waits
			t.loosens = append(t.loosens, w)
			continue
		}
		w.Why = "it is not a setting" + didYouMean(u.key)
		t.unknown = append(t.unknown, w)
	}
	for _, h := range t.tight.Hooks {
		h.Outside = false // only the user can say it
		h.Digest, err = HookDigest(root, h)
		t.hooks, t.hookErrs = append(t.hooks, h), append(t.hookErrs, err)
	}
	return t, t.readServers(root)
}

// under lays what the file may say over the settings.
func (t repoFile) under(cfg Config, trusted func(trust.Item) bool) (Config, []Warning) {
	if trusted == nil {
		trusted = func(trust.Item) bool { return false }
	}
	warnings := slices.Clone(t.unknown)
	tight, narrowed := t.tighten(cfg)
	from, loosens := FromRepository, t.loosens
	if t.asks() && trusted(t.item()) {
		decoded, err := t.whole()
		if err == nil {
			decoded.Permission, decoded.Hooks, decoded.MCP, decoded.OpenAPI = nil, nil, nil, nil
			decoded.Walls.Show = joined(cfg.Walls.Show, decoded.Walls.Show)
			decoded.Walls.AllowEnv = cfg.Walls.AllowEnv // it would name the user's keys
			decoded.Setup = cfg.Setup                   // it would hand them out
			if line := lineOf(t.data, "setup.keys", 0); line > 0 {
				warnings = append(warnings, Warning{
					File: t.path,
					Line: line,
					Key:  "setup.keys",
					Why:  "no repository hands out your keys, trusted or not; " + ownFile,
				})
			}
			var refused []Warning
			decoded.Providers, refused = t.withoutKeys(decoded.Providers, cfg.Providers)
			warnings = append(warnings, refused...)
			tight.Checks = cfg.Checks
			cfg, from = over(tight, decoded), FromTrusted
		}
		loosens = because(loosens, err)
	}
	if from != FromTrusted {
		cfg = tight
		warnings = slices.Concat(warnings, loosens, narrowed)
	}
	for i, p := range t.tight.Permission {
		if p.Action == "allow" && from != FromTrusted {
			warnings = append(warnings, Warning{
				File: t.path,
				Line: lineOf(t.data, "permission", i+1),
				Key:  "an allow rule",
				Why:  waits,
			})
		}
		p.From = from
		cfg.Permission = append(slices.Clip(cfg.Permission), p)
	}
	for i, h := range t.hooks {
		if t.tight.Hooks[i].Outside {
			warnings = append(warnings, Warning{
				File: t.path,
				Line: lineOf(t.data, "hooks", i+1),
				Key:  fmt.Sprintf("outside of the %s hook %q", h.Event, h.Command),
				Why:  "a repository's hook never runs outside the walls, trusted or not; " + ownFile,
			})
		}
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
	cfg, more := t.withServers(cfg, trusted)
	return cfg, append(warnings, more...)
}

// whole is all that the file says, of which nothing counts where a part of it makes no sense.
func (t repoFile) whole() (decoded Config, err error) {
	if _, err = decode(t.path, t.data, &decoded); err != nil {
		return decoded, err
	}
	if wrong := faults(decoded, t.wires); len(wrong) > 0 {
		return decoded, wrong[0]
	}
	return decoded, nil
}

// because says of keys of a trusted file why they do not count.
func because(keys []Warning, err error) []Warning {
	if err == nil {
		return keys
	}
	keys = slices.Clone(keys)
	for i := range keys {
		keys[i].Why = "the file is trusted, and does not make sense: " + oneline.Of(err.Error())
	}
	return keys
}

// item is the file as something to be trusted.
func (t repoFile) item() trust.Item {
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
	if t.checks() {
		keys = append(keys, "checks in the place of those that plan finds")
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
func (t repoFile) shows() []string {
	var decoded Config
	if _, err := decode(t.path, t.data, &decoded); err != nil {
		return nil // said elsewhere
	}
	var out []string
	for _, path := range decoded.Walls.Show {
		out = append(out, "walls.show "+oneline.Of(path))
	}
	return out
}

func (t repoFile) hookItem(i int) trust.Item {
	h := t.hooks[i]
	item := trust.Item{
		Kind:   "hook",
		Path:   fmt.Sprintf("%s#%s %s", theirFile, h.Event, h.Command),
		Digest: h.Digest,
		Detail: fmt.Sprintf("at %s runs: %s", h.Event, h.Command),
	}
	if t.tight.Hooks[i].Outside {
		item.Detail += "; it wants to run outside the walls, which no hook of a repository does"
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
	return trust.Command(root, string(entry), h.Command, h.Programs(root))
}

// asks reports whether some of the file counts only once it is trusted.
func (t repoFile) asks() bool { return len(t.loosens)+len(t.tight.Permission) > 0 || t.checks() }

// checks reports whether the file names checks.
func (t repoFile) checks() bool { return len(t.tight.Checks.Required)+len(t.tight.Checks.Run) > 0 }

// Claims lists what a repository's settings want that needs the user's yes: the
// file itself if it does more than tighten, each hook, and each MCP server.
func Claims(root string) ([]trust.Item, error) {
	t, err := readTheirs(root, nil)
	if err != nil {
		return nil, err
	}
	var out []trust.Item
	loosens := len(t.loosens) > 0 || t.checks() ||
		slices.ContainsFunc(t.tight.Permission, func(p Permission) bool { return p.Action == "allow" })
	if loosens {
		out = append(out, t.item())
	}
	for i := range t.hooks {
		out = append(out, t.hookItem(i))
	}
	for _, s := range t.servers {
		out = append(out, s.item)
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

// usualCheckTimeout is the least that bounds a check where the settings do not.
const usualCheckTimeout = 15 * time.Minute

// tighten lays over the settings what a file may say that is not trusted. Each
// value is compared with the one that holds without the file: what is no tighter
// does not count, and is among the warnings where that is not to be seen.
func (t repoFile) tighten(cfg Config) (Config, []Warning) {
	says := t.tight
	if says.MaxReviewCycles != nil && *says.MaxReviewCycles < *cfg.MaxReviewCycles {
		cfg.MaxReviewCycles = says.MaxReviewCycles
	}
	cfg.MaxTurns = smaller(cfg.MaxTurns, says.MaxTurns)
	cfg.MaxTokens = smaller(cfg.MaxTokens, says.MaxTokens)
	cfg.MaxCost = smaller(cfg.MaxCost, says.MaxCost)
	cfg.Timeout = Of(smaller(cfg.Timeout.Duration, says.Timeout.Duration))
	cfg.MaxMemory = smaller(cfg.MaxMemory, says.MaxMemory)
	cfg.MaxProcesses = smaller(cfg.MaxProcesses, says.MaxProcesses)
	if says.Checks.Evidence == plan.EvidenceShown {
		cfg.Checks.Evidence = says.Checks.Evidence
	}
	if says.ApprovePlan != nil && *says.ApprovePlan {
		cfg.ApprovePlan = says.ApprovePlan
	}
	var warnings []Warning
	cfg.Checks, warnings = t.addChecks(cfg.Checks)
	return cfg, warnings
}

// addChecks adds the checks of the file to those of the settings, which keep what
// they say of a command themselves.
func (t repoFile) addChecks(to ChecksConfig) (ChecksConfig, []Warning) {
	own := slices.Clone(to.Required)
	for _, c := range to.Run {
		own = append(own, c.Command)
	}
	isOwn := func(command string) bool { return slices.Contains(own, command) }
	most := cmp.Or(to.Timeout.Duration, usualCheckTimeout)
	to.Run = slices.Clone(to.Run)
	var warnings []Warning
	for i, c := range t.tight.Checks.Run {
		if isOwn(c.Command) {
			continue
		}
		if c.Timeout.Duration > most {
			c.Timeout = Duration{}
			warnings = append(warnings, Warning{
				File: t.path,
				Line: lineOf(t.data, "checks.run", i+1),
				Key:  fmt.Sprintf("the timeout of the check %q", c.Command),
				Why:  waits,
			})
		}
		to.Run = append(to.Run, c)
		to.Theirs = joined(to.Theirs, []string{c.Command})
	}
	required := slices.DeleteFunc(slices.Clone(t.tight.Checks.Required), isOwn)
	to.Required, to.Theirs = joined(to.Required, required), joined(to.Theirs, required)
	return to, warnings
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
