package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
)

// asked drives a run that asks a person something, however often it is killed:
// it is started if it has no event, answered once if it waits, and resumed
// otherwise. Its processes kill themselves at these failpoints, those after
// them never. It returns how many were killed, and the last exit code.
func (p place) asked(at ...int) (kills, code int, said string) {
	answered := false
	for range 20 {
		n := 0
		if len(at) > 0 {
			n, at = at[0], at[1:]
		}
		var events []plan.Event
		if runs := p.runs(); len(runs) > 0 {
			events = runs[0]
		}
		switch waits := len(events) > 0 && events[len(events)-1].Type() == plan.TypeParked; {
		case len(events) == 0:
			code, said = p.start(n, 0, "run", "--from-plan", filepath.Join(p.dir, "plan.md"), "--check", "sh check.sh", "Count in digits")
		case waits && !answered:
			answered = true
			if code, said = p.start(0, 0, "answer", string(events[0].Run), "2, please"); code != 0 {
				return kills, code, said
			}
			code, said = p.start(n, 0, "resume", string(events[0].Run))
		default:
			code, said = p.start(n, 0, "resume", string(events[0].Run))
		}
		switch code {
		case -1:
			kills++
		case plan.ExitWaiting:
		default:
			return kills, code, said
		}
	}
	return kills, code, said + "\nthis never ends"
}

// TestKillMatrixOfAQuestion kills a run everywhere before and after it asks a
// person something. The question is asked once, the answer counts once, and
// both edits around it are made once. The sample has some kinds of failpoints, in
// either of its processes; that of a whole run has each.
func TestKillMatrixOfAQuestion(t *testing.T) {
	t.Parallel()
	r := newKillRange(t, "question.toml")
	fresh := func(name string) place {
		p, err := r.newPlace(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(p.dir, "plan.md"), []byte("Count in digits.\n\n## Files\n- a.txt\n"), 0o600)
		}
		if err != nil {
			t.Error(err)
		}
		return p
	}
	whole := fresh("whole")
	_, code, said := whole.asked()
	var err error
	if r.want, err = whole.outcome(code); err != nil || code != 0 {
		t.Fatalf("%d, %v\n%s", code, err, said)
	}

	processes := whole.pointsOfEach()
	first, last := processes[0], processes[len(processes)-1]
	var kills []questionKill
	for _, at := range upTo(len(first)) {
		kills = append(kills, questionKill{at: at, of: len(first), point: first[at-1], plan: []int{at}})
	}
	for _, at := range upTo(len(last)) {
		kills = append(kills, questionKill{at: at, of: len(last), point: last[at-1], plan: []int{0, at}})
	}
	kind := func(k questionKill) string { return k.point }
	random := sampling.New(t)
	if !sampling.All() {
		kills = sampling.Pick(random, 6, sampling.PickEach(random, 1, kills, kind))
	}
	var tally killTally
	each(kills, func(k questionKill) {
		p := fresh(fmt.Sprint("at-", k.plan))
		killed, code, said := p.asked(k.plan...)
		if killed == 0 {
			tally.ended(t, k.at, k.of)
		}
		got, err := p.outcome(code)
		tally.Lock()
		defer tally.Unlock()
		tally.killed += killed
		diff := got.differs(r.want)
		if err != nil || diff != "" {
			t.Errorf("killed at %v, %s: %v\n%s\n%s", k.plan, k.point, err, diff, said)
			return
		}
		tally.identical++
		p.forget()
	})
	t.Logf("killed %d, identical %d of %d runs", tally.killed, tally.identical, len(kills))
	if tally.identical != len(kills) || tally.killed+tally.early != len(kills) {
		t.Errorf("killed %d, %d of %d runs are identical", tally.killed, tally.identical, len(kills))
	}
}

// questionKill is where a run that asks is killed: in its first process, or in
// the one after the answer.
type questionKill struct {
	at, of int // of so many failpoints of that process
	point  string
	plan   []int // as asked takes it
}
