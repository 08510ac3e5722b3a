package config

import (
	"encoding/json"
	"time"

	"github.com/plan-engine/plan"
)

// Config is the settings of a run. Keys in TOML and JSON are the same and
// mirror the flags of the command line. A zero field means unset; [Load] fills
// in the defaults named here.
type Config struct {
	Model   string `toml:"model" json:"model,omitempty"`
	BaseURL string `toml:"base_url" json:"base_url,omitempty"` // of an OpenAI-compatible server

	// Provider is where names of models go that name no provider themselves.
	// Unset: the server of BaseURL, else openai. Providers are servers by name,
	// laid over what the catalogue says of the usual ones.
	Provider  string                    `toml:"provider,omitempty" json:"provider,omitempty"`
	Providers map[string]ProviderConfig `toml:"providers,omitempty" json:"providers,omitempty"`
	Route     RouteConfig               `toml:"route,omitempty" json:"route,omitzero"`

	// Phase overrides model and sampling for single phases.
	Phase map[plan.Phase]PhaseConfig `toml:"phase" json:"phase,omitempty"`

	// Effort is the reasoning effort, as the server names it.
	Effort      string   `toml:"effort" json:"effort,omitempty"`
	Temperature *float64 `toml:"temperature" json:"temperature,omitempty" max:"2"` // unset: not sent
	// MaxOutputTokens bounds one answer. Unset: the server's bound.
	MaxOutputTokens int `toml:"max_output_tokens" json:"max_output_tokens,omitempty" max:"10000000"`

	// Fix cycles; default 2.
	MaxReviewCycles *int `toml:"max_review_cycles" json:"max_review_cycles,omitempty" max:"1000"`
	// Per phase attempt; default 100.
	MaxTurns int `toml:"max_turns" json:"max_turns,omitempty" max:"1000000"`
	// Over the whole run; unset: no bound.
	MaxTokens int64 `toml:"max_tokens" json:"max_tokens,omitempty" max:"1000000000000"`
	// MaxCost is in USD, over the whole run. Unset: no bound.
	MaxCost float64  `toml:"max_cost" json:"max_cost,omitempty" max:"1000000"`
	Timeout Duration `toml:"timeout" json:"timeout,omitzero"` // per process; unset: no bound

	Checks   ChecksConfig           `toml:"checks" json:"checks,omitzero"`
	Setup    SetupConfig            `toml:"setup" json:"setup,omitzero"`
	Compact  CompactConfig          `toml:"compact" json:"compact,omitzero"`
	Retry    RetryConfig            `toml:"retry" json:"retry,omitzero"`
	Timeouts TimeoutsConfig         `toml:"timeouts" json:"timeouts,omitzero"`
	Letters  LettersConfig          `toml:"letters" json:"letters,omitzero"`
	Terminal TerminalConfig         `toml:"terminal" json:"terminal,omitzero"`
	Serve    ServeConfig            `toml:"serve" json:"serve,omitzero"`
	Redact   RedactConfig           `toml:"redact" json:"redact,omitzero"`
	Models   map[string]ModelConfig `toml:"models" json:"models,omitempty"` // by model name

	Memory MemoryConfig `toml:"memory" json:"memory,omitzero"`
	Skills SkillsConfig `toml:"skills" json:"skills,omitzero"`
	// ReplanOnDrift makes another plan where the tree changed under a run, instead
	// of parking. Unset: no.
	ReplanOnDrift *bool `toml:"replan_on_drift" json:"replan_on_drift,omitempty"`

	// Permission says what tools may do, Hooks what is run beside them. The rules
	// and hooks of a repository are behind the user's own, with their origin.
	Permission  []Permission `toml:"permission,omitempty" json:"permission,omitempty"`
	Hooks       []Hook       `toml:"hooks,omitempty" json:"hooks,omitempty"`
	AutoApprove bool         `toml:"auto_approve" json:"auto_approve,omitempty"` // answer "ask" with yes; default false

	// Worktree gives every run a work tree of its own; WorktreeInclude are globs
	// of ignored files that are copied into it, because builds need them.
	Worktree        *bool    `toml:"worktree" json:"worktree,omitempty"`
	WorktreeInclude []string `toml:"worktree_include" json:"worktree_include,omitempty"`

	// SubAgents offers the tool task, which hands work to a helper that only
	// reads. Default false.
	SubAgents *bool `toml:"sub_agents" json:"sub_agents,omitempty"`
	// ToolStrategy says how the tool calls of one answer are run: those that can at the same
	// time, or one after the other, with a look for guidance after each. Unset: parallel.
	ToolStrategy string `toml:"tool_strategy" json:"tool_strategy,omitempty" oneof:"parallel,sequential"`
	// Way is how much of the workflow a run takes: full has all four phases, in short
	// Explore hands over the plan, direct has neither Explore nor Plan, and auto
	// leaves the choice between full and short to Explore. Default auto.
	Way string `toml:"way" json:"way,omitempty" oneof:"auto,full,short,direct"`
	// PlanSize is how long a plan may be. Default full: as long as it needs.
	PlanSize string `toml:"plan_size,omitempty" json:"plan_size,omitempty" oneof:"short,full"`
	Critique *bool  `toml:"critique" json:"critique,omitempty"` // have the plan looked at a second time; default false
	// ApprovePlan lets no plan be carried out that a person has not approved.
	// Default false.
	ApprovePlan *bool `toml:"approve_plan" json:"approve_plan,omitempty"`
	// Sandbox says what walls commands run behind: auto takes the strongest that
	// can be built, required refuses to run without any, off does without, and
	// the name of a level takes that one or refuses. Unset: auto.
	Sandbox string `toml:"sandbox" json:"sandbox,omitempty" oneof:"auto,required,off,namespaces,bubblewrap,landlock,sandbox-exec"`
	// MaxMemory and MaxProcesses bound what all commands of a phase, or one check,
	// use together. Unset: no bound of memory; default 4096 processes and threads.
	MaxMemory    Size        `toml:"max_memory" json:"max_memory,omitempty"`
	MaxProcesses int64       `toml:"max_processes" json:"max_processes,omitempty" max:"4194304"`
	Walls        WallsConfig `toml:"walls" json:"walls,omitzero"`
	// MaxUntracked is the size from which an untracked file is left out of snapshots. It
	// is the home's alone, since all commands must agree on it. Default 1 GiB.
	MaxUntracked Size `toml:"max_untracked,omitempty" json:"max_untracked,omitempty"`
	// ExploreBash gives Explore and Plan commands, behind the wall of Review. Unset: where
	// one can be built.
	ExploreBash *bool `toml:"explore_bash" json:"explore_bash,omitempty"`
	// AllowCommit lets the commands of Implement write .git, hooks and settings
	// excepted.
	AllowCommit bool `toml:"allow_commit" json:"allow_commit,omitempty"`

	// LSP are language servers, by the language that the tool symbols asks them about.
	LSP map[string]LSPConfig `toml:"lsp,omitempty" json:"lsp,omitempty"`

	// MCP are servers of tools, by name. Those of a repository are among them once they are
	// trusted, with their origin.
	MCP map[string]MCPConfig `toml:"mcp,omitempty" json:"mcp,omitempty"`
	// OpenAPI are services whose operations are tools, by name.
	OpenAPI map[string]OpenAPIConfig `toml:"openapi,omitempty" json:"openapi,omitempty"`
	// Tools says how tools from outside are offered.
	Tools ToolsConfig `toml:"tools,omitempty" json:"tools,omitzero"`

	// Publish is the command that `plan batch publish` runs for each approved
	// job, and PublishInterval the least time between two of them. Nothing else
	// reads them, and never from a repository.
	Publish         string   `toml:"publish" json:"publish,omitempty"`
	PublishInterval Duration `toml:"publish_interval" json:"publish_interval,omitzero"` // unset: 2s

	// Wait sleeps through a rate limit, and while a server cannot be reached. Unset: on
	// a terminal and in batches, there for a server only that answered before.
	Wait *bool `toml:"wait" json:"wait,omitempty"`
	// How a verdict is asked for; unset: auto.
	Structured string `toml:"structured" json:"structured,omitempty" known:"structured"`
}

