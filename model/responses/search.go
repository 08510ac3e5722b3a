package responses

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// A tool that finds tools is one of the wire's own, which the client runs. What it has found
// stands in the conversation from there on, and can be called by name. Source: the SDK's
// ToolSearchToolParam, ResponseInputItemToolSearchCallParam and
// ResponseToolSearchOutputItemParam.

// The type of that tool, of its calls and of their results.
const (
	itemSearchTool   = "tool_search"
	itemSearch       = "tool_search_call"
	itemSearchResult = "tool_search_output"

	byClient  = "client"
	completed = "completed"
)

// partSearch is that tool. A server that does not know it is sent a function, and the text of
// its results.
var partSearch = wire.Optional{
	Part:  "tool search",
	To:    "a function",
	Words: []string{itemSearchTool, "tool search", "defer_loading", "deferred"},
}

type searchTool struct {
	Type        string          `json:"type"`
	Execution   string          `json:"execution"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type searchCall struct {
	Type      string          `json:"type"`
	ID        json.RawMessage `json:"id,omitempty"`
	CallID    string          `json:"call_id"`
	Execution string          `json:"execution"`
	Status    string          `json:"status"`
	Arguments json.RawMessage `json:"arguments"`
}

type searchResult struct {
	Type      string      `json:"type"`
	CallID    string      `json:"call_id"`
	Execution string      `json:"execution"`
	Status    string      `json:"status"`
	Tools     []foundTool `json:"tools"`
}

type foundTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
	Deferred    bool            `json:"defer_loading"`
}

// finder names the tool of a call that finds tools, where the model is known to have one of
// its own for that; "" for none.
func (p *protocol) finder(call loop.Call) string {
	if p.takesFound == nil || !p.takesFound(call.Model) || p.body[fieldTools] != nil {
		return ""
	}
	for _, t := range call.Tools {
		if t.Finds {
			return t.Name
		}
	}
	return ""
}

// kindOf is the kind of an item: a search for tools is a call.
func kindOf(from *sdk.ResponseOutputItemUnion) string {
	if from.Type == itemSearch {
		return itemCall
	}
	return from.Type
}

// saidSearch writes a call of the tool that finds tools. Its arguments are an object.
func (p *protocol) saidSearch(b *plan.Block, ids bool) any {
	call := searchCall{
		Type:      itemSearch,
		CallID:    short(b.Call),
		Execution: byClient,
		Status:    completed,
		Arguments: json.RawMessage(`{}`),
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(b.Args), &object) == nil && object != nil {
		call.Arguments = json.RawMessage(b.Args)
	}
	if id := wire.Open(b.Opaque, Name, p.provider)[fieldID]; ids && itemID().Match(id) {
		call.ID = id
	}
	return call
}

// searched writes what was found, or that nothing was.
func searched(b plan.Block) any {
	out := searchResult{
		Type:      itemSearchResult,
		CallID:    short(b.Call),
		Execution: byClient,
		Status:    completed,
		Tools:     []foundTool{},
	}
	for _, t := range b.Found {
		out.Tools = append(out.Tools, foundTool{
			Type:        "function",
			Name:        t.Name,
			Description: t.Description,
			Parameters:  t.Schema,
			Deferred:    true,
		})
	}
	return out
}
