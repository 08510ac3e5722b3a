// Package wires lists the wires that models are spoken to by, and what is known
// of each beforehand.
//
// It is data alone, so that settings and catalogue can ask it without the
// libraries that speak the wires: model/provider says who opens each. It must
// not know about settings, providers or models.
package wires

import "github.com/plan-engine/plan/model/wire"

// The names of the wires, as settings, requests of a run and the command line
// have them.
const (
	Chat      = "chat"
	Responses = "responses"
	Anthropic = "anthropic"
)

// Default is the wire that most servers speak.
const Default = Chat

// Kind is what is known of a wire.
type Kind struct {
	Name string
	// Auth is how a key is sent where neither the settings nor the catalogue say;
	// one of the Auth constants of the package wire.
	Auth string
	// Fields are those of a request's body that hold the conversation. Settings
	// must not replace them.
	Fields []string
}

// All lists the wires, the default one first.
func All() []Kind {
	return []Kind{
		{Name: Chat, Auth: wire.AuthBearer, Fields: []string{"messages"}},
		{Name: Responses, Auth: wire.AuthBearer, Fields: []string{"input"}},
		{Name: Anthropic, Auth: wire.AuthXAPIKey, Fields: []string{"messages", "system"}},
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
func Find(name string) (Kind, bool) {
	for _, kind := range All() {
		if kind.Name == name {
			return kind, true
		}
	}
	return Kind{}, false
}

// Auth is how a key is sent over a wire where nothing else is said.
func Auth(name string) string {
	if kind, ok := Find(name); ok {
		return kind.Auth
	}
	return wire.AuthBearer
}