// PhaseConfig overrides the settings of the same names for one phase.
type PhaseConfig struct {
	// Network says whether the phase's commands have it. Unset: only those of
	// Implement do. Review's holds for checks too.
	Network         *bool    `toml:"network" json:"network,omitempty"`
	Model           string   `toml:"model" json:"model,omitempty"`
	Effort          string   `toml:"effort" json:"effort,omitempty"`
	Temperature     *float64 `toml:"temperature" json:"temperature,omitempty" max:"2"`
	MaxOutputTokens int      `toml:"max_output_tokens" json:"max_output_tokens,omitempty" max:"10000000"`
	// Carry is what the phase starts from of the one before it: its report, or its whole
	// conversation. Unset: report. Only Plan and Implement can be handed a conversation.
	Carry string `toml:"carry,omitempty" json:"carry,omitempty" oneof:"report,conversation"`
	// MaxTurns, in each attempt, counts in the place of the general one. MaxTokens and
	// MaxCost, in USD, bound all attempts of the phase beside what bounds the run. Unset,
	// or 0: no bound of its own.
	MaxTurns  *int     `toml:"max_turns,omitempty" json:"max_turns,omitempty" max:"1000000"`
	MaxTokens *int64   `toml:"max_tokens,omitempty" json:"max_tokens,omitempty" max:"1000000000000"`
	MaxCost   *float64 `toml:"max_cost,omitempty" json:"max_cost,omitempty" max:"1000000"`
	// Escalate is the model that takes the phase over where its own gets no
	// further: a name, or "@strong". Unset: none does.
	Escalate string `toml:"escalate,omitempty" json:"escalate,omitempty"`
}

