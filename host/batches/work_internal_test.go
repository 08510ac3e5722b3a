package batches

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/config"
)

// What a job may ask of a worker: refused where it is put into a queue, and by the
// worker, which believes no queue.
func TestWhatJobsMayAskOfWorkers(t *testing.T) {
	t.Parallel()
	yes := true
	var network, setup config.Config
	network.Phase = map[plan.Phase]config.PhaseConfig{plan.Plan: {Network: &yes}}
	setup.Checks.Setup = "make"
	for name, test := range map[string]struct {
		settings config.Config
		own      string
	}{
		"nothing": {},
		"what jobs may": {settings: config.Config{
			Model:    "x",
			MaxCost:  1,
			Critique: &yes,
			Checks:   config.ChecksConfig{Required: []string{"make"}},
			Phase:    map[plan.Phase]config.PhaseConfig{plan.Review: {Model: "y"}},
		}},
		"setup":   {setup, "checks.setup"},
		"walls":   {config.Config{Sandbox: "off"}, "sandbox"},
		"servers": {config.Config{BaseURL: "http://x"}, "base_url"},
		"network": {network, "phase.plan.network"},
	} {
		j := batch.Job{
			ID:       "j",
			Repo:     "https://example.org/x.git",
			Settings: test.settings,
		}
		if own, err := workersOwn(j.Settings); own != test.own || err != nil {
			t.Errorf("%s: %q, %v", name, own, err)
		}
		if why := asksTooMuch(j, nil); (why == "") != (test.own == "") || !strings.Contains(why, test.own) {
			t.Errorf("%s: a worker says %q", name, why)
		}
		q := Queued{}
		if test.own != "" {
			_, err := q.Add(t.Context(), NewBatch{Jobs: []batch.Job{j}})
			if err == nil || !strings.Contains(err.Error(), "job j: it says "+test.own) {
				t.Errorf("%s: put into a queue: %v", name, err)
			}
		}
	}
	if why := asksTooMuch(batch.Job{Repo: "/x"}, nil); why == "" {
		t.Error("a folder of another machine was taken")
	}
}

func TestAReportThatIsTooLargeForTheQueue(t *testing.T) {
	t.Parallel()
	r := queuedResult{
		Result: batch.Result{Outcome: plan.Approved},
		Report: &batch.JobReport{
			ID:      "j",
			Run:     "R",
			CostUSD: 1,
			Diff:    "+x",
			Checks:  []plan.CheckResult{{Output: strings.Repeat("x", maxReport)}},
		},
	}
	data, err := r.encode()
	text := string(data)
	if err != nil || len(data) > 1<<10 || !strings.Contains(text, "plan show R on the worker") ||
		!strings.Contains(text, `"cost_usd":1`) || !strings.Contains(text, `"approved"`) {
		t.Errorf("%d bytes, %v: %.500s", len(data), err, text)
	}
	r.Report.Checks = nil
	if data, err := r.encode(); err != nil || !strings.Contains(string(data), `"+x"`) {
		t.Errorf("a small one: %s %v", data, err)
	}
}
