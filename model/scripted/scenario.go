package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/plan-engine/plan"
)

// Scenario is what the server will say.
type Scenario struct {
	// Name says what the scenario is about; it appears in error texts.
	Name string `toml:"name"`
	// Delay is the pause before each streamed chunk; 0 means none.
	Delay Duration `toml:"delay"`
	// Server says how the server differs from the plain one.
	Server Gateway `toml:"server"`
	// Replies are tried in this order; the first that fits is served.
	Replies []Reply `toml:"reply"`
}

// Reply is one answer and where it fits. A field of the place that is left out
// fits everything.
type Reply struct {
	Phase   string `toml:"phase"`
	Attempt int    `toml:"attempt"` // 1, 2, …; 0 = any
	User    int    `toml:"user"`    // 1, 2, …: which user message is answered; 0 = any
	Turn    *int   `toml:"turn"`    // 0, 1, …: assistant messages since that one; nil = any
	About   string `toml:"about"`   // words that some user message holds; "" = any

	Reasoning string `toml:"reasoning"`
	// Redacted says that the reasoning is not shown: by Anthropic Messages it
	// is a redacted_thinking block, by Responses an item without a summary.
	// Chat Completions leaves it out.
	Redacted bool   `toml:"redacted"`
	Text     string `toml:"text"`
	Refusal  string `toml:"refusal"` // what stands in the answer's field of that name
	Calls    []Call `toml:"call"`
	// Finish is the finish reason: stop, tool_calls, length, content_filter,
	// or another that some server uses: refusal, safety, recitation, other,
	// and Anthropic's pause_turn and model_context_window_exceeded. Each wire
	// says it in its own words. Default: tool_calls if there are calls, else
	// stop.
	Finish string `toml:"finish"`
	// Usage is what the answer is said to have consumed. Default: derived
	// from sizes, a quarter token a byte.
	Usage *Usage `toml:"usage"`
	// Fault is what goes wrong. Once it has struck [Fault.Times] times, the
	// reply is served whole; a reply that is nothing but a fault is then
	// passed over for the next one that fits.
	Fault *Fault `toml:"fault"`
}

// Call is a tool call.
type Call struct {
	Name string `toml:"name"`
	// Args are the arguments. Default: {}.
	Args map[string]any `toml:"args"`
	// Raw is the argument text as it is sent, valid JSON or not, instead of
	// Args.
	Raw *string `toml:"raw"`
}

// Usage counts tokens. Cached, Written and WrittenHour are disjoint parts of
// Input, and Reasoning is one of Output.
type Usage struct {
	Input       int64 `toml:"input"`
	Cached      int64 `toml:"cached"`
	Written     int64 `toml:"written"`      // to a cache, for minutes
	WrittenHour int64 `toml:"written_hour"` // to a cache, for an hour
	Output      int64 `toml:"output"`
	Reasoning   int64 `toml:"reasoning"`
}

// Duration is a time.Duration that TOML writes as a string such as "30ms".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as \"30ms\"", text)
	}
	*d = Duration(v)
	return nil
}

// Load reads a scenario from a file.
func Load(path string) (*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load scenario: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("load scenario %s: %w", path, err)
	}
	return s, nil
}

// Parse reads a scenario. Keys that it does not know, replies that could never
// be served and settings that would do nothing are errors with their line.
func Parse(data []byte) (*Scenario, error) {
	var s Scenario
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, locate(err)
	}
	if i, err := s.check(); err != nil {
		if lines := replyLines(data); i < len(lines) {
			return nil, fmt.Errorf("line %d: %w", lines[i], err)
		}
		return nil, err
	}
	return &s, nil
}

// locate puts the line in front of a decoding error.
func locate(err error) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) && len(missing.Errors) > 0 {
		first := &missing.Errors[0]
		row, _ := first.Position()
		return fmt.Errorf("line %d: unknown key %q", row, strings.Join(first.Key(), "."))
	}
	var dec *toml.DecodeError
	if errors.As(err, &dec) {
		row, _ := dec.Position()
		return fmt.Errorf("line %d: %s", row, strings.TrimPrefix(dec.Error(), "toml: "))
	}
	return fmt.Errorf("read scenario: %w", err)
}

// replyLines finds the line of every [[reply]] header.
func replyLines(data []byte) []int {
	var p unstable.Parser
	p.Reset(data)
	var lines []int
	for p.NextExpression() {
		node := p.Expression()
		if node.Kind != unstable.ArrayTable {
			continue
		}
		keys := node.Key()
		if keys.Next() && string(keys.Node().Data) == "reply" && keys.IsLast() {
			lines = append(lines, p.Shape(keys.Node().Raw).Start.Line)
		}
	}
	return lines
}

