// Package lines is the session for who reads line by line, with a screen reader or on a
// terminal that cannot be drawn on: a question, a run in lines of plain text, and the
// next question. Nothing is drawn over what stands there.
//
// It must not know how a run is shown, or how a person is asked what it waits for.
package lines

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/terminal"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// Session is the world as it sees it.
type Session struct {
	Terminal terminal.Terminal
	Host     *host.Host
	Dir      string // the repository, or a folder in it
	Options  render.Options
	// Drive shows a run that the host drives, to its end. What went wrong it has an error
	// for, also where it was told.
	Drive func(ctx context.Context, work func(context.Context, host.Face) (host.End, error)) error
	// Diff shows what a run changed.
	Diff func(ctx context.Context, id plan.RunID) error
	// Complain says what went wrong.
	Complain func(error)

	listed  []plan.RunID // by their numbers, from 1
	current plan.RunID   // what is written is about it; "" for none
}

// How many runs are listed of those that wait, and of those of this repository.
const (
	mostWaiting = 5
	mostRecent  = 8
)

const help = `A request starts a run, and a question is answered. The number of a run goes
on with it, or has you continue it where it is final. @FILE takes a file along.
  /runs   list the runs again
  /new    begin another run, and continue none
  /diff   what the run changed
  /quit   leave
While a run works, Ctrl-C parks it. From another terminal, "plan tell" says
something to it.
`

// Run asks and drives until the person leaves.
func (s *Session) Run(ctx context.Context) error {
	fmt.Fprintln(s.out(), "This is plan, in lines. /help says what can be written, /quit leaves.")
	s.list(ctx)
	for ctx.Err() == nil {
		line, ok := s.Terminal.Ask(ctx, s.question(ctx))
		if !ok {
			fmt.Fprintln(s.out())
			return nil
		}
		switch n, err := strconv.Atoi(line); {
		case line == "/quit":
			return nil
		case line == "/help":
			_, _ = io.WriteString(s.out(), help) // a terminal that is gone answers nothing either
		case line == "/runs":
			s.list(ctx)
		case line == "/new":
			s.current = ""
		case line == "/diff":
			s.diff(ctx)
		case strings.HasPrefix(line, "/") && !strings.Contains(line, " "):
			fmt.Fprintf(s.out(), "There is no %s. /help says what there is.\n", render.SafeLine(line))
		case err == nil && n >= 1 && n <= len(s.listed):
			s.open(ctx, s.listed[n-1])
		case s.current != "":
			s.tell(ctx, line)
		case line != "":
			s.begin(ctx, line)
		}
	}
	return nil
}

func (s *Session) out() io.Writer { return s.Terminal.Out }

// question is what is asked next.
func (s *Session) question(ctx context.Context) string {
	if s.current == "" {
		return "What should change? "
	}
	info, err := s.Host.Info(ctx, s.current)
	switch name := s.current.Short(); {
	case err != nil:
		s.current = ""
		return "What should change? "
	case info.Ended():
		return fmt.Sprintf("Run %s is %s. What you write continues it (/new for another run): ", name, info.Outcome)
	default:
		return fmt.Sprintf(
			"Run %s is parked: %s. An empty line goes on, and what you write goes with it (/new for another run): ",
			name,
			info.Parked,
		)
	}
}

// list lists what waits, and what ran here, by numbers.
func (s *Session) list(ctx context.Context) {
	s.listed = nil
	board, err := s.Host.Board(ctx, mostWaiting)
	if err != nil {
		s.Complain(err)
		return
	}
	s.choices("Waits for you:", board.Waiting)
	recent, err := s.Host.Runs(ctx, host.Filter{Dir: s.Dir, Limit: mostRecent})
	if err != nil {
		s.Complain(err)
		return
	}
	s.choices("Ran here:", slices.DeleteFunc(recent, func(r memory.RunInfo) bool {
		return slices.Contains(s.listed, r.ID)
	}))
}

func (s *Session) choices(title string, runs []memory.RunInfo) {
	if len(runs) == 0 {
		return
	}
	fmt.Fprintln(s.out(), title)
	_ = render.Choices(s.out(), len(s.listed)+1, runs, s.Options) // a terminal that is gone answers nothing either
	for _, r := range runs {
		s.listed = append(s.listed, r.ID)
	}
}

// open has what is written be about a run, and goes on with one that stands still.
func (s *Session) open(ctx context.Context, id plan.RunID) {
	info, err := s.Host.Info(ctx, id)
	if err != nil {
		s.Complain(err)
		return
	}
	s.current = id
	if !info.Ended() {
		s.resume(ctx, id)
	}
}

func (s *Session) drive(ctx context.Context, work func(context.Context, host.Face) (host.End, error)) {
	if err := s.Drive(ctx, work); err != nil {
		s.Complain(err)
	}
}

func (s *Session) resume(ctx context.Context, id plan.RunID) {
	s.drive(ctx, func(ctx context.Context, face host.Face) (host.End, error) {
		return s.Host.Resume(ctx, id, host.Options{}, face)
	})
}

// begin starts a run.
func (s *Session) begin(ctx context.Context, text string) {
	req := host.Request{Dir: s.Dir, ID: s.Host.NewRunID()}
	var err error
	if req.Text, err = s.Host.WithFiles(ctx, s.Dir, text); err != nil {
		s.Complain(err)
		return
	}
	if host.IsQuestion(text) && s.Terminal.WantsAnswer(ctx) {
		req.AsQuestion()
	}
	s.drive(ctx, func(ctx context.Context, face host.Face) (host.End, error) { return s.Host.Run(ctx, req, face) })
	if _, err := s.Host.Info(ctx, req.ID); err == nil { // else it never began
		s.current = req.ID
	}
}

// tell says something to the run, and goes on with it, or with the one that continues it.
func (s *Session) tell(ctx context.Context, text string) {
	if text != "" {
		info, err := s.Host.Info(ctx, s.current)
		if err == nil {
			text, err = s.Host.WithFiles(ctx, info.Repo, text)
		}
		var result host.Told
		if err == nil {
			result, err = s.Host.Tell(ctx, s.current, host.Letter{Kind: host.Steer, Text: text})
		}
		if err != nil {
			s.Complain(err)
			return
		}
		if result.Continuation != "" {
			s.current = result.Continuation
		}
	}
	s.resume(ctx, s.current)
}

// diff shows what the run changed.
func (s *Session) diff(ctx context.Context) {
	if s.current == "" {
		fmt.Fprintln(s.out(), "Write the number of a run first.")
		return
	}
	if err := s.Diff(ctx, s.current); err != nil {
		s.Complain(err)
	}
}
