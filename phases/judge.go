package phases

import (
	"context"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/review"
)

// review runs the Review phase behind walls. Its exit is a judgement. A verdict
// that cannot be read is asked for once more, and one that is in doubt once for
// each kind of doubt; what is no better then counts as NEEDS_FIX.
func (ph *Phases) review(ctx context.Context, b plan.Brief, s *session) (out plan.Outcome, err error) {
	p := ph.newProver(b, s)
	p.begin(ctx)
	defer p.end()
	var doubts []review.DoubtKind
	reread := false // it was asked once for the form
	prompt, err := ph.reviewPrompt(ctx, b)
	if err != nil {
		return out, err
	}
	for n := 0; ; n++ {
		if err := s.ask(ctx, n, prompt); err != nil {
			return out, err
		}
		later := n < s.recorded-1 // the journal has an answer to another question
		v, err := review.Parse(review.Answer{
			Text:        s.end.Text,
			Truncated:   s.end.Cut,
			FormatRetry: reread,
		})
		if err != nil {
			if reread && !later {
				j := review.Final(s.end.Text, err, p.known())
				return ph.judged(ctx, b, p, j)
			}
			reread, prompt = true, plan.UserText(review.Reask(err, nil))
			continue
		}
		ev, err := p.evidence(ctx, v, doubts)
		if err != nil {
			return out, err
		}
		ev.Text, ev.AskedDoubts = s.end.Text, doubts
		j, doubt := review.Judge(v, ev)
		switch {
		case doubt != nil:
			doubts = append(doubts, doubt.Kind)
			prompt = plan.UserText(review.Reask(nil, doubt))
		case !later:
			return ph.judged(ctx, b, p, j)
		}
	}
}

// judged is the outcome of a review, with what the next one and the author are
// to know of it.
func (ph *Phases) judged(ctx context.Context, b plan.Brief, p *prover, j plan.Judgement) (plan.Outcome, error) {
	added, err := p.addedFiles(ctx)
	if err != nil {
		return plan.Outcome{}, err
	}
	for _, f := range added {
		if hasSecret(f.Data, ph.cfg.RedactRead) {
			continue
		}
		blob := plan.NewBlob(f.Data)
		f.Hash = blob.Hash
		j.Added = append(j.Added, f.AddedFile)
		j.Blobs = append(j.Blobs, blob)
	}
	calls := p.known().Calls
	for i, c := range j.Commands { // what a call was, only this review can tell
		at := slices.IndexFunc(calls, func(r review.Call) bool { return c.Call == r.ID || c.Call == r.Key })
		if c.Call != "" && at >= 0 {
			j.Commands[i].Command, j.Commands[i].ExitCode = calls[at].Command, calls[at].ExitCode
		}
	}
	j.Open = openPoints(b.Closing)
	if b.Plan != nil {
		j.Accepted = acceptedPoints(b.Plan.Text)
	}
	return plan.Outcome{Judgement: &j}, nil
}

// planOf is the plan that the work follows; "" for a change that has none.
func planOf(b plan.Brief) string {
	if b.Plan == nil {
		return ""
	}
	return fence("plan", "", b.Plan.Text)
}

func (ph *Phases) reviewPrompt(ctx context.Context, b plan.Brief) (plan.Message, error) {
	last, err := ph.earlierReview(ctx, b)
	if err != nil {
		return plan.Message{}, err
	}
	if last != "" {
		last = "The last review ran these commands and made these files. They are gone from your copy; what of " +
			"them is of use, make and run again.\n\n" + last
	}
	checks := "No check was run by the workflow: there is none that it knows of. What you run is the only evidence."
	if len(b.Checks) > 0 {
		intro := "The workflow ran these checks on this tree:\n\n"
		if len(b.Base) > 0 {
			intro = "The workflow ran these checks on this tree, and before the work began; where they stood " +
				"otherwise then, it is said:\n\n"
		}
		checks = intro + fence("checks", "", checksSince(b.Base, b.Checks))
	}
	values := map[string]string{
		"PLAN":    strings.TrimSpace(planOf(b) + "\n\n" + replacedPlan(b)),
		"DIFF":    strings.TrimSpace(changeText(ph.hidden(b)) + "\n\n" + leftText(b)),
		"CHECKS":  checks,
		"NOTICED": noticedText(b.Noticed, b.Checks),
		"GAPS":    strings.TrimSpace(gapText(b.Gaps) + "\n\n" + answersText(b.Gaps, b.Closing) + "\n\n" + last),
	}
	message := ph.opening(b, "review", values)
	if work := ph.cfg.Kit.Prompts[workPrompt]; work != "" {
		message.Blocks = append(message.Blocks, plan.UserText(compose(work, values)).Blocks...)
	}
	return message, nil
}

// checksSince are the checks after the work, with how they stood before where that was
// otherwise. Of one that fails in the very words in which it failed before, little is shown.
func checksSince(base, checks []plan.CheckResult) string {
	var list strings.Builder
	for _, c := range checks {
		i := sameCheck(base, c)
		switch {
		case i >= 0 && failsAsBefore(base[i], c):
			list.WriteString(checkLine(c, ", in the same words as before the work began", sameTail))
		case i >= 0 && checkLine(base[i], "", 0) != checkLine(c, "", 0):
			list.WriteString(checkLine(c, "; before the work began: "+checkWord(base[i]), checkTail))
		default:
			list.WriteString(checkLine(c, "", checkTail))
		}
	}
	for _, c := range base {
		if sameCheck(checks, c) < 0 {
			list.WriteString(checkLine(c, ", before the work began; not run since", 0))
		}
	}
	return list.String()
}

func sameCheck(list []plan.CheckResult, c plan.CheckResult) int {
	return slices.IndexFunc(list, func(o plan.CheckResult) bool { return o.Command == c.Command })
}

// timings finds how long something took.
var timings = lazy.Regexp(`\b\d+(?:\.\d+)?\s?(?:ns|µs|ms|s|sec|seconds?)\b`)

// otherCounts finds what is no failure of a test, which new tests make more.
var otherCounts = lazy.Regexp(`\b\d+ (?:items|selected|deselected|passed|passing|total)\b`)

// failsAsBefore reports whether a check failed before, and fails now in the same words
// but for how long it took, and how many tests there are that do not fail.
func failsAsBefore(before, now plan.CheckResult) bool {
	words := func(c plan.CheckResult) string {
		return otherCounts().ReplaceAllString(timings().ReplaceAllString(c.Output, ""), "")
	}
	return now.Fails() && before.Fails() && checkWord(before) == checkWord(now) && words(before) == words(now)
}
