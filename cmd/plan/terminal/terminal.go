// Package terminal asks the person at a terminal: about calls, questions, plans and
// changed trees that a run waits with, a line at a time, and with an editor. Nothing
// but a clear word means yes, and a closed terminal never does.
//
// It must not know how a run is driven, or what else stands on the terminal.
package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/outward"
	"github.com/plan-engine/plan/internal/scratch"
)

// Terminal is what a person reads and types on.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	// Environ is that of the person's editor, as "NAME=value", when one is to be started.
	Environ func(context.Context) []string
}

// Person asks what a parked run waits for. Hide takes the display of the run away
// while the terminal is the person's, and Show brings it back.
type Person struct {
	Terminal
	Hide, Show func()
}

var (
	_ host.Person  = Person{}
	_ host.Truster = Person{}
)

// Decide implements host.Person.
func (p Person) Decide(ctx context.Context, end engine.End, doc *plan.PlanDoc) ([]host.Letter, bool) {
	p.Hide()
	var letters []host.Letter
	for _, c := range end.Parked.Waiting {
		l, ok := p.ask(ctx, c, doc)
		if !ok {
			p.closeQuestion(ctx)
			return letters, false
		}
		letters = append(letters, l)
	}
	p.Show()
	return letters, true
}

// closeQuestion says why a question needs no answer any more, where it does not.
func (p Person) closeQuestion(ctx context.Context) {
	if errors.Is(context.Cause(ctx), host.ErrDecidedElsewhere) {
		fmt.Fprintln(p.Out, "\nIt was decided elsewhere just now.")
		p.Show()
	}
}

// Drift implements host.Person.
func (p Person) Drift(ctx context.Context, end engine.End) (engine.OnDrift, string, bool) {
	p.Hide()
	on, reason, ok := p.askDrift(ctx, end)
	if ok {
		p.Show()
	}
	return on, reason, ok
}

// Trust implements host.Truster, and asks about what a repository wants, too.
func (t Terminal) Trust(ctx context.Context, item trust.Item) bool {
	t.Discard() // what was typed before is no answer
	render.TrustQuestion(t.Out, item)
	line, ok := t.ReadLine(ctx)
	return ok && isYes(line)
}

// WantsAnswer asks whether a request that reads as a question is to be answered, with
// nothing changed. Anything but a clear yes means that it is run as it was typed.
func (t Terminal) WantsAnswer(ctx context.Context) bool {
	line, ok := t.Ask(ctx, "This reads as a question. Only answer it, and change nothing? [y: answer, anything else: "+
		"run as typed] ")
	return ok && isYes(line)
}

// isYes reports whether a line is a clear yes.
func isYes(line string) bool {
	line = strings.ToLower(line)
	return line == "y" || line == "yes"
}

// ask puts one call, a question or the plan to the person.
func (t Terminal) ask(ctx context.Context, c plan.WaitingCall, doc *plan.PlanDoc) (host.Letter, bool) {
	switch {
	case c.IsPlan() && doc != nil:
		return t.askAboutPlan(ctx, c, doc)
	case c.Question == "":
		return t.askAboutCall(ctx, c)
	}
	fmt.Fprintf(t.Out, "\n%s\n", render.SafeText(c.Question))
	for i, o := range c.Options {
		fmt.Fprintf(t.Out, "  %d  %s\n", i+1, render.SafeLine(o))
	}
	line, ok := t.Ask(ctx, "Answer (empty: leave it for later): ")
	if !ok || line == "" {
		return host.Letter{}, false
	}
	var n int
	if _, err := fmt.Sscanf(line+"\n", "%d\n", &n); err == nil && n >= 1 && n <= len(c.Options) {
		line = c.Options[n-1]
	}
	return host.Letter{
		Kind:   host.Answer,
		Text:   line,
		Call:   c.Call,
		Digest: c.Digest,
	}, true
}

// askAboutCall puts a call to the person, until there is a clear answer.
func (t Terminal) askAboutCall(ctx context.Context, c plan.WaitingCall) (host.Letter, bool) {
	l := host.Letter{
		Kind:   host.Approve,
		Call:   c.Call,
		Digest: c.Digest,
	}
	fmt.Fprintln(t.Out)
	render.WriteCall(t.Out, c)
	longer := ""
	if c.Grant != (plan.Grant{}) {
		longer = fmt.Sprintf(", r for this run, always (both: %s)", render.SafeLine(host.GrantText(c.Grant)))
	}
	for {
		line, ok := t.Ask(ctx, fmt.Sprintf("y once%s, n with a reason (empty: leave it for later): ", longer))
		if !ok || line == "" {
			return l, false
		}
		word, reason, _ := strings.Cut(line, " ")
		l.Text = strings.TrimSpace(reason)
		switch word = strings.ToLower(word); {
		case word == "n" || word == "no":
			l.Kind = host.Deny
			return l, true
		case word == "y" || word == "yes":
			return l, true
		case longer != "" && word == "r":
			l.Scope = plan.ScopeRun
			return l, true
		case longer != "" && word == "always":
			l.Scope = plan.ScopeAlways
			return l, true
		}
		t.notUnderstood(word)
	}
}

// notUnderstood says that a word decides nothing.
func (t Terminal) notUnderstood(word string) {
	fmt.Fprintf(t.Out, "%q is no answer here.\n", render.SafeLine(word))
}

