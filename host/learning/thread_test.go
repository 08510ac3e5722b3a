package learning

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
)

// TestAThreadCountsOnce: a run that goes on from one which has counted is credited with
// nothing more and is no further success of its kind; after one that only answered a
// question it is the first.
func TestAThreadCountsOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		aim   plan.Aim
		end   []plan.Body
		why   string
		count bool
	}{
		"after an approved change": {
			end:   []plan.Body{plan.SkillOutcome{Phase: plan.Implement, Reward: 1}, plan.RunEnd{Outcome: plan.Approved}},
			why:   "the run that this one continues has counted",
			count: true,
		},
		"after an answer": {
			aim: plan.AimAsk,
			end: []plan.Body{plan.SkillOutcome{Phase: plan.Explore, Neutral: true}, plan.RunEnd{Outcome: plan.QuestionAnswered}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, w := newOwnedRun(t, "R1")
			l, err := New(Config{
				DB:         db,
				Repository: "/repo",
				Home:       t.TempDir(),
				Trust:      trust.Open(filepath.Join(t.TempDir(), "trust.json"), time.Now),
			})
			if err != nil {
				t.Fatal(err)
			}
			start := plan.RunStart{Request: "add a test", Aim: row.aim}
			for _, b := range append([]plan.Body{start}, row.end...) {
				if _, err := w.Append(t.Context(), plan.Event{Run: "R1", Time: time.Unix(1, 0), Body: b}); err != nil {
					t.Fatal(err)
				}
			}
			l.StartRun("R2", []plan.Event{
				{Run: "R2", Body: plan.RunStart{Request: "and one more", Continues: "R1"}},
				{Run: "R2", Phase: plan.Implement, Body: plan.SkillPick{}},
			}, 0)
			if _, counted := l.thread(t.Context(), "R1"); counted != row.count {
				t.Errorf("it has counted: %v", counted)
			}
			for _, b := range l.Closing(2)(t.Context(), plan.Approved, nil) {
				if o, ok := b.(plan.SkillOutcome); ok && (o.Why == row.why) != row.count {
					t.Errorf("it is credited with %+v", o)
				}
			}
		})
	}
}
