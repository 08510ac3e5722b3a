// Package makeup tells what the messages of a conversation are there for, in
// bytes, so that a run can show where its tokens went.
//
// It must not know what a tool does, nor what is done about a large part.
package makeup

import (
	"encoding/json"
	"hash/maphash"
	"strings"

	"github.com/plan-engine/plan"
)

// Makeup takes the messages of one conversation apart, each once. The zero value is
// ready.
type Makeup struct {
	// Prompt takes a prompt apart. Nil: all of it is instructions.
	Prompt func(m plan.Message) []plan.Part
	// Shows reports whether the results of a tool show what is there. Nil: none do.
	Shows func(tool string) bool
	// Told says that the parts before are known: an earlier request told them.
	Told bool

	seed  maphash.Seed
	lines map[uint64]struct{} // that stood in the first known messages
	known int
}

const (
	// shortest is the fewest bytes of a line that says something by itself.
	shortest = 4
	// together is how many such lines in a row are a text that is shown again; fewer
	// can be chance.
	together = 3
)

// Of is what the messages from a place on are made of. Each call looks only at
// messages that it was not asked about before, but where the history has changed.
func (m *Makeup) Of(messages []plan.Message, from int) []plan.Part {
	if m.lines == nil || from < m.known {
		m.seed, m.lines, m.known = maphash.MakeSeed(), map[uint64]struct{}{}, 0
	}
	var parts []plan.Part
	for i := m.known; i < len(messages); i++ {
		if i < from {
			m.learn(messages[i])
			continue
		}
		for _, p := range m.parts(messages[i]) {
			parts = Add(parts, p)
		}
		m.learn(messages[i])
	}
	m.known = len(messages)
	return parts
}

// Add puts a part behind others: it is summed with the last if that is of the same
// kind, and left out if there is nothing in it.
func Add(parts []plan.Part, p plan.Part) []plan.Part {
	if p.Bytes == 0 {
		return parts
	}
	if n := len(parts); n > 0 && parts[n-1].Kind == p.Kind && parts[n-1].Tool == p.Tool {
		parts[n-1].Bytes += p.Bytes
		parts[n-1].Again += p.Again
		return parts
	}
	return append(parts, p)
}

func (m *Makeup) parts(msg plan.Message) []plan.Part {
	switch {
	case msg.Role == plan.RoleExtension:
		return nil // never sent
	case msg.Role == plan.RoleTool:
		return m.results(msg)
	case msg.Role == plan.RoleAssistant:
		return []plan.Part{{Kind: plan.PartAnswer, Bytes: size(msg)}}
	case msg.Origin == plan.OriginSummary:
		return []plan.Part{{Kind: plan.PartSummary, Bytes: size(msg)}}
	case msg.Origin != "":
		return []plan.Part{{Kind: plan.PartLetter, Bytes: size(msg)}}
	case m.Prompt != nil:
		return m.Prompt(msg)
	}
	return []plan.Part{{Kind: plan.PartInstructions, Bytes: size(msg)}}
}

func (m *Makeup) results(msg plan.Message) []plan.Part {
	parts := make([]plan.Part, 0, len(msg.Blocks))
	for _, b := range msg.Blocks {
		p := plan.Part{
			Kind:  plan.PartResult,
			Tool:  b.Name,
			Bytes: int64(len(b.Text)),
		}
		if m.Shows != nil && m.Shows(b.Name) {
			p.Again = m.repeatedBytes(b.Text)
		}
		parts = append(parts, p)
		m.learnText(b.Text) // for the next result of the same turn
	}
	return parts
}

// size is the text of a message in bytes.
func size(msg plan.Message) int64 {
	var n int
	for _, b := range msg.Blocks {
		n += len(b.Text) + len(b.Name) + len(b.Args) + len(b.Data) + len(b.Opaque)
	}
	return int64(n)
}

// repeatedBytes is how many bytes of a text are lines that stood in the conversation
// already, several in a row.
func (m *Makeup) repeatedBytes(text string) int64 {
	var sum, run int64
	telling := 0
	end := func() {
		if telling >= together {
			sum += run
		}
		run, telling = 0, 0
	}
	for line := range strings.Lines(text) {
		hash, tells := m.hash(line)
		if _, known := m.lines[hash]; tells && !known {
			end()
			continue
		}
		run += int64(len(line))
		if tells {
			telling++
		}
	}
	end()
	return sum
}

// learn takes in the lines of a message.
func (m *Makeup) learn(msg plan.Message) {
	for _, b := range msg.Blocks {
		m.learnText(b.Text)
		if b.Args == "" {
			continue
		}
		var args map[string]any
		if json.Unmarshal([]byte(b.Args), &args) == nil { // what was written was seen
			for _, v := range args {
				if text, ok := v.(string); ok {
					m.learnText(text)
				}
			}
		}
	}
}

func (m *Makeup) learnText(text string) {
	for line := range strings.Lines(text) {
		if hash, tells := m.hash(line); tells {
			m.lines[hash] = struct{}{}
		}
	}
}

// hash is that of a line as it is compared, without the number that tools put
// before it, and whether it says something by itself.
func (m *Makeup) hash(line string) (uint64, bool) {
	line = strings.TrimSpace(line)
	if number, rest, ok := strings.Cut(line, "\t"); ok && strings.Trim(number, "0123456789") == "" {
		line = strings.TrimSpace(rest)
	}
	return maphash.String(m.seed, line), len(line) >= shortest
}