// askAboutPlan shows a plan to the person at the terminal and takes the
// decision. It reports false where there is none: nothing but a clear word
// approves.
func (t Terminal) askAboutPlan(ctx context.Context, c plan.WaitingCall, doc *plan.PlanDoc) (host.Letter, bool) {
	l := host.Letter{
		Kind:   host.Approve,
		Call:   c.Call,
		Digest: c.Digest,
	}
	fmt.Fprintf(t.Out, "\n%s\n\n", render.SafeText(doc.Text))
	for {
		line, ok := t.Ask(ctx, fmt.Sprintf("Version %d: y to carry it out, n REASON to send it back, e to edit it, "+
			"reject to end the run (empty: leave it for later): ", doc.Version))
		if !ok || line == "" {
			return l, false
		}
		word, text, _ := strings.Cut(line, " ")
		text = strings.TrimSpace(text)
		switch word = strings.ToLower(word); {
		case word == "y" || word == "yes":
			l.Text = text
			return l, true
		case word == "reject":
			l.Kind = host.Deny
			l.Text = text
			l.Reject = true
			return l, true
		case (word == "n" || word == "no") && text != "":
			l.Kind = host.Deny
			l.Text = text
			return l, true
		case word == "n" || word == "no":
			fmt.Fprintln(t.Out, "Say what should change: n REASON.")
		case word == "e" || word == "edit":
			if edited := t.editPlan(ctx, doc.Text); edited != "" {
				l.Plan = edited
				return l, true
			}
		default:
			t.notUnderstood(word)
		}
	}
}

// editPlan is the plan as the person's editor leaves it, "" where it is as it was.
func (t Terminal) editPlan(ctx context.Context, text string) string {
	edited, err := t.editText(ctx, text)
	switch {
	case err != nil:
		fmt.Fprintf(t.Out, "%s\n", render.SafeLine(err.Error()))
		return ""
	case edited == "" || edited == strings.TrimSpace(text):
		fmt.Fprintln(t.Out, "The plan is as it was.")
		return ""
	}
	return edited
}

// askDrift asks the person what to do about a changed tree, and reports whether
// to go on.
func (t Terminal) askDrift(ctx context.Context, end engine.End) (on engine.OnDrift, reason string, ok bool) {
	d := end.Parked.Drift
	fmt.Fprintf(t.Out, "\nThe work tree changed while the run stood still: %s\n", render.Count(d.Total, "file"))
	const most = 20
	for _, f := range d.Files[:min(most, len(d.Files))] {
		fmt.Fprintf(t.Out, "  %s\n", render.SafeLine(f))
	}
	if d.Total > most {
		fmt.Fprintf(t.Out, "  and %d more\n", d.Total-most)
	}
	again := ""
	if end.State == plan.Implementing || end.State == plan.Reviewing {
		again = ", replan to make another plan"
	}
	for {
		line, ok := t.Ask(ctx, fmt.Sprintf("y to go on with the tree as it is%s (empty: leave it for later): ", again))
		if !ok || line == "" {
			return "", "", false
		}
		word, reason, _ := strings.Cut(line, " ")
		switch word = strings.ToLower(word); {
		case word == "y" || word == "yes":
			return engine.DriftGoesOn, "", true
		case word == "replan" && again != "":
			return engine.DriftReplans, cmp.Or(strings.TrimSpace(reason), host.DefaultReplanReason), true
		}
		t.notUnderstood(word)
	}
}

// AskHooks asks whether git's hooks may run that lie in a work tree.
func (t Terminal) AskHooks(ctx context.Context, dir string) bool {
	line, ok := t.Ask(ctx, fmt.Sprintf(
		"Git would run the hooks in %s, which the run could change. Run them? [y/N] ",
		render.SafeLine(dir),
	))
	return ok && isYes(line)
}

// editText opens the person's editor on a text and returns what it leaves.
func (t Terminal) editText(ctx context.Context, text string) (_ string, err error) {
	room, err := scratch.New("", scratch.Edit)
	if err != nil {
		return "", fmt.Errorf("make room for the plan: %w", err)
	}
	defer func() { _ = room.Close() }() // a copy of what the journal has
	name := filepath.Join(room.Dir, "plan.md")
	if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the plan for the editor: %w", err)
	}
	if err := t.edit(ctx, name); err != nil {
		return "", err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read the edited plan: %w", err)
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "�")), nil
}

// edit opens a file in the person's editor.
func (t Terminal) edit(ctx context.Context, file string) error {
	editor := t.Editor(ctx)
	if editor == "" {
		return hint.New("no editor is set", "Set VISUAL or EDITOR, or change the file yourself: "+file)
	}
	if err := t.Open(ctx, editor, file); err != nil {
		return fmt.Errorf("the editor %q failed: %w", editor, err)
	}
	return nil
}

// Editor is the person's editor, "" for none. It may be a command with flags, as
// git takes it.
func (t Terminal) Editor(ctx context.Context) string {
	env := t.Environ(ctx)
	return cmp.Or(config.Lookup(env, "VISUAL"), config.Lookup(env, "EDITOR"))
}

// Open opens a file in an editor, and waits until that is closed.
func (t Terminal) Open(ctx context.Context, editor, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("name the file: %w", err)
	}
	cmd := outward.Command(ctx, t.Environ(ctx), "sh", "-c", editor+` "$1"`, "sh", file)
	if terminal, ok := t.In.(*os.File); ok {
		cmd.Stdin = terminal
	}
	cmd.Stdout = t.Out
	cmd.Stderr = t.Err
	cmd.Dir = filepath.Dir(file) // where one stands may be the work tree, which has settings for editors
	return cmd.Run()             //nolint:wrapcheck // the caller says what was edited
}
