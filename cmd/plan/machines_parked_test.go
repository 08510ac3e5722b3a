package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/gittest"
)

// TestQueueDecidesAndPublishes: jobs on two workers wait with their plans, are sent back
// and approved from a third home, go on where they stood, and are published once, though
// two homes publish them at the same time.
func TestQueueDecidesAndPublishes(t *testing.T) {
	t.Parallel()
	m := newFleet(t)
	m.serve("127.0.0.1:0")
	workers := []string{"worker-0", "worker-1"}
	for _, home := range workers {
		gittest.Write(t, filepath.Join(m.dir, home), map[string]string{"config.toml": "approve_plan = true\n"})
	}
	var lines []string
	for i := range 4 {
		lines = append(lines, fmt.Sprintf(
			`{"id":"job-%d","repo":"file://%s","request":"Make greet.sh say hello","vars":{"n":"%d"}}`, i, m.repo, i))
	}
	id, _, _ := strings.Cut(m.must("home", "batch", "run", m.jobs("jobs.jsonl", lines...)), ":")
	work := func() {
		t.Helper()
		var both sync.WaitGroup
		for _, home := range workers {
			both.Go(func() {
				if text, err := m.run(home, "worker", "--drain", "--concurrency", "2", "--repo", "file://"+m.repo); err != nil {
					t.Errorf("%s ends with %v:\n%s", home, err, text)
				}
			})
		}
		both.Wait()
	}
	work()
	if text := m.must("desk", "batch", "approve", id, "--show"); strings.Count(text, "May this plan be carried out?") != 4 ||
		!strings.Contains(text, "In `greet.sh`, print `hello`.") {
		t.Errorf("what waits is shown as\n%s", text)
	}
	for want, args := range map[string][]string{
		"4 jobs wait":             {"batch", "approve", id},
		"has no job":              {"batch", "approve", id, "--job", "none"},
		"not what you were shown": {"batch", "approve", id, "--job", "job-0", "--digest", "sha256:0"},
		"say what should change":  {"batch", "deny", id, "--job", "job-0"},
		"--for-run":               {"batch", "approve", id, "--for-run"},
	} {
		if text, err := m.run("desk", args...); err == nil || !strings.Contains(text, want) {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
	}
	if text, err := m.start("desk", "batch", "approve", id, "--job", "job-0").CombinedOutput(); err == nil ||
		!strings.Contains(string(text), "go with --queue") {
		t.Errorf("without a queue, --job: %v\n%s", err, text)
	}
	runs := m.runsOf(id)
	m.must("desk", "batch", "deny", id, "--job", "job-0", "--comment", "Say it louder")
	for _, job := range []string{"job-1", "job-2", "job-3"} {
		m.must("desk", "batch", "approve", id, "--job", job)
	}
	if text, err := m.run("desk", "batch", "approve", id, "--job", "job-1"); err == nil ||
		!strings.Contains(text, "what job job-1 waited with was already approved by person on ") {
		t.Errorf("a second yes: %v\n%s", err, text)
	}
	work()
	if text, err := m.run("desk", "batch", "deny", id, "--job", "job-2", "--comment", "No"); err == nil ||
		!strings.Contains(text, "what job job-2 waited with was already approved by person on ") {
		t.Errorf("a no after it was read: %v\n%s", err, text)
	}
	m.must("desk", "batch", "approve", id) // that which was sent back
	work()
	if after := m.runsOf(id); after != runs {
		t.Errorf("not each job went on where it was: %s, then %s", runs, after)
	}
	m.requireFollowed(id)
	m.publish(id)
	m.requireServed(id)
	m.collect(id)
}

// collect removes the batch from the queue once it has been over for as long as is said.
func (m *fleet) collect(id string) {
	m.t.Helper()
	text := m.must("desk", "queue", "gc", "--older-than", "30d")
	text += m.must("desk", "queue", "gc", "--older-than", "1ms", "--dry-run")
	if !strings.HasPrefix(text, "removed 0 batches and 0 journals\nwould remove "+id) ||
		!strings.Contains(m.must("desk", "batch", "list"), id) {
		m.t.Errorf("of what is not old, or would be removed, it says %s", text)
	}
	text = m.must("desk", "queue", "gc", "--older-than", "1ms")
	if !strings.Contains(text, "removed 1 batch and 4 journals") {
		m.t.Errorf("what is over is removed: %s", text)
	}
	if text := m.must("desk", "batch", "list"); strings.Contains(text, id) {
		m.t.Errorf("it is still listed: %s", text)
	}
}

// requireFollowed looks at the events of a job's run from a home that has none of it.
func (m *fleet) requireFollowed(id string) {
	m.t.Helper()
	run := string(readReport(m.t, m.start("home", "batch", "report", id, "--json", "--queue", m.url)).Jobs[0].Run)
	all := m.must("desk", "show", run, "--events", "--json")
	followed := m.must("desk", "show", run[len(run)-8:], "--events", "--follow", "--after", "1", "--json")
	first, rest, _ := strings.Cut(all, "\n")
	if !strings.Contains(first, `"run_start"`) || !strings.Contains(rest, `"run_end"`) || followed != rest {
		m.t.Errorf("it shows %d bytes, begins with\n%.300s\nand follows\n%.300s", len(all), all, followed)
	}
	for want, args := range map[string][]string{
		"show RUN --events":          {"show", run},
		"no job in the queue has":    {"show", "--events", "01NONE"},
		"--after cannot be negative": {"show", "--events", run, "--after", "-1"},
		"--otlp: not with --queue":   {"show", "--events", run, "--otlp", "http://localhost"},
	} {
		if text, err := m.run("desk", args...); err == nil || !strings.Contains(text, want) {
			m.t.Errorf("%v: %v\n%s", args, err, text)
		}
	}
}

// requireServed looks at a batch of the queue on the page's API, beside those of a home.
func (m *fleet) requireServed(id string) {
	m.t.Helper()
	s := beginServing(m.t, m.start("desk", "serve", "--json", "--repo", m.repo, "--queue", m.url))
	var all []batches.Batch
	var one batches.Standing
	for path, into := range map[string]any{"/batches": &all, "/batches/" + id: &one} {
		got := s.send(http.MethodGet, path, "")
		if err := json.NewDecoder(got.Body).Decode(into); err != nil {
			m.t.Fatal(err)
		}
		_ = got.Body.Close()
	}
	if len(all) != 1 || all[0].ID != id || all[0].State != batches.Done || all[0].Counts[batch.JobDone] != 4 {
		m.t.Errorf("its batches are %+v", all)
	}
	if len(one.Jobs) != 4 || !strings.HasPrefix(one.Jobs[0].Published.Label(), "https://") || one.Jobs[0].Worker == "" {
		m.t.Errorf("the batch is %+v", one)
	}
	if got := s.send(http.MethodPost, "/batches/"+id+"/cancel", "{}"); got.StatusCode != http.StatusOK {
		m.t.Errorf("to cancel what is left is answered with %s", got.Status)
	}
}

// runsOf are the runs of the jobs of a batch that are approved or wait, by job.
func (m *fleet) runsOf(id string) (all string) {
	m.t.Helper()
	report := readReport(m.t, m.start("home", "batch", "report", id, "--json", "--queue", m.url))
	for _, j := range report.Jobs {
		all += fmt.Sprintf("%s=%s ", j.ID, j.Run)
		if !j.Approved() && j.Parked == "" {
			m.t.Errorf("%s is %s: %s", j.ID, j.Status(), j.Why)
		}
	}
	return all
}

// publish publishes the four jobs of a batch from two homes at once.
func (m *fleet) publish(id string) {
	t := m.t
	t.Helper()
	log := filepath.Join(m.dir, "published")
	command := `test "$(cat greet.sh)" = "echo hullo" && grep -q hello "$PLAN_TREE/greet.sh" &&
		git push -q origin "$PLAN_BRANCH" && test -s "$PLAN_BODY_FILE" && test "$PLAN_BASE" = main &&
		echo "$PLAN_JOB $PLAN_COMMIT $PLAN_VAR_N" >> ` + log + ` && echo https://example.org/$PLAN_JOB`
	if text := m.must("desk", "batch", "publish", id, "--publish", command, "--dry-run"); !strings.Contains(text, "would be published") {
		t.Errorf("a dry run says %s", text)
	}
	var both sync.WaitGroup
	for _, home := range []string{"desk", "other"} {
		both.Go(func() { m.must(home, "batch", "publish", id, "--publish", command, "--interval", "0s") })
	}
	both.Wait()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		job := fmt.Sprint("job-", i)
		branch := "plan/" + strings.ToLower(id) + "/" + job
		commit := strings.TrimSpace(gittest.Git(t, m.repo, "rev-parse", branch))
		if n := strings.Count(string(text), fmt.Sprintf("%s %s %d\n", job, commit, i)); n != 1 {
			t.Errorf("%s was published %d times:\n%s", job, n, text)
		}
		if to := gittest.Git(t, m.repo, "show", branch+":greet.sh"); to != "echo hello" {
			t.Errorf("greet.sh of %s says %q", branch, to)
		}
	}
	if text := m.must("other", "batch", "publish", id, "--publish", command); strings.Count(text, "not again") != 4 {
		t.Errorf("once more, it says\n%s", text)
	}
	if text := m.must("home", "batch", "report", id); !strings.Contains(text, "https://example.org/job-3") {
		t.Errorf("the report lacks what was published:\n%s", text)
	}
}
