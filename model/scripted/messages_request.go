package scripted

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// messagesRequest is an Anthropic Messages request. Decoding refuses any field
// that is not here, as a strict provider does.
type messagesRequest struct {
	Model         string            `json:"model"`
	MaxTokens     *int64            `json:"max_tokens"`
	System        json.RawMessage   `json:"system"`
	Messages      []messagesMessage `json:"messages"`
	Tools         []json.RawMessage `json:"tools"`
	ToolChoice    *messagesChoice   `json:"tool_choice"`
	Thinking      *thinkingOptions  `json:"thinking"`
	Stream        bool              `json:"stream"`
	Temperature   *float64          `json:"temperature"`
	TopP          *float64          `json:"top_p"`
	TopK          *int64            `json:"top_k"`
	StopSequences []string          `json:"stop_sequences"`
	CacheControl  *cacheControl     `json:"cache_control"`
	OutputConfig  *outputConfig     `json:"output_config"`
	ServiceTier   string            `json:"service_tier"`
	InferenceGeo  string            `json:"inference_geo"`
	Metadata      *struct {
		UserID *string `json:"user_id"`
	} `json:"metadata"`

	tools   []block
	system  []block
	content [][]block // of Messages
	joined  []joinedMessage
	spans   []span
}

// joinedMessage is what messages of one role that follow each other are.
type joinedMessage struct {
	role   string
	blocks []block
}

type messagesMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type messagesChoice struct {
	Type            string `json:"type"`
	Name            string `json:"name"`
	DisableParallel *bool  `json:"disable_parallel_tool_use"`
}

type thinkingOptions struct {
	Type         string `json:"type"`
	BudgetTokens *int64 `json:"budget_tokens"`
	Display      string `json:"display"`
}

type outputConfig struct {
	Effort string `json:"effort"`
	Format *struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	} `json:"format"`
}

// anthropicVersion is the version of the API that the server speaks.
const anthropicVersion = "2023-06-01"

// minBudget is the least that can be given for thinking, in tokens.
const minBudget = 1024

// thinkingManual ends refusals of what does not go with thinking.
const thinkingManual = "Please consult our documentation at " +
	"https://docs.claude.com/en/docs/build-with-claude/extended-thinking"

// readMessages decodes and checks a request.
func readMessages(body []byte, h http.Header) (*messagesRequest, error) {
	switch version := h.Get("Anthropic-Version"); version {
	case anthropicVersion:
	case "":
		return nil, wrong("anthropic-version: header is required")
	default:
		return nil, wrong("anthropic-version: %q is not a valid version; it is %s", version, anthropicVersion)
	}
	var req messagesRequest
	if err := decodeStrict(body, &req); err != nil {
		if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
			return nil, wrong("%s: Extra inputs are not permitted", strings.Trim(name, `"`))
		}
		return nil, err
	}
	for _, check := range []func() error{
		req.check,
		req.checkThinking,
		req.readTools,
		req.readSystem,
		req.readContent,
		req.checkReferences,
		req.checkOrder,
		req.checkReturned,
		req.checkBreakpoints,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return &req, nil
}

// check looks at all but the thinking, the tools and what is said.
func (r *messagesRequest) check() error {
	switch {
	case r.Model == "":
		return wrong("model: Field required")
	case r.MaxTokens == nil:
		return wrong("max_tokens: Field required")
	case *r.MaxTokens < 1:
		return wrong("max_tokens: Input should be greater than or equal to 1")
	case len(r.Messages) == 0:
		return wrong("messages: at least one message is required")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return wrong("temperature: range: 0..1")
	case r.Temperature != nil && r.TopP != nil:
		return wrong("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	case r.ServiceTier != "" && r.ServiceTier != "auto" && r.ServiceTier != "standard_only":
		return wrong("service_tier: Input should be 'auto' or 'standard_only'")
	}
	if o := r.OutputConfig; o != nil && o.Format != nil &&
		(o.Format.Type != "json_schema" || !isObject(o.Format.Schema)) {
		return wrong("output_config.format: a format is of type 'json_schema' and has a schema")
	}
	if c := r.ToolChoice; c != nil {
		switch {
		case !slices.Contains([]string{"auto", "any", "tool", "none"}, c.Type):
			return wrong("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: "+
				"'any', 'auto', 'none', 'tool'", c.Type)
		case len(r.Tools) == 0:
			return wrong("tool_choice: tool_choice may only be specified while providing tools.")
		case (c.Type == "tool") != (c.Name != ""):
			return wrong("tool_choice.%s: name is for type 'tool', which needs it", c.Type)
		}
	}
	return nil
}

// thinks reports whether thinking is enabled.
func (r *messagesRequest) thinks() bool { return r.Thinking != nil && r.Thinking.Type != "disabled" }

// checkThinking looks at the thinking and at what does not go with it.
func (r *messagesRequest) checkThinking() error {
	t := r.Thinking
	if t == nil {
		return nil
	}
	switch t.Type {
	case "enabled":
		switch {
		case t.BudgetTokens == nil:
			return wrong("thinking.enabled.budget_tokens: Field required")
		case *t.BudgetTokens < minBudget:
			return wrong("thinking.enabled.budget_tokens: Input should be greater than or equal to %d", minBudget)
		case *t.BudgetTokens >= *r.MaxTokens:
			return wrong("`max_tokens` must be greater than `thinking.budget_tokens`. " +
				thinkingManual)
		}
	case "adaptive", "disabled":
		if t.BudgetTokens != nil {
			return wrong("thinking.%s.budget_tokens: Extra inputs are not permitted", t.Type)
		}
	default:
		return wrong("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: "+
			"'adaptive', 'disabled', 'enabled'", t.Type)
	}
	if !r.thinks() {
		return nil
	}
	switch {
	case t.Display != "" && t.Display != "summarized" && t.Display != "omitted":
		return wrong("thinking.%s.display: Input should be 'summarized' or 'omitted'", t.Type)
	case r.Temperature != nil && *r.Temperature != 1:
		return wrong("`temperature` may only be set to 1 when thinking is enabled. " + thinkingManual)
	case r.TopK != nil:
		return wrong("`top_k` must be unset when thinking is enabled. " + thinkingManual)
	case r.TopP != nil && *r.TopP < 0.95:
		return wrong("`top_p` must be greater than or equal to 0.95 when thinking is enabled. " + thinkingManual)
	case r.ToolChoice != nil && (r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool"):
		return wrong("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

// asks implements question. A user message of results only is no turn.
func (r *messagesRequest) asks() *commonRequest {
	q := &commonRequest{
		model:     r.Model,
		stream:    r.Stream,
		continues: r.joined[len(r.joined)-1].role == "assistant",
		spans:     r.spans,
	}
	for i, m := range r.Messages {
		switch {
		case m.Role == "user" && hasText(r.content[i]):
			q.turns = append(q.turns, turn{text: textOf(r.content[i])})
		case m.Role == "assistant" && (i == 0 || r.Messages[i-1].Role != m.Role):
			q.turns = append(q.turns, turn{assistant: true})
		}
	}
	return q
}

// hasText reports whether a user message holds more than results.
func hasText(blocks []block) bool {
	return slices.ContainsFunc(blocks, func(b block) bool { return b.Type != blockResult })
}

// textOf is the text of a message.
func textOf(blocks []block) string {
	var out []string
	for _, b := range blocks {
		if b.Type == blockText {
			out = append(out, b.Text)
		}
	}
	return strings.Join(out, "\n")
}
