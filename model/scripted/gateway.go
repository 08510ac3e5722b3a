package scripted

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Gateway is how a server differs from the plain one: the ways of real
// gateways and local servers. The zero value is the plain server.
type Gateway struct {
	// Wires are those that it speaks; others are answered 404. Default: all.
	Wires []Wire `toml:"wires"`

	// Window is how long a request may be, in tokens. Default: 0, any length.
	Window int64 `toml:"window"`
	// WindowField is the field in which the list of models says the window,
	// such as context_length or max_model_len. Default: it does not.
	WindowField string `toml:"window_field"`
	// TooLong is how a longer request is refused.
	TooLong TooLong `toml:"too_long"`
	// Truncates is the length, in tokens, to which a longer request is cut in
	// silence: its usage says so much and no more. Default: 0, no cut.
	Truncates int64 `toml:"truncates"`

	// Refuses names parameters that are refused, as [isRefusable] has them.
	Refuses []string `toml:"refuses"`
	// RefuseWords are what is said to them, with {name} for the parameter.
	// Default: the words of the wire's maker.
	RefuseWords string `toml:"refuse_words"`
	// Accepts names further parameters at the top of a request that are taken
	// and ignored, such as chat_template_kwargs.
	Accepts []string `toml:"accepts"`

	// ReasoningField is where Chat Completions has the reasoning, one of the
	// Reasoning… constants. Default: reasoning_content. No other field may
	// come back.
	ReasoningField ReasoningField `toml:"reasoning_field"`
	// NeedsReasoning refuses messages with calls that come back without their
	// reasoning, also when it was empty.
	NeedsReasoning bool `toml:"needs_reasoning"`
	// ExtraContent puts a signature on the first call of each answer, as
	// Gemini's compatible endpoint does, which must come back with the call.
	ExtraContent bool `toml:"extra_content"`

	// NoFinish leaves out why an answer ended, by Chat Completions.
	NoFinish bool `toml:"no_finish"`
	// UsageWithoutReasoning counts completion_tokens without the reasoning, by
	// Chat Completions. The total has it.
	UsageWithoutReasoning bool `toml:"usage_without_reasoning"`
	// Cost is what each answer is said to cost, in dollars, in the usage of
	// both of OpenAI's wires. Default: it is not said.
	Cost *float64 `toml:"cost"`

	// CallsAsText writes calls as text, in the way of a model whose server does
	// not know it: one of the Text… constants. Default: calls are calls.
	CallsAsText TextCalls `toml:"calls_as_text"`
	// InReasoning writes those at the end of the reasoning, not of the text.
	InReasoning bool `toml:"in_reasoning"`

	// Silence is the pause before the first byte of an answer, status line
	// included. Default: none.
	Silence Duration `toml:"silence"`
	// Comments puts a comment before each event of a stream.
	Comments bool `toml:"comments"`
}

// TooLong is how a request is refused that is longer than the window. In its
// texts, {sent} is the length of the request and {window} the window, in
// tokens.
type TooLong struct {
	Status int    `toml:"status"` // default: 400
	Words  string `toml:"words"`  // the message of an error in the wire's shape; default: as the wire's maker has it
	Body   string `toml:"body"`   // the whole body, instead of Words
}

// ReasoningField names where Chat Completions has the reasoning.
type ReasoningField string

// The places of reasoning.
const (
	ReasoningContent ReasoningField = "reasoning_content" // text: DeepSeek, Kimi, vLLM
	ReasoningText    ReasoningField = "reasoning"         // text: newer vLLM, Groq
	ReasoningThink   ReasoningField = "think"             // <think>…</think> at the start of the content
	// ReasoningDetails is a list, beside the text in "reasoning", as OpenRouter
	// has it. Each call has an entry of its own.
	ReasoningDetails ReasoningField = "reasoning_details"
)

// reasoningFields are all of them.
var reasoningFields = []ReasoningField{"", ReasoningContent, ReasoningText, ReasoningThink, ReasoningDetails}

