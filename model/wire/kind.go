package wire

import "strings"

// Opener makes the client of a server. About says what is known of a model.
type Opener func(cfg Config, about func(model string) Model) (*Client, error)

// Model is what is known of a model beforehand. The zero value is a model of
// which nothing is known.
type Model struct {
	StructuredOutput bool  // the wire's own way to ask for a schema is known to work
	SendReasoning    bool  // the settings want all its reasoning sent back
	Plain            bool  // it is known not to reason
	MaxOutput        int64 // its longest answer in tokens; 0 if that is not known
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
