// Package wires lists the wires that models are spoken to by, each with who
// speaks it.
//
// It links the libraries of all of them, so what only needs their names is handed
// the list. It must not know about settings, providers or models.
package wires

import (
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
)

// All lists the wires, the default one first.
func All() []wire.Kind {
	return []wire.Kind{
		{
			Name:   wire.Chat,
			Auth:   wire.AuthBearer,
			Fields: []string{"messages"},
			Open:   chat.Open,
		},
		{
			Name:   wire.Responses,
			Auth:   wire.AuthBearer,
			Fields: []string{"input"},
			Open:   responses.Open,
		},
		{
			Name:   wire.Anthropic,
			Auth:   wire.AuthXAPIKey,
			Fields: []string{"messages", "system"},
			Open:   anthropic.Open,
		},
	}
}

// Names lists the wires by name, the default one first.
func Names() []string {
	var out []string
	for _, kind := range All() {
		out = append(out, kind.Name)
	}
	return out
}

// Find finds a wire by its name.
func Find(name string) (wire.Kind, bool) {
	for _, kind := range All() {
		if kind.Name == name {
			return kind, true
		}
	}
	return wire.Kind{}, false
}

// Auth is how a key is sent over a wire where nothing else is said.
func Auth(name string) string {
	if kind, ok := Find(name); ok {
		return kind.Auth
	}
	return wire.AuthBearer
}
