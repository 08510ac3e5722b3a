package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/skills/auto"
)

// maxDescription is how many columns of a skill's description a list shows.
const maxDescription = 80

// Skills writes a table of skills.
func Skills(w io.Writer, list []learning.Listing) error {
	rows := [][]string{{"SKILL", "FROM", "STATUS", "WHAT FOR"}}
	for _, s := range list {
		name, source := s.Name, s.Source
		if name == "" {
			name, source = s.Path, "-"
		}
		description := s.Description
		if s.Why != "" {
			description = s.Why
		}
		description = displaywidth.TruncateString(SafeLine(description), maxDescription, "…")
		rows = append(rows, []string{SafeLine(name), source, s.Status, description})
	}
	return writeTable(w, rows)
}

// Skill writes a skill as a model would read it.
func Skill(w io.Writer, s learning.SkillText) error {
	source := s.Source
	if source == "" {
		source = "-"
	}
	tellf(w, "%s (%s, %s)\n%s\n", s.Name, source, s.Status, SafeLine(s.Description))
	return writef(w, "\n%s\n", SafeText(s.Body))
}

// DraftReview writes the draft that is number n of all that wait for a person.
func DraftReview(w io.Writer, r learning.Review, n, total int) error {
	runs := make([]string, len(r.Runs))
	for i, id := range r.Runs {
		runs[i] = string(id)
	}
	tellf(w, "Draft %d of %d: %s, revision %d (%s)\n", n, total, r.Name, r.Revision, r.Status)
	tellf(w, "from runs %s\nrouter: %s\n", strings.Join(runs, ", "), r.Router)
	if r.Change != "" {
		tellf(w, "a change to the skill %s\n", r.Change)
	}
	return writef(w, "\n%s\n", SafeText(r.Diff))
}

// SkillRolledBack writes which revision of a drafted skill is used after an
// approval was taken back; 0 is none.
func SkillRolledBack(w io.Writer, name string, revision int) error {
	if revision == 0 {
		return writef(w, "%s: no revision is used now.\n", name)
	}
	return writef(w, "%s: revision %d is used again.\n", name, revision)
}

// DraftDiff writes what a draft would change.
func DraftDiff(w io.Writer, diff string) error { return writef(w, "%s", SafeText(diff)) }

// DraftDecided writes what was decided about a draft, and what that means.
func DraftDecided(w io.Writer, d auto.Draft, decision, note string) error {
	return writef(w, "%s revision %d: %s. %s\n", d.Name, d.Revision, decision, note)
}

// DraftWritten writes that a model has written a draft.
func DraftWritten(w io.Writer, d *plan.SkillDraft, used plan.Usage) error {
	return writef(
		w,
		"%s revision %d is written (%s tokens) and waits for you: plan skills review\n",
		d.Name,
		d.Revision,
		Tokens(used.Tokens()),
	)
}

// DraftsWaiting mentions at the end of a run that n drafts wait for the person.
func DraftsWaiting(w io.Writer, n int) error {
	text := "A drafted skill waits"
	if n > 1 {
		text = fmt.Sprintf("%d drafted skills wait", n)
	}
	return writef(w, "\n%s for your review: plan skills review\n", text)
}

// SkillMeasured writes how a draft did on the tasks that it was made from.
func SkillMeasured(w io.Writer, m learning.Measurement) error {
	err := writef(w, "%s revision %d: score %.2f over %d tasks\n", m.Name, m.Revision, m.Score, m.Counted())
	for _, t := range m.Tasks {
		err = writef(w, "  %s  with %s · without %s\n", t.Run, trialText(t.With), trialText(t.Without))
	}
	return err
}

func trialText(t learning.TrialResult) string {
	return fmt.Sprintf("%s after %d reviews, %s tokens", t.Outcome, t.Reviews, Tokens(t.Tokens))
}
