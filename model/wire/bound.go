package wire

import (
	"bytes"
	"fmt"
	"io"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/loop"
)

// The bounds of one answer. A model's longest answer today, of 128,000 tokens, is
// half a megabyte of words, and forty as a stream of one token an event.
const (
	// maxAnswer bounds what an answer says (text, reasoning and arguments), and
	// a single event or document, which is read whole before it can be counted.
	maxAnswer = 8 << 20
	// maxUnsaid bounds what events hold beside words and a frame: opaque
	// reasoning, and what servers repeat when they end a part of an answer.
	maxUnsaid = 4 * maxAnswer
	// frame is how much of an event is names, ids and punctuation at most.
	frame = 512
	// maxStream bounds all bytes of an answer, whatever they are.
	maxStream = 128 << 20
	// maxCalls bounds the calls of an answer that are kept at all. The loop
	// runs far fewer of them, and answers the others. To find the call that an
	// event is about, all of them are looked at.
	maxCalls = 1 << 12
	// maxError bounds an error; the rest is not looked at.
	maxError = 1 << 20
)

// overlong is an answer that is read no further.
func overlong(subject string) Failure {
	return Failure{ModelError: &loop.ModelError{
		Kind:    loop.ErrOverlong,
		Message: "the model server's answer was given up: it " + subject,
		Bound:   subject,
	}}
}

func longer(subject string, most int64) Failure {
	return overlong(fmt.Sprintf("%s more than %s", subject, amount.ExactBytes(most)))
}

// tally counts an answer while it is put together.
type tally struct {
	said   int
	unsaid int
	calls  map[string]struct{}
	live   func(loop.Delta)
}

// show counts what an answer says, and passes on what is within the bound.
func (t *tally) show(d loop.Delta) {
	t.said += len(d.Text)
	if d.Kind == plan.BlockToolCall {
		if t.calls == nil {
			t.calls = map[string]struct{}{}
		}
		t.calls[d.Call] = struct{}{}
	}
	if t.live != nil && t.checkBounds() == nil {
		t.live(d)
	}
}

// add gives an event to a, unless the answer is too long by then.
func (t *tally) add(a Assembly, ev Event) error {
	before := t.said
	if err := a.Add(ev); err != nil {
		return err
	}
	t.unsaid += max(0, len(ev.Data)-(t.said-before)-frame)
	return t.checkBounds()
}

func (t *tally) checkBounds() error {
	switch {
	case t.said > maxAnswer:
		return longer("says", maxAnswer)
	case t.unsaid > maxUnsaid:
		return longer("holds", maxUnsaid)
	case len(t.calls) > maxCalls:
		return overlong(fmt.Sprintf("makes more than %d calls", maxCalls))
	}
	return nil
}

// document reads all of a document.
func document(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err != nil {
		return nil, err //nolint:wrapcheck // failure says what it means
	}
	if len(data) > maxAnswer {
		return nil, longer("is one document of", maxAnswer)
	}
	return data, nil
}

// boundedStream fails once a stream, or one event of it, is longer than it may
// be. It stands before the decoder, which keeps an event until its end.
type boundedStream struct {
	io.Reader
	all   int64
	event int  // bytes since the last empty line
	empty bool // nothing stands on the line so far
}

func (s *boundedStream) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.all += int64(n)
	if s.all > maxStream {
		return 0, longer("is a stream of", maxStream)
	}
	for rest := p[:n]; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		s.empty = s.empty && len(bytes.Trim(line, "\r")) == 0
		s.event += len(line)
		if s.event > maxAnswer {
			return 0, longer("has one event of", maxAnswer)
		}
		if ended {
			if s.empty {
				s.event = 0
			}
			s.empty = true
		}
		rest = after
	}
	return n, err //nolint:wrapcheck // a reader returns io.EOF as it is
}