// ChecksConfig says which commands decide. Run is for those of which more is to
// be said than that they are required.
type ChecksConfig struct {
	Required []string      `toml:"required" json:"required,omitempty"`
	Run      []CheckConfig `toml:"run" json:"run,omitempty"`
	// Theirs are commands of Required and Run that only a repository's file names
	// which is not trusted. They join what is run without them, and replace none of it.
	Theirs []string `toml:"-" json:"theirs,omitempty"`
	// Runs once before the first check, in the work tree itself.
	Setup string `toml:"setup" json:"setup,omitempty"`
	// Timeout bounds one check. Unset: 60m before the change, then 15m or three
	// times what it took.
	Timeout Duration `toml:"timeout" json:"timeout,omitzero"`
	Detect  *bool    `toml:"detect" json:"detect,omitempty"` // look for the usual test commands; default true
	// Evidence is the least that an approval rests on; unset: unbroken.
	Evidence string `toml:"evidence" json:"evidence,omitempty" oneof:"shown,unbroken"`
}

// SetupConfig says what is given to a fetch of what a changed lock file names.
type SetupConfig struct {
	// Keys are those of the user that it gets, where it gets no further without: npm
	// (of .npmrc), netrc, git-credential, ssh-agent. They count in the user's own file alone.
	Keys []string `toml:"keys" json:"keys,omitempty" oneof:"npm,netrc,git-credential,ssh-agent"`
}

// IsZero says that there is nothing to write, also of an empty list.
func (c SetupConfig) IsZero() bool { return len(c.Keys) == 0 }

// CheckConfig is one command that decides.
type CheckConfig struct {
	Command string   `toml:"command" json:"command"`
	Name    string   `toml:"name" json:"name,omitempty"`      // for people; unset: the command
	Timeout Duration `toml:"timeout" json:"timeout,omitzero"` // unset: that of all checks
	// Globs: not run after a change that touches none; unset: always run.
	Paths  []string `toml:"paths" json:"paths,omitempty"`
	Advice bool     `toml:"advisory" json:"advisory,omitempty"` // need not pass, but must not go from pass to fail
}

