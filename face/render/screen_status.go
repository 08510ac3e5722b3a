package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// frameTime is how long one picture of the spinner stays, and how often the
// screen looks whether something changed.
const frameTime = 80 * time.Millisecond

// status is what a run is doing at this moment.
type status struct {
	phase   plan.Phase
	attempt int
	turn    int // from 1; 0 outside turns
	started time.Time
	running []runningWork // in the order of their start
	note    string        // what goes on while nothing is running
	since   time.Time     // of the note
	until   time.Time     // when the note's waiting ends; zero if it is not known
	idle    bool          // nothing is going on: no line is shown
}

// runningWork is a tool call or a check.
type runningWork struct {
	key   string
	label string
	arg   Span
	since time.Time
}

func (s *status) say(note string, now time.Time) {
	if s.note != note {
		s.note, s.since = note, now
	}
	s.until = time.Time{}
}

// observe takes the next event, which is seen at now.
func (s *status) observe(l Look, e plan.Event, now time.Time) {
	s.idle = false
	if e.Phase != "" && e.Parent == "" { // a process that goes on may see no start of the phase
		s.phase, s.attempt = e.Phase, e.Attempt
	}
	switch b := e.Body.(type) {
	case plan.PhaseStart:
		s.turn, s.running = 0, nil
		s.say("starting", now)
	case plan.PhaseEnd:
		s.phase, s.turn, s.running = "", 0, nil
		s.say("", now)
	case plan.TurnStart:
		if e.Turn != nil && e.Parent == "" {
			s.turn = *e.Turn + 1
		}
	case plan.Request:
		s.say("waiting for "+b.Model, now)
	case plan.MessageUpdate:
		s.say(updateWords(b), now)
	case plan.MessageEnd:
		s.say("", now)
	case plan.Retry:
		s.say(fmt.Sprintf("retry %d: %s", b.Attempt, b.Reason), now)
		s.until = now.Add(millis(b.WaitMS))
	case plan.Progress:
		if b.Of != "" && len(s.running) > 0 {
			return // what runs is shown, with its time
		}
		s.say(l.firstLine(b.Text), now)
	case plan.Parked, plan.RunEnd:
		*s = status{started: s.started, idle: true}
	case plan.ToolUpdate:
		// What a tool says is shown when it has ended.
	default:
		s.observeWork(l, e, now)
	}
}

// observeWork follows what is running.
func (s *status) observeWork(l Look, e plan.Event, now time.Time) {
	switch b := e.Body.(type) {
	case plan.ToolStart:
		s.begin(runningWork{
			key:   e.Conv + "\x00" + b.Call,
			label: b.Name,
			arg:   l.tellingArgument(b.Name, b.Args),
			since: now,
		})
	case plan.ToolEnd:
		s.finish(e.Conv + "\x00" + b.Call)
	case plan.CheckStart:
		s.begin(runningWork{
			key:   "check " + b.Command,
			label: "check",
			arg:   Span{Text: l.firstLine(b.Command)},
			since: now,
		})
	case plan.CheckEnd:
		s.finish("check " + b.Command)
		s.say("", now) // what was noted is the check's own output
	}
}

func (s *status) begin(w runningWork) { s.running = append(s.running, w) }

func (s *status) finish(key string) {
	s.running = slices.DeleteFunc(s.running, func(w runningWork) bool { return w.key == key })
}

func updateWords(b plan.MessageUpdate) string {
	switch b.Kind {
	case plan.BlockReasoning:
		return "thinking"
	case plan.BlockToolCall:
		return strings.TrimSpace("calling " + b.Name)
	}
	return "answering"
}

// activity says in words what is going on, and for how long.
func (s *status) activity(l Look, now time.Time) (label string, doing Span, age string) {
	if n := len(s.running); n > 0 {
		w := s.running[0]
		label = w.label
		if n > 1 {
			label += fmt.Sprintf(" (+%d)", n-1)
		}
		return label + " ", w.arg, clock(now.Sub(w.since))
	}
	if s.note == "" {
		return "", Span{Text: "working"}, ""
	}
	if !s.until.IsZero() {
		return "", Span{Text: s.note}, "in " + clock(s.until.Sub(now).Round(time.Second))
	}
	return "", Span{Text: s.note}, clock(now.Sub(s.since))
}

// line draws the status in at most width columns, or "" when there is nothing
// to say.
func (s *status) line(l Look, t *Tally, width int, now time.Time) string {
	if s.idle {
		return ""
	}
	elapsed := max(0, now.Sub(s.started))
	frame := l.spin[int(elapsed/frameTime)%len(l.spin)]
	sep := Span{Ink: InkDim, Text: " " + l.dot + " "}
	head := []Span{{Ink: InkCyan, Text: frame + " "}}
	if s.phase != "" {
		name := string(s.phase)
		if s.attempt > 1 {
			name += fmt.Sprintf(" %d", s.attempt)
		}
		head = append(head, Span{Ink: InkBold, Text: name}, sep)
	}
	if s.turn > 0 {
		head = append(head, Span{Text: fmt.Sprintf("turn %d", s.turn)}, sep)
	}
	label, doing, age := s.activity(l, now)
	head = append(head, Span{Text: label})

	var totals []string
	if age != "" {
		totals = append(totals, age)
	}
	if tokens := t.Usage.Tokens(); tokens > 0 {
		totals = append(totals, Tokens(tokens)+" tok", Cost(t.Cost, !t.Unpriced))
	}
	totals = append(totals, clock(elapsed))
	tail := make([]Span, 0, len(totals))
	for i, text := range totals {
		start := sep.Text
		if i == 0 {
			start = "  "
		}
		tail = append(tail, Span{Ink: InkDim, Text: start + text})
	}
	return l.fill(width, head, doing, tail)
}
