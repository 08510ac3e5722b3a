// Package hook runs the commands that the settings name for moments of a run,
// and makes loop hooks of them.
//
// A hook is told what happens as one JSON document on its standard input. Its
// exit status decides where a decision is due, and a JSON object on its
// standard output may say more. Its environment is clean, its time is limited,
// and when it ends, all that it started in its process group is killed.
//
// The package must not know where settings are kept, who is trusted or how walls
// are built: a hook that needs trust brings a check along, which is made each time
// before it runs, and the caller has the rooms where hooks run.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools/outside"
)

// The moments.
const (
	SessionStart = "session_start" // a process begins to drive a run
	PrePrompt    = "pre_prompt"    // something is about to be said to the model; judges
	TurnStart    = "turn_start"    // a model call is about to be made; judges
	PreToolUse   = "pre_tool_use"  // a tool is about to be called; judges
	PostToolUse  = "post_tool_use" // a tool has returned
	ResultRead   = "result"        // a tool's result is about to be read by the model; judges, may replace it
	TurnModel    = "turn_model"    // the model of the next turn is chosen; may name another
	Request      = "request"       // a request is about to be made; judges
	TurnEnd      = "turn_end"      // a turn has ended
	PhaseEnd     = "phase_end"     // the model is done with a phase; judges: it is reopened
	PreCompact   = "pre_compact"   // history is about to be made smaller; may refuse
	Verdict      = "verdict"       // a review has come to its verdict
	SessionEnd   = "session_end"   // the process stops driving the run
)

const (
	defaultTimeout = 30 * time.Second
	// mostOutput is how much of each output is kept, in bytes.
	mostOutput = 64 << 10
	// shownOutput is how much of it is told to the model and the journal.
	shownOutput = 4 << 10
)

// Hook is a command that is run at a moment.
type Hook struct {
	Event   string
	Tool    string // pattern of names; "" fits every tool
	Path    string // pattern of paths; "" fits every call
	Command string // for bash
	// Timeout bounds its time; default 30 s.
	Timeout time.Duration
	// Outside makes the room of a hook that runs outside of that of its phase. Nil: it does
	// not.
	Outside func(ctx context.Context) (Room, error)
	// Check is asked before each run; with an error the hook does not run and
	// has failed. Nil: it may always run.
	Check func() (Recheck, error)
}

// Recheck is called when a hook has ended; with an error it has failed, whatever it said.
type Recheck func() error

// Input is what a hook reads on its standard input. Fields that mean nothing at
// a moment are left out.
type Input struct {
	Event    string          `json:"event"`
	Run      plan.RunID      `json:"run,omitempty"`
	Phase    plan.Phase      `json:"phase,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Conv     string          `json:"conv,omitempty"`
	Turn     *int            `json:"turn,omitempty"`
	Dir      string          `json:"dir"` // where it runs: the root of the work tree, or of a copy
	Tool     string          `json:"tool,omitempty"`
	Call     string          `json:"call,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	Paths    []string        `json:"paths,omitempty"`  // that the call names
	Result   *Result         `json:"result,omitempty"` // post_tool_use, result
	Request  *Outgoing       `json:"request,omitempty"`
	Model    string          `json:"model,omitempty"`    // turn_model: of the conversation
	Ended    string          `json:"ended,omitempty"`    // turn_end: as what
	Usage    *plan.Usage     `json:"usage,omitempty"`    // turn_end: of the turn
	CostUSD  *float64        `json:"cost_usd,omitempty"` // turn_end
	Text     string          `json:"text,omitempty"`     // phase_end: what the model said last
	Reopened *int            `json:"reopened,omitempty"` // phase_end: how often hooks have reopened it
	Prompt   string          `json:"prompt,omitempty"`   // pre_prompt
	Tokens   int64           `json:"tokens,omitempty"`   // pre_compact: of the next request
	Verdict  *plan.Judgement `json:"verdict,omitempty"`
	State    plan.State      `json:"state,omitempty"`  // session_start, session_end
	Parked   plan.ParkReason `json:"parked,omitempty"` // session_end
}

