package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
)

// reach is how far a yes of the command line goes.
type reach struct{ run, always, show bool }

func (r *reach) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.show, "show", false, "show what waits, and what it would do, and decide nothing")
	cmd.Flags().BoolVar(&r.run, "for-run", false, "allow the same for the rest of this run, too")
	cmd.Flags().BoolVar(&r.always, "always", false, "allow the same from now on: add a rule to your config.toml")
	cmd.MarkFlagsMutuallyExclusive("show", "for-run", "always")
}

// widen gives a yes its reach. A yes for longer is about one call: the one that
// the letter names, or the only one that waits.
func (a *app) widen(ctx context.Context, db *memory.DB, prefix string, l *letterText, r reach) error {
	if !r.run && !r.always {
		return nil
	}
	id, err := findRun(ctx, db, prefix)
	if err != nil {
		return err
	}
	waiting, err := approvals(ctx, db, id)
	if err != nil {
		return failed(err)
	}
	waiting = slices.DeleteFunc(waiting, func(w plan.WaitingCall) bool { return l.Call != "" && w.Call != l.Call })
	switch {
	case len(waiting) == 0:
		return failed(
			&advice{
				fmt.Sprintf("run %s waits with no such call", id),
				"See what it waits with: plan approve " + prefix + " --show",
			},
		)
	case len(waiting) > 1:
		return failed(
			&advice{
				fmt.Sprintf("run %s waits with %d calls; say which one is allowed for longer", id, len(waiting)),
				"See them: plan approve " + prefix + " --show",
			},
		)
	case waiting[0].Grant == (plan.Grant{}):
		return failed(
			&advice{
				"this call can only be allowed once: no rule can say what else the yes would be for",
				"Leave --for-run and --always out, or write a rule of your own into config.toml.",
			},
		)
	}
	l.Call, l.Scope = waiting[0].Call, plan.ScopeRun
	if r.always {
		l.Scope = plan.ScopeAlways
		return a.always(ctx, waiting[0].Grant)
	}
	return nil
}

// approvals are the calls that wait for a yes.
func approvals(ctx context.Context, db *memory.DB, id plan.RunID) ([]plan.WaitingCall, error) {
	var out []plan.WaitingCall
	done := func(call string) {
		out = slices.DeleteFunc(out, func(w plan.WaitingCall) bool { return w.Call == call })
	}
	for ev, err := range db.Events(ctx, id, memory.Query{}) {
		if err != nil {
			return nil, fmt.Errorf("read what the run waits for: %w", err)
		}
		switch b := ev.Body.(type) {
		case plan.ApprovalRequired:
			out = append(out, plan.WaitingCall{
				Call:   b.Call,
				Name:   b.Name,
				Args:   b.Args,
				Why:    b.Why,
				Rule:   b.Rule,
				Effect: b.Effect,
				Grant:  b.Grant,
			})
		case plan.ApprovalResolved:
			done(b.Call)
		case plan.ToolEnd:
			done(b.Call)
		}
	}
	return out, nil
}

// always writes what a yes allows into the user's own settings.
func (a *app) always(ctx context.Context, g plan.Grant) error {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return failed(err)
	}
	file, err := config.AddPermission(ctx, paths.Home, config.Permission{
		Tool:    g.Tool,
		Path:    g.Path,
		Command: g.Command,
		Action:  "allow",
	})
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(a.err, "plan: note: %s now allows %s\n", render.SafeLine(file), render.SafeLine(grantText(g)))
	return nil
}

func grantText(g plan.Grant) string {
	parts := []string{g.Tool}
	for _, p := range []string{g.Path, g.Command} {
		if p != "" {
			parts = append(parts, fmt.Sprintf("%q", p))
		}
	}
	return strings.Join(parts, " ")
}

// showApprovals tells what waits for a yes.
func (a *app) showApprovals(ctx context.Context, db *memory.DB, prefix string) error {
	id, err := findRun(ctx, db, prefix)
	if err != nil {
		return err
	}
	waiting, err := approvals(ctx, db, id)
	if err != nil {
		return failed(err)
	}
	if a.json {
		return a.document(map[string]any{"run": id, "waiting": slices.Concat([]plan.WaitingCall{}, waiting)})
	}
	if len(waiting) == 0 {
		fmt.Fprintf(a.out, "run %s waits with no call\n", id)
	}
	for _, w := range waiting {
		fmt.Fprintf(a.out, "call %s\n", render.SafeLine(w.Call))
		writeCall(a.out, w)
	}
	return nil
}

// writeCall says what a call would do and why it is asked about.
func writeCall(to io.Writer, c plan.WaitingCall) {
	question := "May it call " + c.Name + "?"
	if c.IsPlan() {
		question = "May this plan be carried out?"
	}
	fmt.Fprintf(to, "%s\n", render.SafeLine(question))
	effect := c.Effect
	if effect == "" {
		effect = string(c.Args)
	}
	for line := range strings.Lines(render.SafeText(effect)) {
		fmt.Fprintf(to, "  %s\n", strings.TrimRight(line, "\n"))
	}
	if c.Why != "" {
		fmt.Fprintf(to, "because: %s\n", render.SafeLine(c.Why))
	}
}

// askApproval puts a call to the person. What is no clear answer decides
// nothing.
func (a *app) askApproval(ctx context.Context, c plan.WaitingCall) (loop.LetterKind, letterText, bool) {
	fmt.Fprintln(a.out)
	writeCall(a.out, c)
	longer := ""
	if c.Grant != (plan.Grant{}) {
		longer = fmt.Sprintf(", r for this run, a always (both: %s)", render.SafeLine(grantText(c.Grant)))
	}
	fmt.Fprintf(a.out, "y once%s, n with a reason (empty: leave it for later): ", longer)
	line, ok := a.readLine(ctx)
	word, reason, _ := strings.Cut(line, " ")
	l := letterText{Call: c.Call, Text: strings.TrimSpace(reason)}
	switch word = strings.ToLower(word); {
	case word == "n" || word == "no":
		return loop.Deny, l, ok
	case word == "y" || word == "yes":
		return loop.Approve, l, ok
	case longer != "" && (word == "r" || word == "run"):
		l.Scope = plan.ScopeRun
		return loop.Approve, l, ok
	case longer != "" && (word == "a" || word == "always"):
		l.Scope = plan.ScopeAlways
		if err := a.always(ctx, c.Grant); err != nil {
			fmt.Fprintf(a.err, "plan: %s\n", render.SafeText(err.Error()))
			return "", l, false
		}
		return loop.Approve, l, ok
	}
	return "", l, false
}
