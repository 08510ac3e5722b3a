package phases

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/review"
	"github.com/plan-engine/plan/tools"
)

// record remembers the commands that ran in a review and how they ended, from
// the events themselves.
type record struct {
	mu      sync.Mutex
	started []string          // call ids of commands, in order: the first is b1
	command map[string]string // by call id
	ran     []review.Call
	spent   time.Duration
}

func newRecord(past []plan.Event) *record {
	r := &record{command: map[string]string{}}
	for _, ev := range past {
		r.see(ev)
	}
	return r
}

// watch passes events on and takes note of those that were recorded.
func (r *record) watch(emit plan.Emit) plan.Emit {
	return func(ctx context.Context, events ...plan.Event) error {
		if err := emit(ctx, events...); err != nil {
			return err
		}
		for _, ev := range events {
			r.see(ev)
		}
		return nil
	}
}

func (r *record) see(ev plan.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch b := ev.Body.(type) {
	case plan.ToolStart:
		if tools.PurposeOf(b.Name) == tools.Execute {
			r.started = append(r.started, b.Call)
			r.command[b.Call] = b.CommandLine()
		}
	case plan.ToolEnd:
		command, ok := r.command[b.Call]
		if !ok || b.ExitCode == nil || b.Status != "" {
			return
		}
		r.spent += time.Duration(b.DurationMS) * time.Millisecond
		r.ran = append(r.ran, review.Call{
			ID:       r.idOf(b.Call),
			Key:      b.Call,
			Command:  command,
			ExitCode: *b.ExitCode,
			Altered:  b.Altered,
		})
	}
}

// idOf is the short id under which a reviewer is shown a call.
func (r *record) idOf(call string) string {
	return fmt.Sprintf("b%d", slices.Index(r.started, call)+1)
}

// shortID is idOf for callers from outside.
func (r *record) shortID(call string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idOf(call)
}

// lineOf is the command line of a call that has begun.
func (r *record) lineOf(call string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.command[call]
}

// calls are the commands that ran, and the time that they took together.
func (r *record) calls() ([]review.Call, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ran), r.spent
}

// recorded is the bash tool of a review: each result has its id, and says which
// files of the work stand changed in the reviewer's layer.
type recorded struct {
	loop.Tool
	record *record
	// changes says how the files of the work stand; nil where that is not known.
	changes func(ctx context.Context) (Changes, error)
	// made says which files the calls have made.
	made *madeFiles

	mu      sync.Mutex
	altered []string // after the last call
}

// Unwrap returns the tool itself, for what else it can do.
func (t *recorded) Unwrap() loop.Tool { return t.Tool }

// Run implements loop.Tool.
func (t *recorded) Run(ctx context.Context, in loop.Input) (loop.Result, error) {
	res, err := t.Tool.Run(ctx, in)
	if err != nil {
		return res, err
	}
	if res.ExitCode != nil {
		res.Output = strings.TrimRight(res.Output, "\n") + fmt.Sprintf(" (call %s)", t.record.shortID(in.Call))
	}
	if t.changes == nil {
		return res, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	changed, err := t.changes(ctx)
	now := changed.Altered
	if err != nil {
		if ctx.Err() != nil {
			return res, err
		}
		// What is not known counts as changed: the call then proves nothing.
		now = []string{"unknown: " + err.Error()}
	}
	res.Altered = slices.Concat(t.altered, now)
	slices.Sort(res.Altered)
	res.Altered = slices.Compact(res.Altered)
	t.altered = now
	calls, _ := t.record.calls()
	ran := review.Call{Command: t.record.lineOf(in.Call)}
	if res.Made, res.Kept, err = t.made.since(ctx, append(calls, ran)); err != nil && ctx.Err() != nil {
		return res, err
	}
	res.Output += t.made.lossNote()
	if len(res.Altered) > 0 {
		res.Output += "\nNote: these files of the work stood changed in your copy during this call, so it says " +
			"nothing about the work as it is: " + listed(
			res.Altered,
			5,
		)
	}
	return res, nil
}

// recordCommands gives a review's bash tool its record.
func recordCommands(offered []loop.Tool, r *record, room Room, m *madeFiles) []loop.Tool {
	out := slices.Clone(offered)
	for i, t := range out {
		if tools.PurposeOf(t.Info().Name) == tools.Execute {
			out[i] = &recorded{
				Tool:    t,
				record:  r,
				changes: room.Changes,
				made:    m,
			}
		}
	}
	return out
}

// listed names the first of several things.
func listed(names []string, most int) string {
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// namedBy tells which files the command lines of calls speak of: by name, or by that of
// a folder below the one for temporary files.
func namedBy(calls []review.Call) func(file string) bool {
	words := map[string]bool{}
	for _, c := range calls {
		for _, word := range strings.FieldsFunc(c.Command, isNoPartOfAName) {
			words[word] = true
		}
	}
	return func(file string) bool {
		if !path.IsAbs(file) {
			return words[path.Base(file)]
		}
		parts := strings.Split(strings.Trim(file, "/"), "/")
		return slices.ContainsFunc(parts[1:], func(part string) bool { return words[part] })
	}
}

func isNoPartOfAName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+@", r)
}
