package scripted

import (
	"fmt"
	"slices"
	"strings"
)

// detail is an entry of reasoning_details, as OpenRouter has it.
type detail struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
	ID        string `json:"id,omitempty"`
	Format    string `json:"format"`
	Index     *int   `json:"index"`
}

// The types of details.
const (
	detailText      = "reasoning.text"
	detailEncrypted = "reasoning.encrypted"
)

// The formats of details: how the provider behind the gateway has them.
const (
	formatText      = "anthropic-claude-v1"
	formatEncrypted = "google-gemini-v1"
)

// Marks at the end of a call's id, which say what has to come back with it.
const (
	detailMark    = "_d" // an entry of reasoning_details
	signatureMark = "_t" // a signature in extra_content
)

// extraContent is what Gemini's compatible endpoint puts on calls.
type extraContent struct {
	Google struct {
		ThoughtSignature string `json:"thought_signature"`
	} `json:"google"`
}

// chatCallID is the id of the i-th call of an answer.
func (g *Gateway) chatCallID(a *answer, i int) string {
	id := fmt.Sprintf("call_%s_%d", a.tag, i)
	if g.field() == ReasoningDetails {
		id += detailMark
	}
	if g.ExtraContent && i == 0 {
		id += signatureMark
	}
	return id
}

// extra is what stands on the i-th call of an answer beside the call.
func (g *Gateway) extra(a *answer, i int) *extraContent {
	if !g.ExtraContent || i > 0 {
		return nil
	}
	var e extraContent
	e.Google.ThoughtSignature = seal("thought", g.chatCallID(a, i))
	return &e
}

// textDetail is an entry with a piece of the reasoning.
func textDetail(text, signature string) detail {
	return detail{
		Type:      detailText,
		Text:      text,
		Signature: signature,
		Format:    formatText,
		Index:     new(int),
	}
}

// callDetail is the entry of the i-th call. It vouches for the reasoning that
// came before the call.
func (g *Gateway) callDetail(a *answer, i int) detail {
	id := g.chatCallID(a, i)
	index := i + 1
	data := seal("detail", id, a.visibleReasoning())
	return detail{
		Type:   detailEncrypted,
		Data:   data,
		ID:     id,
		Format: formatEncrypted,
		Index:  &index,
	}
}

// details are all entries of an answer.
func (g *Gateway) details(a *answer) []detail {
	var out []detail
	if text := a.visibleReasoning(); text != "" {
		out = append(out, textDetail(text, seal("text", text)))
	}
	for i := range a.calls {
		out = append(out, g.callDetail(a, i))
	}
	return out
}

// reasoningDelta is a piece of reasoning where the gateway has it.
func (g *Gateway) reasoningDelta(piece string) content {
	switch g.field() {
	case ReasoningText:
		return content{ReasoningText: &piece}
	case ReasoningThink:
		return content{Content: &piece}
	case ReasoningDetails:
		return content{ReasoningText: &piece, Details: []detail{textDetail(piece, "")}}
	}
	return content{Reasoning: &piece}
}

// thinkText is reasoning as a part of the content.
func thinkText(reasoning string) string { return "<think>\n" + reasoning + "\n</think>\n\n" }

// checkFields refuses the fields of messages that this gateway does not know.
func (g *Gateway) checkFields(m *message) error {
	unknown := ""
	switch field := g.field(); {
	case m.Reasoning != nil && field != ReasoningContent:
		unknown = "reasoning_content"
	case m.ReasoningText != nil && field != ReasoningText && field != ReasoningDetails:
		unknown = "reasoning"
	case m.Details != nil && field != ReasoningDetails:
		unknown = "reasoning_details"
	case !g.ExtraContent && slices.ContainsFunc(m.ToolCalls, func(c messageCall) bool { return c.Extra != nil }):
		unknown = "extra_content"
	}
	if unknown != "" {
		return fmt.Errorf("unknown field %q", unknown)
	}
	return nil
}

// checkReturned makes sure that the i-th message, one with calls, comes back
// with all that came with it.
func (g *Gateway) checkReturned(m *message, i int) error {
	if len(m.ToolCalls) == 0 {
		return nil
	}
	for at, c := range m.ToolCalls {
		if !g.ExtraContent || !strings.HasSuffix(c.ID, signatureMark) {
			continue
		}
		if c.Extra == nil || c.Extra.Google.ThoughtSignature != seal("thought", c.ID) {
			return wrong(
				"Function call is missing a thought_signature in functionCall parts. This is required for tools "+
					"to work correctly. "+
					"Additional data, function call `default_api:%s`, position %d.",
				c.Function.Name,
				at+1,
			)
		}
	}
	if !g.NeedsReasoning {
		return nil
	}
	missing := false
	switch g.field() {
	case ReasoningContent:
		missing = m.Reasoning == nil
	case ReasoningText:
		missing = m.ReasoningText == nil
	case ReasoningThink:
		missing = !strings.HasPrefix(m.text(), "<think>")
	case ReasoningDetails:
		return m.checkDetails()
	}
	if missing {
		return wrong("Missing `%s` field in the assistant message at message index %d. "+
			"In thinking mode it must be passed back with tool calls, also when it is empty.", g.field(), i)
	}
	return nil
}

// checkDetails makes sure that the details of a message are as they were sent,
// in pieces or put together.
func (m *message) checkDetails() error {
	text := ""
	for _, d := range m.Details {
		if d.Type == detailText {
			text += d.Text
		}
		if d.Index == nil || d.Format == "" {
			return wrong("reasoning_details: an entry of type %q came back without its format or index", d.Type)
		}
	}
	for at, c := range m.ToolCalls {
		if !strings.HasSuffix(strings.TrimSuffix(c.ID, signatureMark), detailMark) {
			continue // another server's
		}
		index := slices.IndexFunc(m.Details, func(d detail) bool { return d.Type == detailEncrypted && d.ID == c.ID })
		switch {
		case index < 0:
			return wrong("Function call is missing a thought_signature in functionCall parts (reasoning_details). "+
				"Additional data, function call `default_api:%s`, position %d.", c.Function.Name, at+1)
		case m.Details[index].Data != seal("detail", c.ID, text):
			return wrong("reasoning_details: what came with tool call %q was changed, or is not whole", c.ID)
		}
	}
	return nil
}
