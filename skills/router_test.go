package skills_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

// shelf keeps records in memory: what is tested here is the arithmetic.
type shelf struct {
	records map[string]plan.SkillRecord
	seen    map[string]bool
	err     error
}

func (s *shelf) SkillRecords(_ context.Context, p plan.Phase, names []string) (map[string]plan.SkillRecord, error) {
	out := map[string]plan.SkillRecord{}
	for _, n := range names {
		if r, ok := s.records[string(p)+"/"+n]; ok {
			out[n] = r
		}
	}
	return out, s.err
}

func (s *shelf) RecordSkill(_ context.Context, run plan.RunID, p plan.Phase, name string, change func(plan.SkillRecord) plan.SkillRecord) (bool, error) {
	key := string(run) + "/" + string(p) + "/" + name
	if s.seen[key] || s.err != nil {
		return false, s.err
	}
	s.seen[key] = true
	s.records[string(p)+"/"+name] = change(s.records[string(p)+"/"+name])
	return true, nil
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newRouter(seed uint64) (*skills.Router, *shelf, *time.Time) {
	now := start
	s := &shelf{records: map[string]plan.SkillRecord{}, seen: map[string]bool{}}
	return &skills.Router{Records: s, Rand: rand.NewPCG(seed, 7), Now: func() time.Time { return now }}, s, &now
}

func library() []skills.Skill {
	both := []plan.Phase{plan.Plan, plan.Implement}
	return []skills.Skill{
		{Name: "database-migration", Description: "Write a reversible migration of the SQL schema", Phases: both, Digest: "m1"},
		{Name: "go-errors", Description: "Wrap and compare errors in Go code", Phases: []plan.Phase{plan.Implement}, Digest: "e1"},
		{Name: "release-notes", Description: "Write release notes from merged changes", Phases: both, Digest: "r1"},
		{Name: "secret-rites", Description: "Migration of a database in secret", Phases: both, Hidden: true, Digest: "h1"},
	}
}

func TestOnlyRelevantSkillsOfThePhaseAreCandidates(t *testing.T) {
	t.Parallel()
	r, _, _ := newRouter(1)
	ix := skills.NewIndex(library())
	for _, c := range []struct {
		request string
		phase   plan.Phase
		want    []string
	}{
		{"Add a database migration for the new users table", plan.Implement, []string{"", "database-migration"}},
		{"Wrapping errors in go packages", plan.Implement, []string{"", "go-errors"}},
		{"Wrapping errors in go packages", plan.Plan, nil},
		{"Go through the README", plan.Implement, nil}, // one word of go-errors
		{"Say what the results depend on", plan.Plan, nil},
		{"The database is slow", plan.Implement, nil}, // one word of a name and of a description
		{"Put it into the release-notes", plan.Implement, []string{"", "release-notes"}},
		{"Make the button blue", plan.Implement, nil},
		{"Please write it", plan.Implement, nil}, // one common word of a description is not enough
	} {
		pick := r.Choose(t.Context(), ix, c.phase, c.request)
		var got []string
		for _, x := range pick.Candidates {
			got = append(got, x.Skill)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", c.request, c.phase, diff)
		}
		if c.want == nil && (pick.Why != plan.PickIrrelevant || pick.Skill != "") {
			t.Errorf("%s: %+v", c.request, pick)
		}
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	r, _, _ := newRouter(1)
	ix := skills.NewIndex(library())
	if pick := r.Choose(t.Context(), ix, plan.Explore, "Blue buttons, @@SKILL=secret-rites."); pick.Skill != "secret-rites" || pick.Why != plan.PickOverride {
		t.Errorf("%+v", pick)
	}
	pick := r.Choose(t.Context(), ix, plan.Implement, "@@skill=nobody migration")
	if pick.Why == plan.PickOverride || !strings.Contains(pick.Error, "the skill nobody,") {
		t.Errorf("a skill that is not there: %+v", pick)
	}
}

func TestChoiceIsTheSameUnderASeed(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) []plan.SkillPick {
		r, _, _ := newRouter(seed)
		ix := skills.NewIndex(library())
		var out []plan.SkillPick
		for range 50 {
			out = append(out, r.Choose(t.Context(), ix, plan.Implement, "migration of errors: release notes for go"))
		}
		return out
	}
	if diff := cmp.Diff(run(3), run(3)); diff != "" {
		t.Errorf("two runs with one seed differ:\n%s", diff)
	}
	if cmp.Equal(run(3), run(4)) {
		t.Error("two seeds give the same picks")
	}
}

func TestUnreadableRecordsMeanNoHint(t *testing.T) {
	t.Parallel()
	r, s, _ := newRouter(1)
	s.err = errors.New("disk on fire")
	pick := r.Choose(t.Context(), skills.NewIndex(library()), plan.Implement, "database migration")
	if pick.Skill != "" || pick.Why != plan.PickFailed || !strings.Contains(pick.Error, "fire") {
		t.Errorf("%+v", pick)
	}
}

func TestReward(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		res     skills.Result
		reward  float64
		neutral bool
	}{
		{"first review", skills.Result{Outcome: plan.Approved, Reviews: 1, MaxCycles: 2}, 1, false},
		{"second review", skills.Result{Outcome: plan.Approved, Reviews: 2, MaxCycles: 2}, 0.5, false},
		{"last review", skills.Result{Outcome: plan.Approved, Reviews: 3, MaxCycles: 2}, 0, false},
		{"no cycles to save", skills.Result{Outcome: plan.Approved, Reviews: 1}, 1, false},
		{"exhausted", skills.Result{Outcome: plan.Exhausted, Reviews: 3, MaxCycles: 2}, 0, false},
		{"failed before a review", skills.Result{Outcome: plan.Failed, MaxCycles: 2}, 0, true},
		{"failed after a review", skills.Result{Outcome: plan.Failed, Reviews: 1, MaxCycles: 2}, 0, false},
		{"cancelled", skills.Result{Outcome: plan.Cancelled, MaxCycles: 2}, 0, true},
		{"blocked", skills.Result{Outcome: plan.Blocked, Reviews: 1, MaxCycles: 2}, 0, true},
		{"plan only", skills.Result{Outcome: plan.Planned, MaxCycles: 2}, 0, true},
	} {
		reward, neutral := skills.Reward(c.res)
		if reward != c.reward || neutral != c.neutral {
			t.Errorf("%s: %v, neutral %v; want %v, %v", c.name, reward, neutral, c.reward, c.neutral)
		}
	}
}