// CompactConfig says what may be done to history where a model's window gets
// full.
type CompactConfig struct {
	Level string `toml:"level" json:"level,omitempty" oneof:"off,safe,full"` // unset: safe
}

// RetryConfig says how often and how long failed model calls are repeated.
type RetryConfig struct {
	// Retries after an answer that failed; default 2.
	Served int `toml:"served" json:"served,omitempty" max:"100"`
	// How long to try when nothing answers; default 5m.
	UnservedFor Duration `toml:"unserved_for" json:"unserved_for,omitzero"`
	Base        Duration `toml:"base" json:"base,omitzero"` // first wait; default 500ms
	Max         Duration `toml:"max" json:"max,omitzero"`   // longest wait; default 30s
	// Longest wait that a server may ask for; default 60s.
	RetryAfterMax Duration `toml:"retry_after_max" json:"retry_after_max,omitzero"`
	// UnreachableFor is how long to try where no server is found (a refused
	// connection, DNS, TLS). Unset: 10s before a run's first answer, 2m after it.
	UnreachableFor Duration `toml:"unreachable_for,omitempty" json:"unreachable_for,omitzero"`
}

// Unreachable is how long to go on trying where no server is found. Answered
// says that the run has had an answer.
func (c RetryConfig) Unreachable(answered bool) time.Duration {
	switch {
	case c.UnreachableFor.Duration > 0:
		return c.UnreachableFor.Duration
	case answered:
		return 2 * time.Minute
	default:
		return 10 * time.Second
	}
}

// LettersConfig says how many of the letters that wait for a run are taken in at once, by
// kind: one, or all. Unset: one.
type LettersConfig struct {
	Steering  string `toml:"steering" json:"steering,omitempty" oneof:"one,all"`
	FollowUps string `toml:"follow_ups" json:"follow_ups,omitempty" oneof:"one,all"`
}

// TerminalConfig says how a terminal tells a person that a run waits for them or has
// ended, where the session or the live view of a run is open. No run's business.
type TerminalConfig struct {
	// Bell rings the terminal's. Unset: yes.
	Bell *bool `toml:"bell" json:"bell,omitempty"`
	// Notify has the terminal show a notification, by the sequence that it knows.
	// Unset: none.
	Notify string `toml:"notify" json:"notify,omitempty" oneof:"osc9,osc777"`
}

// ServeConfig says what `plan serve` offers. It counts in the user's own file alone.
type ServeConfig struct {
	// Repositories are folders of those in which runs may be begun there. Unset: the one
	// that it is started in.
	Repositories []string `toml:"repositories" json:"repositories,omitempty"`
}

// IsZero says that there is nothing to write, also of an empty list.
func (c ServeConfig) IsZero() bool { return len(c.Repositories) == 0 }

// WallsConfig says what commands see of the user's home and environment.
type WallsConfig struct {
	// Show are files and folders of the home that commands can read, beside those that
	// tools need: absolute, or with ~.
	Show []string `toml:"show" json:"show,omitempty"`
	// Environment says which variables commands get: minimal is those that build tools go
	// by, inherit all that do not look like a secret. Unset: minimal.
	Environment string `toml:"environment" json:"environment,omitempty" oneof:"minimal,inherit"`
	// AllowEnv are variables that commands get too. A pattern such as "APP_*" takes none
	// that looks like a secret; a name is taken at its word.
	AllowEnv []string `toml:"allow_env" json:"allow_env,omitempty"`
}

// LSPConfig is a language server.
type LSPConfig struct {
	// Command starts it: it speaks over its standard input and output. It runs behind the
	// wall of the phase that asks.
	Command string `toml:"command" json:"command,omitempty"`
}

