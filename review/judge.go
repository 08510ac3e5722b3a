package review

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
)

// Evidence is what is known of a review beside the reviewer's word.
type Evidence struct {
	// Calls are the commands that ran in this review, in order, as the journal has
	// them.
	Calls []Call
	// Checks are the results after the latest implement, Baseline those from
	// before the first one. Where a command is there twice, the later counts.
	Checks   []plan.CheckResult
	Baseline []plan.CheckResult
	// Trials are the runs that the engine made to weigh this verdict: of claimed
	// lines and of checks, on the reviewed tree and on the counter tree. Where
	// one could end so or so, it is there twice.
	Trials []plan.CheckResult
	// Limit says why a line may not have been run again, as a clause.
	Limit string
	// Created are the files that the change adds.
	Created []string
	// Unchanged says that the work changes no file.
	Unchanged bool
	// Strict refuses a DONE that rests on nothing better than that nothing broke.
	Strict bool
	// Gaps is the ledger so far, open and closed.
	Gaps []plan.Gap
	// Findings are what the workflow itself noticed about the work.
	Findings []plan.Finding
	// Text is the review itself: the gap of a NEEDS_FIX that names none.
	Text string
	// AskedDoubts are the doubts that the reviewer was told of before. None is raised
	// twice.
	AskedDoubts []DoubtKind
}

// Doubt says why a verdict does not count yet: the reviewer is asked once for
// each kind.
type Doubt struct {
	Kind   DoubtKind
	Why    string   // one plain sentence
	Claims []string // what it is about, each in a sentence of its own
}

// DoubtKind says what is in doubt.
type DoubtKind string

// The kinds of doubt.
const (
	// DoubtClaims: a claimed line ended otherwise when it was run alone.
	DoubtClaims DoubtKind = "claims"
	// DoubtSilent: a DONE is silent about what it has to answer.
	DoubtSilent DoubtKind = "silent"
	// DoubtShown: nothing tells the work from what was there before.
	DoubtShown DoubtKind = "shown"
	// DoubtSmall: a NEEDS_FIX names nothing that must be closed.
	DoubtSmall DoubtKind = "small"
	// DoubtAltered: a NEEDS_FIX rests on commands that ran on other files than
	// those of the work.
	DoubtAltered DoubtKind = "altered"
)

// maxText bounds a review that becomes a gap, in bytes.
const maxText = 4000

// Judge weighs a verdict against the evidence. A DONE is approved if it names
// nothing that must be closed and no requirement unmet, every check is kept, what
// it claims ends as claimed when the engine runs it alone, everything that has to
// be answered is answered, and something shows the work: a check or a claimed line
// that ends otherwise without it. Where the verdict says why no command can tell
// the two apart, or why nothing had to change, it is enough that something ends as
// claimed.
//
// A doubt is given where asking the reviewer may help, once for each kind. The
// judgement beside it is the one to take otherwise.
//
// BLOCKED is passed on as it is. Everything else is judged NEEDS_FIX.
func Judge(v plan.Verdict, ev Evidence) (plan.Judgement, *Doubt) {
	must, should := bySeverity(v.Missing)
	switch {
	case v.Verdict == plan.CannotSay:
		why := "The reviewer says that the work cannot be verified here."
		return judgement(v, plan.CannotSay, why, v.Missing, ev.Gaps, false), nil
	case v.Verdict == plan.Done:
		return judgeDone(v, ev)
	case len(must) == 0 && len(should) > 0:
		if !slices.Contains(ev.AskedDoubts, DoubtSmall) {
			why := "The reviewer said NEEDS_FIX and named nothing that must be closed."
			return judgement(v, plan.NeedsFix, why, v.Missing, ev.Gaps, true), &Doubt{Kind: DoubtSmall, Why: why}
		}
		v.Verdict = plan.Done // what it names are remarks
		return judgeDone(v, ev)
	}
	return judgeFix(v, ev)
}

// judgeFix judges a NEEDS_FIX.
func judgeFix(v plan.Verdict, ev Evidence) (plan.Judgement, *Doubt) {
	missing, should := bySeverity(v.Missing)
	for _, m := range should { // beside what is wrong, it is a remark all the same
		v.Notes = append(v.Notes, m.Gap)
	}
	complete := true
	if len(missing) == 0 {
		missing, complete = []plan.Missing{
			mustClose(reviewGap("The review says NEEDS_FIX and lists no gap:", ev.Text)),
		}, false
	}
	why := fmt.Sprintf("The reviewer found %s.", count(len(missing), "gap", "gaps"))
	j := judgement(v, plan.NeedsFix, why, slices.Concat(brokenChecks(ev), missing), ev.Gaps, complete)
	if slices.Contains(ev.AskedDoubts, DoubtAltered) {
		return j, nil
	}
	lines := claims(v, ev)
	if files := filesAlteredDuringClaims(lines, ev); len(files) > 0 {
		return j, &Doubt{
			Kind: DoubtAltered,
			Why: "The reviewer said NEEDS_FIX by commands that ran while files of the work stood changed in its " +
				"copy.",
			Claims: []string{"Changed there: " + strings.Join(files, ", ") + "."},
		}
	}
	return j, nil
}