// field is where the reasoning stands.
func (g *Gateway) field() ReasoningField {
	if g.ReasoningField == "" {
		return ReasoningContent
	}
	return g.ReasoningField
}

// speaks reports whether the server speaks w.
func (g *Gateway) speaks(w Wire) bool { return len(g.Wires) == 0 || slices.Contains(g.Wires, w) }

// check finds what is wrong with the settings.
func (g *Gateway) check() error {
	for _, w := range g.Wires {
		if !slices.Contains(Wires(), string(w)) {
			return fmt.Errorf("server: wire %q is not one of %s", w, strings.Join(Wires(), ", "))
		}
	}
	for _, name := range g.Refuses {
		if !isRefusable(name) {
			return fmt.Errorf(
				"server: refuses %q: name a parameter, such as max_tokens, reasoning.effort or reasoning_effort=high, "+
					"schema:KEYWORD, developer, null_content, repeated_roles, strict or images",
				name,
			)
		}
	}
	switch {
	case !slices.Contains(reasoningFields, g.ReasoningField):
		return fmt.Errorf(
			"server: reasoning_field %q is not one of reasoning_content, reasoning, think, reasoning_details",
			g.ReasoningField,
		)
	case !slices.Contains(textCalls, g.CallsAsText):
		return fmt.Errorf(
			"server: calls_as_text %q is not one of tool_call, mistral, mistral_named, llama, harmony, kimi, functions",
			g.CallsAsText,
		)
	case g.InReasoning && g.CallsAsText == "":
		return errors.New("server: in_reasoning is for calls_as_text; say how calls are written")
	case g.RefuseWords != "" && len(g.Refuses) == 0:
		return errors.New("server: refuse_words has no use without refuses")
	case g.Silence < 0:
		return fmt.Errorf("server: silence is %s; it cannot be negative", time.Duration(g.Silence))
	case g.Cost != nil && !(*g.Cost >= 0 && *g.Cost < 1e6):
		return fmt.Errorf("server: cost is %g; give dollars from 0 up", *g.Cost)
	}
	return g.checkLength()
}

// checkLength looks at what the server does with long requests.
func (g *Gateway) checkLength() error {
	switch t := g.TooLong; {
	case g.Window < 0 || g.Truncates < 0:
		return errors.New("server: window and truncates are in tokens and cannot be negative")
	case g.Window == 0 && (t != TooLong{} || g.WindowField != ""):
		return errors.New("server: too_long and window_field have no use without a window")
	case t.Status != 0 && (t.Status < 400 || t.Status > 599):
		return fmt.Errorf("server: too_long: status is %d; give one from 400 to 599", t.Status)
	case t.Words != "" && t.Body != "":
		return errors.New("server: too_long has words and a body; give one of them")
	}
	return nil
}

// tooLong is the refusal of a request of so many tokens; nil if it fits.
func (g *Gateway) tooLong(w *protocol, sent int64) *performance {
	if g.Window == 0 || sent <= g.Window {
		return nil
	}
	fill := strings.NewReplacer("{sent}", strconv.FormatInt(sent, 10), "{window}", strconv.FormatInt(g.Window, 10))
	status := g.TooLong.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	switch {
	case g.TooLong.Body != "":
		return document(status, fill.Replace(g.TooLong.Body))
	case g.TooLong.Words != "":
		return w.refuse(status, fill.Replace(g.TooLong.Words), "")
	}
	return document(status, w.errorJSON(status, fill.Replace(w.tooLong), "context_length_exceeded", w.tooLongParam))
}

// report is a usage as the server reports it.
func (g *Gateway) report(u Usage) Usage {
	if g.Truncates == 0 || u.Input <= g.Truncates {
		return u
	}
	u.Input = g.Truncates
	u.Cached = min(u.Cached, g.Truncates)
	u.Written, u.WrittenHour = 0, 0
	return u
}