// ToolsConfig says how tools from outside are offered.
type ToolsConfig struct {
	// Budget is how many tokens their schemas may take in a request; the rest is found by
	// words. Unset: a twentieth of the model's window, and at most 4000. 1 offers none by name.
	Budget int `toml:"budget,omitempty" json:"budget,omitempty" max:"1000000"`
}

// lspLanguages are those that a language server can be named for.
func lspLanguages() []string {
	return []string{"go", "python", "javascript", "typescript", "rust", "java", "c", "cpp"}
}

// Servers are the command lines of language servers, by language.
func (c Config) Servers() map[string]string {
	out := map[string]string{}
	for language, server := range c.LSP {
		if !isBlank(server.Command) {
			out[language] = server.Command
		}
	}
	return out
}

// IsZero says that there is nothing to write, also of an empty list.
func (c WallsConfig) IsZero() bool {
	return len(c.Show) == 0 && c.Environment == "" && len(c.AllowEnv) == 0
}

// Inherits says that commands get all variables that do not look like a secret.
func (c WallsConfig) Inherits() bool { return c.Environment == "inherit" }

// MemoryConfig says what is remembered across runs.
type MemoryConfig struct {
	Off    bool     `toml:"off" json:"off,omitempty"`                 // remember and recall nothing
	Recall []string `toml:"recall,omitempty" json:"recall,omitempty"` // the phases that are told facts; unset: explore
	// Retention is how long what runs learned is kept after its last use; what
	// a person added stays. Unset: 180 days.
	Retention Duration `toml:"retention" json:"retention,omitzero" longest:"87600h"`
}

// IsZero says that there is nothing to write, also of an empty list.
func (c MemoryConfig) IsZero() bool { return !c.Off && len(c.Recall) == 0 && c.Retention.Duration == 0 }

// SkillsConfig says whether skills are used and drafted.
type SkillsConfig struct {
	Off     bool `toml:"off" json:"off,omitempty"`           // use none
	NoDraft bool `toml:"no_draft" json:"no_draft,omitempty"` // draft none
	// Seed makes the choice among skills repeatable; 0: a new one each time.
	Seed int64 `toml:"seed" json:"seed,omitempty"`
}

// Default is the settings that hold where nothing else is said.
func Default() Config {
	cycles, detect := 2, true
	return Config{
		MaxReviewCycles: &cycles,
		MaxTurns:        100,
		MaxProcesses:    4096,
		Way:             plan.WayAuto,
		ToolStrategy:    "parallel",
		Letters:         LettersConfig{Steering: "one", FollowUps: "one"},
		Checks:          ChecksConfig{Detect: &detect},
		Retry: RetryConfig{
			Served:        2,
			UnservedFor:   Of(5 * time.Minute),
			Base:          Of(500 * time.Millisecond),
			Max:           Of(30 * time.Second),
			RetryAfterMax: Of(time.Minute),
		},
		Timeouts: TimeoutsConfig{
			Idle:   Of(2 * time.Minute),
			Bash:   Of(2 * time.Minute),
			Read:   Of(30 * time.Second),
			Search: Of(30 * time.Second),
			Edit:   Of(30 * time.Second),
			Exec:   Of(610 * time.Second),
			MCP:    Of(2 * time.Minute),
		},
	}
}

// For is the model and sampling of one phase: its own settings, and the
// general ones where it has none.
func (c Config) For(phase plan.Phase) PhaseConfig {
	return over(PhaseConfig{
		Model:           c.Model,
		Effort:          c.Effort,
		Temperature:     c.Temperature,
		MaxOutputTokens: c.MaxOutputTokens,
	}, c.Phase[phase])
}

// JSON is the settings as they are kept with a run: without what may be a key,
// as Public leaves it out. The result can be read back with encoding/json. It
// is nil for numbers that JSON cannot hold, which Load never returns.
func (c Config) JSON() json.RawMessage {
	data, err := plan.MarshalCompact(c.Public())
	if err != nil {
		return nil
	}
	return data
}
