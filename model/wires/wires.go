// Package wires lists the wires that models are spoken to by.
//
// The list stands here and nowhere else: the settings, the catalogue, the
// providers and the commands ask it, and each wire says about itself what they
// need to know. It must not know about settings, providers or models.
package wires

import (
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
)

// Default is the wire that most servers speak.
const Default = chat.Name

// All lists the wires, the default one first.
func All() []wire.Kind {
	return []wire.Kind{
		chat.Wire(),
		responses.Wire(),
		anthropic.Wire(),
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
