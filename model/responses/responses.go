// Package responses speaks OpenAI's Responses wire, as OpenAI, Azure, xAI,
// OpenRouter and others serve it, and turns it into [loop.Model]. [wire.Client]
// sends its requests.
//
// Nothing is kept on the server (store is false), so each request says all of the
// conversation. What the wire demands then, and where that is written:
//
//   - A reasoning item goes back before what followed it in its answer, with its
//     encrypted_content, which include asks for (SDK: ResponseReasoningItemParam,
//     ResponseNewParams.Include). It is taken from response.output_item.done: the
//     one of output_item.added may be incomplete. Without encrypted content the
//     server looks for the item in its store and answers "Item with id … not
//     found"; one that nothing follows is refused ("provided without its required
//     following item"). Neither is sent.
//   - The field summary of a reasoning item is required, also when it is empty,
//     and a field that is null is refused (the API's error texts).
//   - The ids of messages and calls are not needed (SDK: EasyInputMessageParam,
//     ResponseFunctionToolCallParam.ID). They go back with reasoning only, which
//     the server may pair with them, and have at most 64 letters, digits, _ or -.
//   - A message's phase goes back with it (SDK: EasyInputMessageParam.Phase: models
//     from gpt-5.3-codex on do worse without).
//   - call_id and prompt_cache_key have at most 64 characters, max_output_tokens is
//     at least 16, and the name of a function matches ^[a-zA-Z0-9_-]+$ (the API's
//     error texts).
//   - A function tool without strict is made strict by the server, so strict is
//     sent as false (SDK: FunctionToolParam.Strict is required).
//   - truncation is left at its default, so that a conversation that is too long
//     is refused and not cut in silence (SDK: ResponseNewParams.Truncation).
//
// A server may send less than OpenAI does: only the whole response at the end,
// items without deltas or deltas without an item, other ids in every event, or a
// document in place of a stream. An answer is whole once its status is there.
package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// Name is the wire's name.
const Name = wire.Responses

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config describes a server. The zero value talks to OpenAI without a key.
type Config struct {
	wire.Config
	// Plain reports whether a model is known not to reason: it is not asked for
	// summaries of its reasoning, nor for reasoning to send back. Nil takes every
	// model for one that does. A server that then refuses is asked without.
	Plain func(model string) bool
	// TakesFound reports whether a model is known to take tools that a search finds in the
	// middle of a conversation. Nil: none is.
	TakesFound func(model string) bool
}

// New makes a client, or says what is wrong with cfg. It sends nothing.
func New(cfg Config) (*wire.Client, error) {
	if _, ok := cfg.Body[fieldInput]; ok {
		return nil, fmt.Errorf("the provider's own body sets %q, which is the conversation: leave it out", fieldInput)
	}
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	cfg.Provider = cmp.Or(cfg.Provider, "default")
	p := &protocol{
		provider:   cfg.Provider,
		structured: cmp.Or(cfg.Structured, wire.StructuredAuto),
		plain:      cfg.Plain,
		takesFound: cfg.TakesFound,
		body:       cfg.Body,
	}
	return wire.New(cfg.Config, p, "/"+path)
}

// Open is a [wire.Opener].
func Open(cfg wire.Config, about func(model string) wire.Model) (*wire.Client, error) {
	return New(Config{
		Config:     cfg,
		Plain:      func(model string) bool { return about(model).Plain },
		TakesFound: func(model string) bool { return about(model).TakesFound },
	})
}

// protocol is a [wire.Protocol].
type protocol struct {
	provider   string
	structured string
	plain      func(model string) bool
	takesFound func(model string) bool
	body       map[string]json.RawMessage
	history    wire.History
	fixed      wire.Kept
}

// Begin implements [wire.Protocol].
func (p *protocol) Begin(call loop.Call, sent wire.Request, live func(loop.Delta)) wire.Assembly {
	return &assembly{
		provider: p.provider,
		tool:     sent.Tool,
		finder:   p.finder(call),
		live:     live,
		ids:      wire.IDs{Messages: call.Messages},
	}
}

// Events implements [wire.Protocol]. The SDK's decoder splits the events, but its
// stream is not used: it takes one that was cut for one that ended.
func (*protocol) Events(stream io.Reader) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		decoder := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(stream)})
		for decoder.Next() {
			ev := decoder.Event()
			if !yield(wire.Event{Type: ev.Type, Data: ev.Data}, nil) {
				return
			}
		}
		if err := decoder.Err(); err != nil {
			yield(wire.Event{}, err)
		}
	}
}
