package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/internal/sampling"
)

// TestNothingIsLeftOfTheKilled kills processes at each instant at which they make
// something that the journal does not have yet, and at random in their first second.
// What is left is named by doctor, and gone after one collection.
func TestNothingIsLeftOfTheKilled(t *testing.T) {
	t.Parallel()
	r := newKillRange(t, "scenario.toml")
	whole, err := r.newPlace("whole")
	if err != nil {
		t.Fatal(err)
	}
	// The base of most: a run with a tree of its own that has ended, and was applied.
	if code, said := whole.start(0, 0, "run", "--worktree", "--check", "sh check.sh", "Count in digits"); code != 0 {
		t.Fatalf("%d\n%s", code, said)
	}
	id := string(whole.runs()[0][0].Run)
	if code, said := whole.start(0, 0, "apply", id); code != 0 {
		t.Fatalf("%d\n%s", code, said)
	}
	run := []string{"run", "--worktree", "--plan-only", "Count in digits"}
	type killed struct {
		args  []string
		until string // the last failpoint at which the journal does not have it
		seed  bool   // it begins with the base
		first []string
	}
	gc := []string{"gc", "--older-than", "1ms", "--shrink"}
	random := sampling.New(t)
	for _, c := range sampling.Pick(random, 2, []killed{
		{run, "before an append", false, nil},
		{[]string{"fork", id, "--at", "30"}, "before a fork begins", true, nil},
		{[]string{"worktree", "prune"}, "before a branch goes", true, nil},
		{[]string{"backup", "copy.db"}, "before a backup is named", true, nil},
		{[]string{"export", id, "-o", "run.jsonl"}, "before an export is named", true, nil},
		{gc, "after the file shrank", true, []string{"worktree", "prune"}}, // a run goes once its work tree is gone
	}) {
		for n := 1; ; n++ {
			p := r.leftPlace(whole, fmt.Sprintf("%s-%d", c.args[0], n), c.seed)
			if c.first != nil {
				if code, said := p.start(0, 0, c.first...); code != 0 {
					t.Fatalf("%v ends with %d:\n%s", c.first, code, said)
				}
			}
			code, said := p.start(n, 0, c.args...)
			points := p.pointsOfEach()
			if code != -1 || len(points) == 0 {
				t.Fatalf("%v was to be killed at failpoint %d: %d\n%s", c.args, n, code, said)
			}
			last := points[len(points)-1]
			point := last[len(last)-1]
			if c.args[0] == "gc" { // a run that is there has its snapshots, and one that is gone is gone
				if err := p.whole(); err != nil {
					t.Errorf("%v killed %s: %v", c.args, point, err)
				}
			}
			p.collected(fmt.Sprint(c.args, " killed ", point), point == c.until && (c.args[0] == "fork" || c.args[0] == "backup"))
			if point == c.until {
				break
			}
		}
	}
	p := r.leftPlace(whole, "a move", true)
	stage := filepath.Join(p.repoDir(), ".plan-move-1") // before its intent was there
	if err := errors.Join(os.Mkdir(stage, 0o700), os.WriteFile(filepath.Join(stage, ".gitignore"), []byte("*\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	p.collected("a move that had not begun", true)
	for i := range sampling.Pick(random, 1, []int{1, 2, 3, 4}) {
		p := r.leftPlace(whole, fmt.Sprintf("random-%d", i), false)
		after := time.Duration(1+random.IntN(300)) * time.Millisecond
		p.start(0, after, run...)
		p.collected(fmt.Sprint("a run killed after ", after), false)
	}
}

// leftPlace is a place, and with seed one that was just as another is, at the path
// that its home speaks of.
func (r *killRange) leftPlace(whole place, name string, seed bool) place {
	r.t.Helper()
	if !seed {
		p, err := r.newPlace(name)
		if err != nil {
			r.t.Fatal(err)
		}
		return p
	}
	saved := filepath.Join(r.dir, "saved")
	if _, err := os.Stat(saved); err != nil {
		r.command(r.t.Context(), r.dir, "cp", "-a", whole.dir, saved)
	}
	r.command(r.t.Context(), r.dir, "rm", "-rf", whole.dir)
	r.command(r.t.Context(), r.dir, "cp", "-a", saved, whole.dir)
	return whole
}

// collected collects, and looks at what is there then.
func (p place) collected(what string, isLeft bool) {
	p.t.Helper()
	if isLeft {
		if _, found := p.start(0, 0, "doctor"); !strings.Contains(found, "left behind") {
			p.t.Errorf("%s: doctor does not say so:\n%s", what, found)
		}
	}
	code, said := p.start(0, 0, "gc")
	if code != 0 || strings.Contains(said, "kept ") && !strings.Contains(said, "runs kept") {
		p.t.Errorf("%s: gc ended with %d:\n%s", what, code, said)
	}
	if code, said := p.start(0, 0, "gc"); code != 0 || !strings.Contains(said, "nothing is left") {
		p.t.Errorf("%s: the second gc ended with %d:\n%s", what, code, said)
	}
	known := map[string]bool{}
	for _, events := range p.runs() {
		known[string(events[0].Run)] = true
	}
	for _, pattern := range []string{
		"home/making/*", "home/worktrees/*", "plan-*", "repo/.plan-*", "home/locks/*",
		"repo/.git/worktrees/*", "repo/.git/refs/heads/plan/*", "repo/.git/refs/plan/*",
	} {
		left, err := filepath.Glob(filepath.Join(p.dir, pattern))
		if err != nil {
			p.t.Fatal(err)
		}
		for _, path := range left {
			if strings.HasPrefix(filepath.Base(path), "writing.") {
				continue // the line of those who write to the database, which stays
			}
			if name := strings.ToUpper(filepath.Base(path)); !p.belongs(known, name) {
				p.t.Errorf("%s: %s is left\n%s", what, path, said)
			}
		}
	}
}

// belongs reports whether a name is that of a run that is known, or begins with it.
func (p place) belongs(known map[string]bool, name string) bool {
	for id := range known {
		if strings.HasPrefix(id, name) {
			return true
		}
	}
	return slices.Contains([]string{"MIGRATE.LOCK", "WRITING.NEXT", "WRITING.INSIDE"}, name)
}
