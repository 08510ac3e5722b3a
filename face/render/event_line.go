package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/tools"
)

// eventLineUnbounded is how long the line of an event may be where the width of the
// place is not known: a search in it wants more than a screen shows.
const eventLineUnbounded = 240

// mostListed is up to how many values of a list are written; of more it is said how many.
const mostListed = 4

// eventLines writes one line for each event.
type eventLines struct {
	Look
	w     io.Writer
	width int
	err   error
}

// NewEventLines returns a viewer that writes one line for each event: its seq, when it
// happened, where, its type, and the beginning of what it says.
func NewEventLines(w io.Writer, opts Options) Viewer {
	v := &eventLines{Look: NewLook(opts), w: w, width: eventLineUnbounded}
	if opts.Width != nil {
		if width := opts.Width(); width > 0 {
			v.width = width - 1
		}
	}
	return v
}

func (v *eventLines) Event(e plan.Event) {
	if v.err != nil {
		return
	}
	seq, where := "-", string(e.Phase) // live ones have no seq
	if e.Seq > 0 {
		seq = strconv.FormatInt(e.Seq, 10)
	}
	if e.Attempt > 0 {
		where += " " + strconv.Itoa(e.Attempt)
	}
	head := fmt.Sprintf("%5s  %s  %-11s  ", seq, e.Time.UTC().Format("15:04:05.000"), where)
	v.err = WriteLines(v.w, []string{strings.TrimRight(v.fill(
		v.width,
		[]Span{{Ink: InkDim, Text: head}, {Ink: InkCyan, Text: fmt.Sprintf("%-17s ", e.Type())}},
		Span{Text: v.gist(e)},
		nil,
	), " ")})
}

func (v *eventLines) Close() error { return UnlessReaderLeft(v.err) }

// gist is what an event says, as far as it fits on a line.
func (v *eventLines) gist(e plan.Event) string {
	switch b := e.Body.(type) {
	case plan.ToolStart:
		return b.Name + ": " + v.tellingArgument(b.Name, b.Args).Text
	case plan.ToolEnd:
		words := []string{b.Name, Duration(millis(b.DurationMS))}
		switch {
		case b.Status != "":
			words = append(words, b.Status)
		case b.ExitCode != nil:
			words = append(words, fmt.Sprintf("exit %d", *b.ExitCode))
		case b.Error:
			words = append(words, "failed")
		}
		return strings.Join(words, ", ") + ": " + v.firstLine(b.Output)
	case plan.MessageEnd:
		return v.messageGist(b)
	}
	data, err := json.Marshal(e.Body)
	if err != nil {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return strings.Join(v.fields(dec, ""), " ")
}

func (v *eventLines) messageGist(b plan.MessageEnd) string {
	words := []string{string(b.Role)}
	if b.Origin != "" {
		words = append(words, "("+b.Origin+")")
	}
	if b.Discarded {
		words = append(words, "discarded")
	}
	if text := v.firstLine(spokenText(b.Message)); text != "" {
		words = append(words, text)
	}
	for _, block := range b.Blocks {
		if block.Type == plan.BlockToolCall {
			call := tools.Describe(block.Name, json.RawMessage(block.Args), "")
			words = append(words, v.Arrow, block.Name, v.firstLine(call.Title))
		}
	}
	return strings.Join(words, " ")
}

// fields reads the next value of dec as words "name=value", in the order in which they
// stand. What says nothing is left out, and of a list of objects it is said how many.
func (v *eventLines) fields(dec *json.Decoder, name string) []string {
	token, err := dec.Token()
	if err != nil {
		return nil
	}
	switch t := token.(type) {
	case json.Delim:
		return v.nested(dec, t, name)
	case string:
		if t == "" {
			return nil
		}
		text := v.firstLine(t)
		if strings.ContainsAny(text, " \t=\"") {
			text = `"` + text + `"`
		}
		return []string{name + "=" + text}
	case bool:
		if t {
			return []string{name}
		}
	case json.Number:
		if t != "0" {
			return []string{name + "=" + t.String()}
		}
	}
	return nil
}

func (v *eventLines) nested(dec *json.Decoder, open json.Delim, name string) []string {
	var words []string
	count, plain := 0, true
	for dec.More() {
		member := name
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return words
			}
			if member = fmt.Sprint(key); name != "" {
				member = name + "." + member
			}
		}
		fields := v.fields(dec, member)
		plain = plain && len(fields) == 1 && strings.HasPrefix(fields[0], name+"=")
		words = append(words, fields...)
		count++
	}
	_, _ = dec.Token() // the end of it
	switch {
	case open == '{' || count == 0:
		return words
	case !plain || count > mostListed:
		return []string{fmt.Sprintf("%s=%d", name, count)}
	}
	for i := range words {
		words[i] = strings.TrimPrefix(words[i], name+"=")
	}
	return []string{name + "=" + strings.Join(words, ",")}
}