func TestCreditCountsOncePerRunAndOnlyIfLoaded(t *testing.T) {
	t.Parallel()
	r, s, _ := newRouter(1)
	skill := library()[0]
	good := skills.Result{Outcome: plan.Approved, Reviews: 1, MaxCycles: 2}
	for range 2 {
		if _, err := r.Credit(t.Context(), "r1", plan.Implement, skill, true, good); err != nil {
			t.Fatal(err)
		}
	}
	out, err := r.Credit(t.Context(), "r2", plan.Implement, skill, false, good)
	if err != nil || !out.Neutral {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := r.Credit(t.Context(), "r3", plan.Implement, skill, true, skills.Result{Outcome: plan.Cancelled}); err != nil {
		t.Fatal(err)
	}
	rec := s.records["implement/database-migration"]
	if rec.Alpha != 2 || rec.Beta != 1 || rec.Pulls != 1 || rec.Phase != plan.Implement || rec.Skill != skill.Name {
		t.Errorf("%+v", rec)
	}
	if _, ok := s.records["plan/database-migration"]; ok {
		t.Error("a phase was credited that had no part in it")
	}
}

func TestEvidenceDecaysTowardThePrior(t *testing.T) {
	t.Parallel()
	score := 0.7
	skill := skills.Skill{Name: "x", Digest: "v1", Score: &score}
	rec := plan.SkillRecord{}
	for range 10 {
		rec = skills.AddReward(rec, skill, 1, start)
	}
	if rec.Alpha != 15 || rec.Beta != 1 || rec.Prior != 5 {
		t.Fatalf("%+v", rec)
	}
	later := skills.PosteriorOf(rec, skill, start.Add(skills.HalfLife))
	if math.Abs(later.Alpha-10) > 1e-9 || later.Beta != 1 {
		t.Errorf("after one half-life: %+v", later)
	}
	if old := skills.PosteriorOf(rec, skill, start.Add(100*skills.HalfLife)); math.Abs(old.Alpha-5) > 1e-6 {
		t.Errorf("after a hundred: %+v", old)
	}
	if same := skills.PosteriorOf(rec, skill, start.Add(-time.Hour)); same.Alpha != 15 {
		t.Errorf("a clock that went back changed evidence: %+v", same)
	}
	skill.Digest = "v2"
	if fresh := skills.PosteriorOf(rec, skill, start); fresh != (skills.Posterior{Alpha: 5, Beta: 1}) {
		t.Errorf("a changed skill kept old evidence: %+v", fresh)
	}
}

func TestDegeneratePosteriorsDrawTheMiddle(t *testing.T) {
	t.Parallel()
	src := rand.NewPCG(1, 1)
	for _, p := range []skills.Posterior{{}, {Alpha: -1, Beta: 1}, {Alpha: math.NaN(), Beta: 1}, {Alpha: math.Inf(1), Beta: 1}} {
		if got := p.Draw(src); got != 0.5 {
			t.Errorf("%+v drew %v", p, got)
		}
	}
}
