package wire

import "strings"

// The names of the wires that the catalogue knows servers to speak, as settings,
// requests of a run and the command line have them.
const (
	Chat      = "chat"
	Responses = "responses"
	Anthropic = "anthropic"
)

// Default is the wire that most servers speak.
const Default = Chat

// Kind is what a wire says of itself beforehand.
type Kind struct {
	Name string
	// Auth is how a key is sent where neither the settings nor the catalogue say;
	// one of the Auth constants.
	Auth string
	// Fields are those of a request's body that hold the conversation. Settings
	// must not replace them.
	Fields []string
	Open   Opener
}

// Opener makes the client of a server. About says what is known of a model.
type Opener func(cfg Config, about func(model string) Model) (*Client, error)

// Model is what is known of a model beforehand. The zero value is a model of
// which nothing is known.
type Model struct {
	StructuredOutput bool  // the wire's own way to ask for a schema is known to work
	SendReasoning    bool  // the settings want all its reasoning sent back
	Plain            bool  // it is known not to reason
	MaxOutput        int64 // its longest answer in tokens; 0 if that is not known
	TakesFound       bool  // it takes tools that a search finds in the middle of a conversation
}

// Alternatives writes a list for a sentence that says what else to use.
func Alternatives(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// Auths lists the ways to say who is calling.
func Auths() []string { return []string{AuthBearer, AuthAPIKey, AuthXAPIKey, AuthNone} }

// StructuredModes lists the ways to ask for an answer that fits a schema.
func StructuredModes() []string {
	return []string{StructuredAuto, StructuredSchema, StructuredTool, StructuredText}
}