// check finds what is wrong with a scenario and the index of the reply it is
// wrong with, which is past the last reply if it is none of them.
func (s *Scenario) check() (int, error) {
	if len(s.Replies) == 0 {
		return 0, errors.New("the scenario has no reply; write at least one [[reply]]")
	}
	if s.Delay < 0 {
		return len(s.Replies), fmt.Errorf("delay is %s; it cannot be negative", time.Duration(s.Delay))
	}
	if err := s.Server.check(); err != nil {
		return len(s.Replies), err
	}
	for i := range s.Replies {
		r := &s.Replies[i]
		if err := r.check(); err != nil {
			return i, fmt.Errorf("reply %d: %w", i+1, err)
		}
		for j := range s.Replies[:i] {
			if s.Replies[j].hides(r) {
				return i, fmt.Errorf(
					"reply %d: it is never served, because reply %d fits first; say phase, attempt, user, turn or "+
						"about",
					i+1,
					j+1,
				)
			}
		}
	}
	return 0, nil
}

// finishes are the finish reasons that a reply may have.
var finishes = []string{
	"stop", "tool_calls", "length", "content_filter", "refusal", "safety", "recitation", "other",
	finishPause, finishWindow,
}

// Anthropic's own finish reasons.
const (
	finishPause  = "pause_turn"
	finishWindow = "model_context_window_exceeded"
)

func (r *Reply) check() error {
	switch {
	case r.Attempt < 0 || r.User < 0:
		return errors.New("attempt and user count from 1; leave them out to fit any")
	case r.Turn != nil && *r.Turn < 0:
		return errors.New("turn counts from 0; leave it out to fit any")
	case !r.says() && r.Fault == nil:
		return errors.New("it says nothing; give it text, reasoning, a refusal, a call or a fault")
	}
	if r.Finish != "" && !slices.Contains(finishes, r.Finish) {
		return fmt.Errorf("finish %q is not one of %s", r.Finish, strings.Join(finishes, ", "))
	}
	for _, c := range r.Calls {
		if err := c.check(); err != nil {
			return err
		}
	}
	if r.Redacted && r.Reasoning == "" {
		return errors.New("redacted: there is no reasoning to hide")
	}
	if err := r.Usage.check(); err != nil {
		return err
	}
	return r.Fault.check(r)
}

func (u *Usage) check() error {
	if u == nil {
		return nil
	}
	parts := u.Cached + u.Written + u.WrittenHour
	if min(u.Cached, u.Written, u.WrittenHour, u.Reasoning) < 0 || u.Output < u.Reasoning || u.Input < parts {
		return errors.New("usage: cached is a part of input, written and written_hour are others, " +
			"reasoning is one of output, and none is negative")
	}
	return nil
}

func (c *Call) check() error {
	if !validName(c.Name) {
		return fmt.Errorf("call name %q is not 1 to 64 letters, digits, _ or -", c.Name)
	}
	if c.Raw != nil && c.Args != nil {
		return fmt.Errorf("call %s has args and raw; give one of them", c.Name)
	}
	if _, err := c.arguments(); err != nil {
		return fmt.Errorf("call %s: args: %w", c.Name, err)
	}
	return nil
}

// arguments is the argument text to send.
func (c *Call) arguments() (string, error) {
	switch {
	case c.Raw != nil:
		return *c.Raw, nil
	case c.Args == nil:
		return "{}", nil
	}
	data, err := plan.MarshalCompact(c.Args)
	if err != nil {
		var bad *json.UnsupportedValueError
		if errors.As(err, &bad) {
			return "", fmt.Errorf("JSON cannot hold the value %s", bad.Str)
		}
		return "", fmt.Errorf("encode: %w", err)
	}
	return string(data), nil
}

// says reports whether the reply is more than its fault.
func (r *Reply) says() bool {
	return r.Text != "" || r.Reasoning != "" || r.Refusal != "" || len(r.Calls) > 0
}

// lasts reports whether the reply is served however often it is asked for.
func (r *Reply) lasts() bool { return r.says() || r.Fault.times() == 0 }

// hides reports whether r is served wherever later would be.
func (r *Reply) hides(later *Reply) bool {
	return r.lasts() &&
		(r.Phase == "" || r.Phase == later.Phase) &&
		(r.Attempt == 0 || r.Attempt == later.Attempt) &&
		(r.User == 0 || r.User == later.User) &&
		(r.Turn == nil || later.Turn != nil && *r.Turn == *later.Turn) &&
		strings.Contains(later.About, r.About)
}

// fits reports whether the reply answers a request at this place.
func (r *Reply) fits(at place) bool {
	return (r.Phase == "" || r.Phase == at.phase) &&
		(r.Attempt == 0 || r.Attempt == at.attempt) &&
		(r.User == 0 || r.User == at.user) &&
		(r.Turn == nil || *r.Turn == at.turn) &&
		strings.Contains(at.userText, r.About)
}
