package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plan-engine/plan"
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
// both edits around it are made once.
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

	kills := make(chan []int)
	var tally killTally
	runs := 0
	var workers sync.WaitGroup
	var over [2]atomic.Bool
	for range killers {
		workers.Go(func() {
			for at := range kills {
				if over[len(at)-1].Load() {
					continue
				}
				p := fresh(fmt.Sprint("at-", at))
				killed, code, said := p.asked(at...)
				if killed == 0 { // this process does not come by so many
					over[len(at)-1].Store(true)
				}
				got, err := p.outcome(code)
				tally.Lock()
				tally.killed += killed
				runs++
				diff := got.differs(r.want)
				if err != nil || diff != "" {
					t.Errorf("killed at %v: %v\n%s\n%s", at, err, diff, said)
				} else {
					tally.identical++
					p.forget()
				}
				tally.Unlock()
			}
		})
	}
	points := len(whole.points())
	for at := 1; at <= points; at++ {
		for _, plan := range [][]int{{at}, {0, at}} { // in the first process, or in the one after the answer
			kills <- plan
		}
	}
	close(kills)
	workers.Wait()
	t.Logf("killed %d, resumed %d, identical %d of %d runs", tally.killed, tally.killed, tally.identical, runs)
	if tally.identical != runs || tally.killed < points-10 {
		t.Errorf("killed %d of %d, %d of %d runs are identical", tally.killed, points, tally.identical, runs)
	}
}
