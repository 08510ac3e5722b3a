// Package chat speaks OpenAI's Chat Completions, as OpenAI and the many servers
// that imitate it serve it.
//
// What came beside the words of an answer, such as reasoning under one of its
// names or a signature of a call, goes back under the name it came under, to the
// provider that said it and to no other.
//
// It knows the OpenAI SDK for its types and for reading event streams; requests
// are sent by [wire.Client]. It must not know about phases, tools, journals or
// prices.
package chat

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"sync"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// Name is the wire's name.
const Name = wire.Chat

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// openAIHost is the host whose habits differ from those of its imitators.
const openAIHost = "api.openai.com"

// Config describes a server. The zero value talks to OpenAI without a key.
type Config struct {
	wire.Config
	// Caps says what a model can do; nil means nothing out of the ordinary.
	Caps func(model string) Caps
}

// Caps are abilities that not every server or model has.
type Caps struct {
	StructuredOutput bool // response_format json_schema works
	SendReasoning    bool // the server wants all reasoning sent back, as reasoning_content
}

// New makes a client, or says what is wrong with cfg. It sends nothing.
func New(cfg Config) (*wire.Client, error) {
	p, err := newProtocol(cfg)
	if err != nil {
		return nil, err
	}
	return wire.New(p.cfg.Config, p, "/chat/completions")
}

// Open is a [wire.Opener].
func Open(cfg wire.Config, about func(model string) wire.Model) (*wire.Client, error) {
	return New(Config{
		Config: cfg,
		Caps: func(model string) Caps {
			known := about(model)
			return Caps{StructuredOutput: known.StructuredOutput, SendReasoning: known.SendReasoning}
		},
	})
}

// protocol is Chat Completions.
type protocol struct {
	cfg     Config
	openAI  bool
	history wire.History
	kept    wire.Kept
	endings endings
}

var _ wire.Protocol = (*protocol)(nil)

func newProtocol(cfg Config) (*protocol, error) {
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	cfg.Provider = cmp.Or(cfg.Provider, "default")
	cfg.Structured = cmp.Or(cfg.Structured, wire.StructuredAuto)
	if _, ok := cfg.Body[fieldMessages]; ok {
		return nil, fmt.Errorf(
			"the provider's own body sets %q, which is the conversation: leave it out",
			fieldMessages,
		)
	}
	p := &protocol{cfg: cfg}
	if base, err := url.Parse(cfg.BaseURL); err == nil {
		p.openAI = base.Hostname() == openAIHost
	}
	return p, nil
}

// Begin implements [wire.Protocol].
func (p *protocol) Begin(call loop.Call, sent wire.Request, live func(loop.Delta)) wire.Assembly {
	return &assembly{
		provider:   p.cfg.Provider,
		endings:    &p.endings,
		asked:      call.Model,
		formatTool: sent.Tool,
		live:       live,
		ids:        wire.IDs{Messages: call.Messages},
		thoughts:   map[string]bool{},
	}
}

// Events implements [wire.Protocol].
//
// The SDK's decoder splits the events, but its stream and its accumulator are
// not used: they take a stream that was cut for one that ended, a null error
// for an error, and lose the end of a stream whose ids change.
func (p *protocol) Events(stream io.Reader) iter.Seq2[wire.Event, error] {
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

// endings remembers how the answers of each model ended. There are servers that
// never give a reason for stopping.
type endings struct {
	mu      sync.Mutex
	with    map[string]bool
	without map[string]int
}

// reason notes an answer that ended with a reason.
func (e *endings) reason(model string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.with == nil {
		e.with = map[string]bool{}
	}
	e.with[model] = true
}

// none notes one that ended without, and reports whether the server does so
// always: it did before, and never otherwise.
func (e *endings) none(model string) (always bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.without == nil {
		e.without = map[string]int{}
	}
	e.without[model]++
	return e.without[model] > 1 && !e.with[model]
}