// filesAlteredDuringClaims are the files that stood changed while the claimed lines ran, if
// that is so for all that did not end well.
func filesAlteredDuringClaims(lines []ClaimedLine, ev Evidence) []string {
	var out []string
	for _, l := range lines {
		if l.ExitCode == 0 {
			continue
		}
		if !ev.ranAltered(l) {
			return nil
		}
		out = append(out, ev.altered(l)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// judgeDone judges a DONE.
func judgeDone(v plan.Verdict, ev Evidence) (plan.Judgement, *Doubt) {
	broken := brokenChecks(ev)
	contradicted, should := bySeverity(v.Missing)
	for _, item := range v.Checklist {
		if !item.Met {
			contradicted = append(contradicted, mustClose("A requirement is not met: "+item.Item))
		}
	}
	for _, m := range should {
		v.Notes = append(v.Notes, m.Gap)
	}
	if len(contradicted) > 0 {
		why := fmt.Sprintf("The reviewer said DONE and named %s.", count(len(contradicted), "gap", "gaps"))
		return judgement(v, plan.NeedsFix, why, slices.Concat(broken, contradicted), ev.Gaps, true), nil
	}
	if stuck := stuckChecks(ev); len(broken) == 0 && len(stuck) > 0 {
		why := fmt.Sprintf(
			"The required check `%s` did not come to an end before the work either, so nothing can be said here.",
			shortened(stuck[0]),
		)
		return judgement(v, plan.CannotSay, why, nil, ev.Gaps, false), nil
	}
	if len(broken) > 0 {
		why := fmt.Sprintf(
			"The reviewer said DONE, but %s.",
			count(len(broken), "check does not pass", "checks do not pass"),
		)
		return judgement(v, plan.NeedsFix, why, broken, ev.Gaps, true), nil
	}
	p := ev.prove(v)
	if d := findDoubt(v, ev, p); d != nil {
		j := judgement(v, plan.NeedsFix, d.Why, unprovenGaps(d), ev.Gaps, false)
		if slices.Contains(ev.AskedDoubts, d.Kind) {
			return j, nil
		}
		return j, d
	}
	return approve(v, ev, p), nil
}

// approve is the judgement of a DONE that the evidence bears out.
func approve(v plan.Verdict, ev Evidence, p proof) plan.Judgement {
	evidence := plan.EvidenceShown
	why := fmt.Sprintf(
		"The reviewer said DONE, and `%s` tells the work from what was there before",
		shortened(p.line),
	)
	if p.best != shown {
		evidence = plan.EvidenceUnbroken
		reason := v.Unchanged
		if ev.Unchanged {
			reason = v.NoChange
		}
		why = fmt.Sprintf(
			"The reviewer said DONE, `%s` ends as it should, and nothing can show more (%s)",
			shortened(p.line),
			strings.TrimRight(oneline.Of(reason), "."),
		)
	}
	if n := len(failingChecks(ev)); n > 0 {
		why += fmt.Sprintf(", with %s", count(n, "failing check", "failing checks"))
	}
	j := judgement(v, plan.Done, why+".", nil, ev.Gaps, true)
	j.Approved, j.Evidence = true, evidence
	j.Commands = claimsThatHold(v, ev)
	return j
}

// findDoubt is what keeps a DONE from counting, the gravest first; nil if nothing
// does.
func findDoubt(v plan.Verdict, ev Evidence, p proof) *Doubt {
	if len(p.objections) > 0 {
		return &Doubt{
			Kind: DoubtClaims,
			Why: fmt.Sprintf(
				"The reviewer said DONE, but %s did not end as claimed when run alone.",
				count(len(p.objections), "command", "commands"),
			),
			Claims: p.objections,
		}
	}
	if unsaid := unanswered(v, ev); len(unsaid) > 0 {
		return &Doubt{
			Kind: DoubtSilent,
			Why: fmt.Sprintf(
				"The reviewer said DONE without a word on %s.",
				count(len(unsaid), "thing that speaks against it", "things that speak against it"),
			),
			Claims: unsaid,
		}
	}
	if ev.Unchanged && v.NoChange == "" {
		return &Doubt{
			Kind: DoubtShown,
			Why: "The reviewer said DONE, but no file was changed, and the verdict does not say under `no_change` " +
				"why nothing had to be.",
		}
	}
	excused := v.Unchanged != "" || ev.Unchanged
	if p.best == shown || excused && p.best == unbroken && !ev.Strict {
		return nil
	}
	d := &Doubt{Kind: DoubtShown, Claims: p.why}
	switch {
	case excused && p.best == unbroken:
		d.Why = "The reviewer said DONE, but nothing tells the work from what was there before, and the settings " +
			"insist on that."
	case p.best == unbroken:
		d.Why = "The reviewer said DONE, but nothing tells the work from what was there before."
	default:
		d.Why = "The reviewer said DONE, but nothing that ran shows it."
	}
	return d
}

// unanswered lists the findings and the failing checks that a DONE has to speak
// of in its checklist and does not. A checklist in prose answers nothing.
func unanswered(v plan.Verdict, ev Evidence) []string {
	names := func(name string) bool {
		return name != "" &&
			slices.ContainsFunc(v.Checklist, func(item plan.ListItem) bool { return addresses(item, name) })
	}
	var out []string
	for _, f := range ev.Findings {
		if f.Answer && !names(f.Path) && (strings.Contains(f.Path, " ") || !names(path.Base(f.Path))) {
			out = append(out, f.Text+" The checklist does not say why that is right.")
		}
	}
	for _, c := range failingChecks(ev) {
		if names(c.Command) || names(c.Name) {
			continue
		}
		says := "fails. The checklist does not say why that is right."
		if c.NotStarted != "" {
			says = "could not start. The checklist does not say what was run in its place."
		}
		out = append(out, fmt.Sprintf("The check `%s` %s", c.Command, says))
	}
	return out
}

// DependsOnClaims reports whether it matters what a verdict claims: nothing else keeps it
// from being approved.
func DependsOnClaims(v plan.Verdict, ev Evidence) bool {
	must, should := bySeverity(v.Missing)
	remarks := v.Verdict == plan.NeedsFix && len(should) > 0 && slices.Contains(ev.AskedDoubts, DoubtSmall)
	unmet := slices.ContainsFunc(v.Checklist, func(item plan.ListItem) bool { return !item.Met })
	return (v.Verdict == plan.Done || remarks) && len(must) == 0 && !unmet && len(brokenChecks(ev)) == 0
}

// Shown reports whether something tells the work from what was there before.
func Shown(v plan.Verdict, ev Evidence) bool { return ev.prove(v).best == shown }

// EndsAsClaimed reports whether a line ended as claimed when it was run again.
func EndsAsClaimed(l ClaimedLine, ev Evidence) bool {
	w, _ := ev.weigh(l)
	return w == unbroken || w == shown
}

// addresses reports whether a requirement says something of a file or a command. To
// give a command as evidence and no word more is to say nothing of it.
func addresses(item plan.ListItem, name string) bool {
	if item.Prose {
		return false
	}
	before, after, cited := strings.Cut(item.Evidence, name)
	words := strings.FieldsFunc(before+" "+after, func(r rune) bool { return !unicode.IsLetter(r) })
	return strings.Contains(item.Item, name) || cited && len(words) > 1
}

// bySeverity parts what a review names into what stands in the way and what only
// should be closed.
func bySeverity(missing []plan.Missing) (must, should []plan.Missing) {
	for _, m := range missing {
		if m.Severity == plan.SeverityShould {
			should = append(should, m)
		} else {
			must = append(must, m)
		}
	}
	return must, should
}

// Final judges a reviewer's second answer that could not be read as a verdict
// either. It counts as NEEDS_FIX, and closes no gap.
func Final(text string, err error, ev Evidence) plan.Judgement {
	why, gap := "The review came back empty.", "The review came back empty: nothing says that the work is done."
	if strings.TrimSpace(text) != "" {
		why = fmt.Sprintf("The review could not be read: %s.", reason(err))
		gap = reviewGap("The review could not be read as a verdict. It says:", text)
	}
	missing := slices.Concat(brokenChecks(ev), []plan.Missing{mustClose(gap)})
	return judgement(plan.Verdict{}, plan.NeedsFix, why, missing, ev.Gaps, false)
}

// judgement puts the pieces together and gives every gap its id.
func judgement(
	v plan.Verdict,
	kind plan.VerdictKind,
	why string,
	missing []plan.Missing,
	ledger []plan.Gap,
	complete bool,
) plan.Judgement {
	changes, named := matchGaps(ledger, missing, complete)
	return plan.Judgement{
		Verdict:   kind,
		Why:       why,
		Checklist: v.Checklist,
		Missing:   named,
		Commands:  append([]plan.RanCommand{}, v.Commands...),
		Notes:     v.Notes,
		NoChange:  v.NoChange,
		Unchanged: v.Unchanged,
		Gaps:      changes,
	}
}

// reason is why a text could not be read, without the operation.
func reason(err error) string {
	var pe *ParseError
	if errors.As(err, &pe) {
		return pe.Why
	}
	return err.Error()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
