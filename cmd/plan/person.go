package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
)

// interactive says whether there is a person to ask.
func (a *app) interactive() bool {
	in, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && a.onTerminal() && !a.json
}

// consult asks the person at the terminal about what a parked run waits for,
// and puts the answers into its inbox. It reports false where nobody answers;
// a closed terminal never means yes.
func (a *app) consult(ctx context.Context, w *workshop, end engine.End, doc *plan.PlanDoc) (bool, error) {
	for _, c := range end.Parked.Waiting {
		kind, letter, ok := a.askPerson(ctx, c, doc)
		if !ok {
			return false, nil
		}
		if err := a.post(ctx, w.db, w.journal.run, kind, letter); err != nil {
			return false, err
		}
	}
	return true, nil
}

// askPerson puts one call, or the plan, to the person.
func (a *app) askPerson(
	ctx context.Context,
	c plan.WaitingCall,
	doc *plan.PlanDoc,
) (loop.LetterKind, letterText, bool) {
	if c.IsPlan() && doc != nil {
		return a.askAboutPlan(ctx, doc)
	}
	if c.Question == "" {
		return a.askApproval(ctx, c)
	}
	fmt.Fprintf(a.out, "\n%s\n", render.SafeText(c.Question))
	for i, o := range c.Options {
		fmt.Fprintf(a.out, "  %d  %s\n", i+1, render.SafeLine(o))
	}
	fmt.Fprint(a.out, "Answer (empty: leave it for later): ")
	line, ok := a.readLine(ctx)
	if !ok || line == "" {
		return "", letterText{}, false
	}
	var n int
	if _, err := fmt.Sscanf(line+"\n", "%d\n", &n); err == nil && n >= 1 && n <= len(c.Options) {
		line = c.Options[n-1]
	}
	return loop.Reply, letterText{Text: line, Call: c.Call}, true
}

// readLine reads a line from the person, until ctx ends.
func (a *app) readLine(ctx context.Context) (string, bool) {
	type read struct {
		line string
		err  error
	}
	lines := make(chan read, 1)
	go func() { // ends with the line, or with the process
		line, err := bufio.NewReader(a.in).ReadString('\n')
		lines <- read{line, err}
	}()
	select {
	case r := <-lines:
		if r.err != nil && (r.line == "" || !errors.Is(r.err, io.EOF)) {
			return "", false
		}
		return strings.TrimSpace(r.line), true
	case <-ctx.Done():
		return "", false
	}
}
