package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/plan-engine/plan/internal/plainfile"
	"github.com/plan-engine/plan/loop"
)

// Player is a [loop.Model] that answers from a recording. It is safe for
// concurrent use.
type Player struct {
	file  string
	clean cleaner
	torn  int // the number of the line that was cut off; 0 = none

	mu    sync.Mutex
	calls []*recorded
}

var _ loop.Model = (*Player)(nil)

// maxRecording is how many bytes a recording may have: all of it is kept.
const maxRecording = 1 << 30

// Open reads a recording. Requests that hold secrets are told to be the
// recorded ones only if redact is the function that they were recorded with;
// it can be left out where what enters a conversation has been redacted before.
func Open(file string, redact ...func(string) string) (*Player, error) {
	data, err := plainfile.UpTo(file, maxRecording)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	c, err := parse(data)
	if err == nil && c.torn == 1 {
		err = errors.New("it is empty: nothing was recorded")
	}
	if err != nil {
		return nil, fmt.Errorf("open recording %s: %w", file, err)
	}
	return &Player{
		file:  file,
		clean: newCleaner(redact...),
		torn:  c.torn,
		calls: c.calls,
	}, nil
}

// Generate implements [loop.Model]. A request that the recording does not have
// is a [*MismatchError]; where there is nothing left that it could be, the
// error is [ErrEnd] or [ErrCutOff].
func (p *Player) Generate(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	if ctx.Err() != nil {
		return loop.Answer{}, context.Cause(ctx)
	}
	encoded, err := encodeRequest(req, p.clean.with(req.Headers))
	if err != nil {
		return loop.Answer{}, fmt.Errorf("replay %s: %w", p.file, err)
	}
	call, err := p.take(encoded)
	if err != nil {
		return loop.Answer{}, err
	}
	for _, d := range call.Pieces {
		if live != nil {
			live(loop.Delta(d))
		}
		if ctx.Err() != nil {
			p.giveBack(call)
			return loop.Answer{}, context.Cause(ctx)
		}
	}
	return p.end(call)
}

// end is how a call ended when it was recorded.
func (p *Player) end(call *recorded) (loop.Answer, error) {
	switch {
	case call.Error != nil:
		e := call.Error
		failed := &loop.ModelError{
			Kind:       e.Kind,
			Status:     e.Status,
			RetryAfter: e.RetryAfter,
			Message:    e.Message,
			Window:     e.Window,
			Bound:      e.Bound,
			Adjusted:   e.Adjusted,
		}
		if e.Usage != nil {
			failed.Usage = *e.Usage
		}
		return loop.Answer{}, failed
	case call.Failed != "":
		return loop.Answer{}, errors.New(call.Failed)
	case call.Cancelled != "":
		return loop.Answer{}, fmt.Errorf(
			"replay %s: line %d is a call that was cancelled (%s), so there is no answer to it: "+
				"cancel it again, or record it anew",
			p.file,
			call.line,
			call.Cancelled,
		)
	}
	ans, err := call.answer()
	if err != nil {
		return loop.Answer{}, fmt.Errorf("replay %s: line %d: %w", p.file, call.line, err)
	}
	return ans, nil
}

// answer decodes a recorded answer, anew for every caller.
func (r *recorded) answer() (loop.Answer, error) {
	var a answer
	if err := json.Unmarshal(r.Answer, &a); err != nil {
		return loop.Answer{}, fmt.Errorf("its answer cannot be read: %w", err)
	}
	return loop.Answer(a), nil
}

// take finds the call that a request is answered by, and keeps it from being
// taken twice. Calls that were cancelled come last: if they were made again,
// that is where the answer is.
func (p *Player) take(request json.RawMessage) (*recorded, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var match *recorded
	for _, call := range p.calls {
		if call.taken || !bytes.Equal(call.Request, request) {
			continue
		}
		if call.Cancelled == "" {
			match = call
			break
		}
		if match == nil {
			match = call
		}
	}
	if match == nil {
		return nil, p.missing(request)
	}
	match.taken = true
	return match, nil
}

// giveBack leaves a call to be played: its caller went away.
func (p *Player) giveBack(call *recorded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	call.taken = false
}

// Unplayed is how many recorded calls have not been asked for, those that were
// cancelled left out.
func (p *Player) Unplayed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, call := range p.calls {
		if !call.taken && call.Cancelled == "" {
			n++
		}
	}
	return n
}
