package scripted

import (
	"strconv"
	"strings"
)

// TextCalls is a way to write calls as text.
type TextCalls string

// The ways, each after the models that have it.
const (
	TextToolCall     TextCalls = "tool_call"     // <tool_call>{"name":…,"arguments":{…}}</tool_call>: Qwen, Hermes
	TextMistral      TextCalls = "mistral"       // [TOOL_CALLS][{"name":…,"arguments":{…}}]
	TextMistralNamed TextCalls = "mistral_named" // [TOOL_CALLS]read{…}
	TextLlama        TextCalls = "llama"         // <|python_tag|>{"name":…,"parameters":{…}}
	TextHarmony      TextCalls = "harmony"       // <|channel|>commentary to=functions.read …{…}<|call|>: gpt-oss
	TextKimi         TextCalls = "kimi"          // <|tool_call_begin|>functions.read:0…{…}<|tool_call_end|>
	TextFunctions    TextCalls = "functions"     // functions.read({…})
)

// textCalls are all of them.
var textCalls = []TextCalls{
	"",
	TextToolCall,
	TextMistral,
	TextMistralNamed,
	TextLlama,
	TextHarmony,
	TextKimi,
	TextFunctions,
}

// write is calls as text.
func (t TextCalls) write(calls []answerCall) string {
	var parts []string
	for i, c := range calls {
		name := strconv.Quote(c.name)
		switch t {
		case TextMistral:
			parts = append(parts, `{"name":`+name+`,"arguments":`+c.args+`}`)
		case TextMistralNamed:
			parts = append(parts, "[TOOL_CALLS]"+c.name+c.args)
		case TextLlama:
			parts = append(parts, "<|python_tag|>"+`{"name":`+name+`,"parameters":`+c.args+`}`)
		case TextHarmony:
			parts = append(
				parts,
				"<|channel|>commentary to=functions."+c.name+" <|constrain|>json<|message|>"+c.args+"<|call|>",
			)
		case TextKimi:
			parts = append(parts, "<|tool_call_begin|>functions."+c.name+":"+strconv.Itoa(i)+
				"<|tool_call_argument_begin|>"+c.args+"<|tool_call_end|>")
		case TextFunctions:
			parts = append(parts, "functions."+c.name+"("+c.args+")")
		default:
			parts = append(parts, "<tool_call>\n"+`{"name":`+name+`,"arguments":`+c.args+`}`+"\n</tool_call>")
		}
	}
	switch t {
	case TextMistral:
		return "[TOOL_CALLS][" + strings.Join(parts, ",") + "]"
	case TextKimi:
		return "<|tool_calls_section_begin|>" + strings.Join(parts, "") + "<|tool_calls_section_end|>"
	}
	return strings.Join(parts, "\n")
}

// speak changes an answer into what the gateway makes of it.
func (g *Gateway) speak(a *answer) {
	if g.CallsAsText != "" && len(a.calls) > 0 {
		written := g.CallsAsText.write(a.calls)
		into := &a.text
		if g.InReasoning {
			into = &a.reasoning
		}
		if *into != "" {
			*into += "\n"
		}
		*into += written
		a.calls = nil
		if a.finish == "tool_calls" {
			a.finish = "stop"
		}
	}
}
