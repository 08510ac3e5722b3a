package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/internal/sampling"
)

// batchKills is how many kills there are at least and how many jobs the batches
// have: few in a sample.
func batchKills() (kills, jobs int) {
	if sampling.All() {
		return 50, 24
	}
	return 2, 3
}

// TestBatchSurvivesKills kills a batch at random times, resumes it, and compares
// what came of it with a batch that was not killed.
func TestBatchSurvivesKills(t *testing.T) {
	t.Parallel()
	kills, jobs := batchKills()
	r := newKillRange(t, "scenario.toml")
	began := time.Now()
	want := r.batch("undisturbed", jobs, nil)
	took := time.Since(began)
	for id, j := range want {
		if j.State != "done" {
			t.Fatalf("job %s of an undisturbed batch is %s: %s", id, j.State, j.Why)
		}
	}
	random := sampling.New(t)
	t.Logf("a batch takes %s", took)
	for round := 0; kills > 0; round++ {
		var at []time.Duration
		for range min(kills, 3) {
			at = append(at, took/10+time.Duration(random.Int64N(int64(took/2))))
		}
		kills -= len(at)
		got := r.batch(fmt.Sprint("round-", round), jobs, at)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("killed after %v, the batch came to something else (-undisturbed +killed):\n%s", at, diff)
		}
	}
}

// jobEnd is what a job comes to, killed or not.
type jobEnd struct {
	State, Outcome, Why, Diff, Verdict string
	Checks                             []int
	Ends                               int // how often its run ended
}

// batch runs a batch in a place of its own, kills it after each of the times,
// and resumes it until it ends.
func (r *killRange) batch(name string, jobs int, kills []time.Duration) map[string]jobEnd {
	p, err := r.newPlace(name)
	if err != nil {
		r.t.Fatal(err)
	}
	var list strings.Builder
	for i := range jobs {
		fmt.Fprintf(&list, `{"id":"job-%d","repo":%q,"request":"Count in digits","checks":["sh check.sh"]}`+"\n", i, p.repoDir())
	}
	file := filepath.Join(p.dir, "jobs.jsonl")
	if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	run := func(after time.Duration) int {
		if _, out := p.start(0, time.Minute, "batch", "list", "--json"); strings.HasPrefix(out, `[{`) {
			code, out := p.start(0, after, "batch", "resume", "--concurrency", "4")
			if code > 0 {
				r.t.Logf("%s: resume ended with %d:\n%s", name, code, out)
			}
			return code
		}
		code, out := p.start(0, after, "batch", "run", file, "--concurrency", "4")
		if code > 0 {
			r.t.Logf("%s: run ended with %d:\n%s", name, code, out)
		}
		return code
	}
	for _, after := range kills {
		run(after)
	}
	if code := run(6 * time.Minute); code != 0 {
		r.t.Errorf("%s: the batch ended with %d", name, code)
	}
	_, out := p.start(0, time.Minute, "batch", "report", "--format", "json")
	var report batch.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		r.t.Fatalf("%s: %v in %s", name, err, out)
	}
	ends, runs := map[string]int{}, p.runs()
	for _, events := range runs {
		for _, ev := range events {
			if ev.Type() == plan.TypeRunEnd {
				ends[ev.Job]++
			}
		}
	}
	if len(runs) != jobs {
		r.t.Errorf("%s: %d runs were begun for %d jobs", name, len(runs), jobs)
	}
	got := map[string]jobEnd{}
	for _, l := range report.Jobs {
		end := jobEnd{State: string(l.State), Outcome: string(l.Outcome), Why: l.Why, Diff: l.Diff, Verdict: l.Verdict, Ends: ends[l.ID]}
		for _, c := range l.Checks {
			end.Checks = append(end.Checks, c.ExitCode)
		}
		got[l.ID] = end
	}
	p.forget()
	return got
}
