package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// recordMany is the other process: it records n outcomes of one skill.
func recordMany(ctx context.Context, dir, who string, n int) error {
	db, err := memory.Open(ctx, config(dir))
	if err != nil {
		return err
	}
	defer db.Close()
	for i := range n {
		run := plan.RunID(fmt.Sprintf("%s-%d", who, i))
		if _, err := db.RecordSkill(ctx, run, plan.Implement, "tidy", func(r plan.SkillRecord) plan.SkillRecord {
			r.Alpha++
			r.Pulls++
			r.Updated = start
			return r
		}); err != nil {
			return err
		}
	}
	return nil
}

func TestOutcomesOfManyProcessesAreCountedExactly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir)
	const each = 1000
	var others []*exec.Cmd
	for _, who := range []string{"a", "b"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "MEMORY_TEST_HELPER=skills", "MEMORY_TEST_DIR="+dir, "MEMORY_TEST_RUN="+who)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		others = append(others, cmd)
	}
	for _, cmd := range others {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.SkillRecords(t.Context(), plan.Implement, []string{"tidy", "other"})
	if err != nil || len(got) != 1 || got["tidy"].Alpha != 2*each || got["tidy"].Pulls != 2*each {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARunCountsOncePerSkillAndPhase(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	win := func(r plan.SkillRecord) plan.SkillRecord { r.Alpha++; r.Updated = start; return r }
	for i, want := range []bool{true, false, false} {
		if got, err := db.RecordSkill(t.Context(), "r1", plan.Plan, "x", win); err != nil || got != want {
			t.Errorf("%d: %v, %v", i, got, err)
		}
	}
	if got, err := db.RecordSkill(t.Context(), "r1", plan.Implement, "x", win); err != nil || !got {
		t.Errorf("another phase: %v, %v", got, err)
	}
	all, err := db.AllSkillRecords(t.Context())
	if err != nil || len(all) != 2 || all[0].Alpha != 1 || all[1].Phase != plan.Plan {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestStreaks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	step := func(sig, run string, ok bool) []plan.RunID {
		t.Helper()
		db := open(t, dir) // each from a process of its own, as far as the file can tell
		runs, err := db.Streak(t.Context(), sig, plan.RunID(run), ok, 3)
		if err != nil {
			t.Fatal(err)
		}
		return runs
	}
	for _, c := range []struct {
		sig, run string
		ok       bool
		want     []plan.RunID
	}{
		{"a", "1", true, nil},
		{"a", "1", true, nil}, // the same run again
		{"b", "2", true, nil},
		{"a", "3", true, nil},
		{"b", "4", false, nil},
		{"a", "5", true, []plan.RunID{"1", "3", "5"}},
		{"a", "5", true, []plan.RunID{"1", "3", "5"}}, // asked again, as after a kill
		{"a", "6", true, nil},                         // a new streak
		{"b", "7", true, nil},
		{"b", "8", true, nil},
		{"a", "9", true, nil},
		{"b", "10", true, []plan.RunID{"7", "8", "10"}},
	} {
		if diff := cmp.Diff(c.want, step(c.sig, c.run, c.ok)); diff != "" {
			t.Errorf("%s after run %s (-want +got):\n%s", c.sig, c.run, diff)
		}
	}
}

func TestDecisionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	want := []plan.SkillGrant{
		{Name: "x", Digest: "d1", Signature: "s", Decision: plan.GrantRejected, Why: "too vague", At: start},
		{Name: "x", Digest: "d2", Signature: "s", Decision: plan.GrantApproved, At: start},
	}
	for _, g := range want {
		if err := db.GrantSkill(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.SkillGrants(t.Context())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestStyle(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	if s, err := db.Style(t.Context()); err != nil || s.Line() != "" || s.Formality != .5 {
		t.Fatalf("%+v, %v", s, err)
	}
	long := "I would appreciate a comprehensive refactoring including documentation, considering backwards compatibility throughout every exported function signature please"
	said := func(seq int64, text string) memory.Remark { return memory.Remark{Seq: seq, Text: text} }
	for _, c := range []struct {
		run  plan.RunID
		said []memory.Remark
	}{
		{"r1", []memory.Remark{said(1, "  ")}},
		{"r1", []memory.Remark{said(2, long), said(5, long)}},
		{"r1", nil},
		{"r1", []memory.Remark{said(2, long), said(5, long)}}, // by another process
		{"r2", []memory.Remark{said(2, long)}},
		{"r1", []memory.Remark{said(5, long), said(7, long)}},
	} {
		if err := db.ObserveStyle(t.Context(), c.run, c.said...); err != nil {
			t.Fatal(err)
		}
	}
	s, err := db.Style(t.Context())
	if err != nil || s.Seen != 3 || s.Terseness > .3 || s.Formality < .7 || s.Line() == "" {
		t.Errorf("%+v %q, %v", s, s.Line(), err)
	}
	if err := db.StateStyle(t.Context(), "no emoji,  ever"); err != nil {
		t.Fatal(err)
	}
	s, _ = db.Style(t.Context())
	if !slices.Equal(s.Stated, []string{"no emoji, ever"}) || s.Line() != "The person has said how they want to be written to: no emoji, ever." {
		t.Errorf("%+v %q", s, s.Line())
	}
	if err := db.ResetStyle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, _ = db.Style(t.Context()); s.Seen != 0 || len(s.Stated) != 0 {
		t.Errorf("%+v", s)
	}
	for run, seen := range map[plan.RunID]int{"r1": 0, "r2": 1} { // r2 has come to its end
		err := db.EndStyle(t.Context(), "r2")
		if err = errors.Join(err, db.ObserveStyle(t.Context(), run, said(7, long))); err != nil {
			t.Fatal(err)
		}
		if s, _ = db.Style(t.Context()); s.Seen != seen {
			t.Errorf("%s: %+v", run, s)
		}
		if err := db.ResetStyle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStyleFolds(t *testing.T) {
	t.Parallel()
	shout := memory.Signals([]string{"FIX IT NOW!!! 🚀🚀🚀🚀🚀"})
	if shout.Energy < .9 || shout.Emoji != 1 || shout.Formality > .25 {
		t.Errorf("%+v", shout)
	}
	s := memory.Neutral().Fold(shout)
	if s.Energy != shout.Energy {
		t.Errorf("the first window was halved: %+v", s)
	}
	calm := memory.Signals([]string{"ok"})
	next := s.Fold(calm)
	if want := s.Energy + .2*(calm.Energy-s.Energy); next.Energy != want || next.Seen != 2 {
		t.Errorf("%+v, want energy %v", next, want)
	}
}