// Result is a tool's result as a hook sees it.
type Result struct {
	Output   string `json:"output"`
	Full     string `json:"full,omitempty"` // result: all of it, where Output is cut
	Error    bool   `json:"error"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

// Outgoing is a request as a hook sees it.
type Outgoing struct {
	For      string `json:"for"`              // turn, or compact for a summary
	Parent   string `json:"parent,omitempty"` // of a sub-agent's conversation
	Model    string `json:"model"`
	Messages int    `json:"messages"`
	Tools    int    `json:"tools"`
	Tokens   int64  `json:"tokens"` // about so many are sent
}

// answer is what a hook may say on its standard output.
type answer struct {
	Args    json.RawMessage `json:"args"`    // pre_tool_use: call it with these instead
	Reason  string          `json:"reason"`  // of a block
	Context string          `json:"context"` // pre_prompt, post_tool_use: for the model to read
	Output  *string         `json:"output"`  // result: the model reads this instead
	Model   string          `json:"model"`   // turn_model: make the turn with it
	Reopen  string          `json:"reopen"`  // phase_end: what is left to do
}

// Room is where a hook runs.
type Room struct {
	Dir   string // the work tree, as the shell sees it
	Shell *sandbox.Shell
}

// Config says where and how hooks run.
type Config struct {
	Hooks []Hook
	// Room is asked for the room of each hook that does not run outside; ok is false
	// where there is none, and it runs in the work tree. Default: there is none.
	Room func(ctx context.Context, in Input) (room Room, ok bool, err error)
	Dir  string   // the root of the work tree
	Env  []string // as os.Environ gives it; it is cleaned
	Path string   // where the shell is looked for; default: PATH of Env
	// Redact replaces known secrets in what hooks print. Default: nothing.
	Redact func(string) string
	Now    func() time.Time
}

// Runner runs hooks. It is safe for concurrent use.
type Runner struct {
	cfg   Config
	shell *sandbox.Shell // nil without hooks
}

// New makes a runner. It needs bash or sh only if there are hooks.
func New(cfg Config) (*Runner, error) {
	if cfg.Redact == nil {
		cfg.Redact = func(s string) string { return s }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Runner{cfg: cfg}
	if len(cfg.Hooks) == 0 {
		return r, nil
	}
	var err error
	if r.shell, err = sandbox.New(sandbox.Config{Env: cfg.Env, Path: cfg.Path}); err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	return r, nil
}

// Has reports whether there are hooks for a moment.
func (r *Runner) Has(event string) bool {
	return slices.ContainsFunc(r.cfg.Hooks, func(h Hook) bool { return h.Event == event })
}

// Each runs the hooks that fit, in order, until stop says that one was the
// last; nil runs all. What one changes the next one sees.
func (r *Runner) Each(ctx context.Context, in Input, stop func(Report) bool) []Report {
	var out []Report
	for _, h := range r.cfg.Hooks {
		if !h.fits(in) {
			continue
		}
		rep := r.run(ctx, h, in)
		out = append(out, rep)
		if stop != nil && stop(rep) {
			break
		}
		if rep.Args != nil {
			in.Args = rep.Args
		}
		if rep.Result != nil && in.Result != nil {
			next := *in.Result
			next.Output, next.Full = *rep.Result, ""
			in.Result = &next
		}
	}
	return out
}

func (h Hook) fits(in Input) bool {
	if h.Event != in.Event || (h.Tool != "" && !fitsTool(h.Tool, in.Tool)) {
		return false
	}
	return h.Path == "" || slices.ContainsFunc(in.Paths, func(p string) bool {
		if !strings.Contains(h.Path, "/") {
			return doublestar.MatchUnvalidated(h.Path, path.Base(p))
		}
		return doublestar.MatchUnvalidated(strings.TrimPrefix(h.Path, "./"), path.Clean(p))
	})
}

// fitsTool matches the name of a tool, that of one from outside also as rules have it.
func fitsTool(pattern, name string) bool {
	return doublestar.MatchUnvalidated(pattern, name) ||
		doublestar.MatchUnvalidated(pattern, outside.RuleName(name))
}

// run runs one hook to its end.
func (r *Runner) run(ctx context.Context, h Hook, in Input) (rep Report) {
	rep = Report{Hook: h, ExitCode: -1}
	still := func() error { return nil }
	if h.Check != nil {
		after, err := h.Check()
		if rep.Err = err; err != nil {
			return rep
		}
		if after != nil {
			still = after
		}
	}
	room, err := r.room(ctx, h, in)
	if err != nil {
		rep.Err = fmt.Errorf("there is no room where it can run: %w", err)
		return rep
	}
	in.Dir = room.Dir
	stdin, err := plan.MarshalCompact(in)
	if err != nil {
		rep.Err = fmt.Errorf("encode what it is told: %w", err)
		return rep
	}
	if h.Timeout <= 0 {
		h.Timeout = defaultTimeout
	}
	line := h.Command
	if room.Shell.Pipefail() {
		line = "set +o pipefail\n" + line
	}
	var out, stderr bounded
	began := r.cfg.Now()
	res, err := room.Shell.Run(ctx, sandbox.Command{
		Line:    line,
		Dir:     room.Dir,
		Timeout: h.Timeout,
		Input:   append(stdin, '\n'),
		Output:  out.add,
		Errors:  stderr.add,
	})
	rep.Duration = r.cfg.Now().Sub(began)
	switch {
	case err != nil && ctx.Err() != nil:
		rep.Err = fmt.Errorf("it was stopped: %w", context.Cause(ctx))
	case err != nil:
		rep.Err = fmt.Errorf("it did not run: %w", err)
	case res.TimedOut:
		rep.Err = fmt.Errorf(
			"it was killed after %s, the most it may take; make it faster or give it a longer timeout",
			h.Timeout,
		)
	case !res.Signaled:
		rep.ExitCode = res.ExitCode
	}
	if rep.Err == nil {
		rep.Err = still()
	}
	r.understand(&rep, in, out.text(), stderr.text())
	return rep
}

// room is where a hook runs.
func (r *Runner) room(ctx context.Context, h Hook, in Input) (Room, error) {
	if h.Outside != nil {
		return h.Outside(ctx)
	}
	if r.cfg.Room != nil {
		if room, ok, err := r.cfg.Room(ctx, in); ok || err != nil {
			return room, err
		}
	}
	return Room{Dir: r.cfg.Dir, Shell: r.shell}, nil
}

// understand reads what a hook printed.
func (r *Runner) understand(rep *Report, in Input, out, stderr string) {
	var a answer
	if text := strings.TrimSpace(out); strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &a); err != nil && rep.Err == nil && rep.ExitCode == 0 {
			rep.Err = fmt.Errorf("its answer is no JSON that can be read: %w", err)
		}
		out = ""
	}
	if rep.ExitCode == 0 && rep.Err == nil {
		if string(a.Args) != "null" {
			rep.Args = a.Args
		}
		rep.Context = r.cfg.Redact(strings.TrimSpace(a.Context))
		rep.Result, rep.Model = a.Output, strings.TrimSpace(a.Model)
		rep.Reopen = r.shortened(strings.TrimSpace(a.Reopen))
	}
	text := cmp.Or(strings.TrimSpace(a.Reason), rep.Reopen)
	if text == "" {
		text = strings.TrimSpace(strings.TrimSpace(out) + "\n" + strings.TrimSpace(stderr))
	}
	rep.Output = r.shortened(text)
	rep.Change = r.change(*rep, in)
}

// bounded keeps the beginning of an output, and lets the rest go by, so that
// the child is never held up.
type bounded struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *bounded) add(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Write(p[:min(len(p), mostOutput-b.buf.Len())])
}

func (b *bounded) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
