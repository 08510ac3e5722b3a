// Package story tells a run: it folds the events of a journal, and live ones, into
// what a person is shown, in blocks that stand under each other and a head that says
// how the run stands. It draws nothing.
//
// It must not know how wide a terminal is, which keys are pressed, or how a run is
// driven. All texts that it hands out are safe for a terminal: they are made so where
// they come in.
package story

import (
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/costs"
	"github.com/plan-engine/plan/internal/sanitize"
)

// Story is a run as far as its events were seen.
type Story struct {
	Run      plan.RunID
	Title    string // the request's first line, or what the run is called
	Request  string
	Repo     string
	Branch   string
	Tree     string // the run's own work tree, "" for none
	Aim      plan.Aim
	Origin   plan.RunID // the run that this one continues
	Began    time.Time
	Last     time.Time // of the newest event
	Head     int64     // seq of the newest event
	State    plan.State
	Steps    []Step
	Parked   *plan.Parked
	End      *plan.RunEnd
	Plan     *plan.PlanDoc
	Failure  *plan.Failure
	Costs    costs.Costs // by phase, model and purpose
	Context  int64       // tokens of the newest request of the phase
	Model    string      // of that request
	Window   int64       // of the model, where the journal says
	Gaps     []plan.Gap
	Checks   []plan.CheckResult // the newest result of each
	Baseline []plan.CheckResult
	Letters  []Letter
	Blocks   []*Block
	Turn     int // of the conversation that goes on, from 1

	running []*Block
	open    map[string]*Block // blocks that are not at their end, by what they are
	live    map[string]*Block // messages that are being written, by conversation
	note    string            // what goes on while nothing is running
	noteAt  time.Time
	until   time.Time
	waits   map[string]*Block // what waits for a person, by call
}

// Step is a phase of the workflow as the head shows it.
type Step struct {
	Phase   plan.Phase
	Attempt int // 0: it has not begun
	Mood    Mood
	Began   time.Time
	Took    time.Duration // of all attempts that have ended
	Turns   int
	Left    bool // it is left out on the way that the run takes
}

// Letter is something that a person said to the run, and what became of it.
type Letter struct {
	Text  string
	After bool // a follow-up, for when the implementer would be done
	Heard int  // the turn that heard it, from 1; 0: none yet
	Phase plan.Phase
	Lost  bool // the run ended before it was heard
	Why   string
}

// New is a story before its first event.
func New() *Story {
	s := &Story{
		open:  map[string]*Block{},
		live:  map[string]*Block{},
		waits: map[string]*Block{},
	}
	for _, p := range plan.Phases() {
		s.Steps = append(s.Steps, Step{Phase: p})
	}
	return s
}

// Final reports whether the run has ended.
func (s *Story) Final() bool { return s.End != nil }

// Sent says that a person has sent a letter that no event tells of yet.
func (s *Story) Sent(text string, after bool) {
	s.Letters = append(s.Letters, Letter{Text: sanitize.Text(text), After: after})
}

// Waits says that a letter waits which may have been sent from elsewhere.
func (s *Story) Waits(text string, after bool) {
	for _, l := range s.Unheard() {
		if l.After == after && l.Text == sanitize.Text(text) {
			return
		}
	}
	s.Sent(text, after)
	s.Letters[len(s.Letters)-1].Lost = s.Final()
}

// Unsent says that a letter could not be sent.
func (s *Story) Unsent(text string, after bool) {
	text = sanitize.Text(text)
	at := slices.IndexFunc(s.Letters, func(l Letter) bool {
		return l.Heard == 0 && l.After == after && l.Text == text
	})
	if at >= 0 {
		s.Letters = slices.Delete(s.Letters, at, at+1)
	}
}

// Unheard are the letters that wait.
func (s *Story) Unheard() []Letter {
	var out []Letter
	for _, l := range s.Letters {
		if l.Heard == 0 && !l.Lost {
			out = append(out, l)
		}
	}
	return out
}

// markDelivered notes that a letter has reached the conversation.
func (s *Story) markDelivered(e plan.Event, text string, after bool) {
	text = sanitize.Text(text)
	turn := 1
	if e.Turn != nil {
		turn = *e.Turn + 1
	} else if s.Turn > 0 {
		turn = s.Turn
	}
	at := slices.IndexFunc(s.Letters, func(l Letter) bool {
		return l.Heard == 0 && !l.Lost && l.After == after && l.Text == text
	})
	if at < 0 { // a secret in it may have been replaced, or it was sent from elsewhere
		at = slices.IndexFunc(s.Letters, func(l Letter) bool { return l.Heard == 0 && !l.Lost && l.After == after })
	}
	if at < 0 {
		s.Letters = append(s.Letters, Letter{Text: text, After: after})
		at = len(s.Letters) - 1
	}
	s.Letters[at].Heard, s.Letters[at].Phase = turn, e.Phase
}

// Activity says what goes on: a label, what it is about, and since when. A zero time
// is not known; until is when waiting ends, if that is known.
func (s *Story) Activity() (label, detail string, since, until time.Time) {
	if n := len(s.running); n > 0 {
		b := s.running[0]
		return b.Label, b.Title, b.Began, time.Time{}
	}
	return "", s.note, s.noteAt, s.until
}

// Busy is how many calls and checks run.
func (s *Story) Busy() int { return len(s.running) }

// Step is the phase that works, or worked last.
func (s *Story) Step() Step {
	for i := len(s.Steps) - 1; i >= 0; i-- {
		if s.Steps[i].Mood == Running {
			return s.Steps[i]
		}
	}
	return Step{}
}

func (s *Story) say(note string, at time.Time) {
	note = sanitize.Line(note)
	if s.note != note {
		s.note, s.noteAt = note, at
	}
	s.until = time.Time{}
}

// add puts a block at the end.
func (s *Story) add(e plan.Event, b Block) *Block {
	b.Phase, b.Attempt, b.Seq = e.Phase, e.Attempt, e.Seq
	if e.Turn != nil {
		b.Turn = *e.Turn + 1
	}
	if e.Parent != "" {
		b.Depth = 1
	}
	if b.Began.IsZero() {
		b.Began = e.Time
	}
	s.Blocks = append(s.Blocks, &b)
	return &b
}

// tell puts a line about something that happened at the end.
func (s *Story) tell(e plan.Event, m Mood, label, title string) *Block {
	return s.add(e, Block{
		Kind:  Note,
		Mood:  m,
		Label: sanitize.Line(label),
		Title: sanitize.Line(title),
	})
}

// change says that a block is another than before.
func change(b *Block) { b.Version++ }

func (s *Story) stopped(b *Block) {
	s.running = slices.DeleteFunc(s.running, func(other *Block) bool { return other == b })
}
