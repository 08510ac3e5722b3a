package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/internal/gittest"
)

// TestAQueueAndItsWorkers: a batch is put into the queue of one home, run by workers in
// two others, and reported from the first. What serves the queue is killed meanwhile.
func TestAQueueAndItsWorkers(t *testing.T) {
	t.Parallel()
	m := newFleet(t)
	dir, repo, model := m.dir, m.repo, m.model
	serve := m.serve("127.0.0.1:0")
	start, run := m.start, m.run
	var jobs strings.Builder
	for i := range 2 {
		fmt.Fprintf(&jobs, `{"id":"good-%d","repo":"file://%s","request":"Make greet.sh say hello","checks":["sh greet.sh | grep -qx hello"]}`+"\n",
			i, repo)
	}
	fmt.Fprintf(&jobs, `{"id":"rare","repo":"file://%s","request":"x","needs":["nowhere"]}`+"\n", repo)
	fmt.Fprintf(&jobs, `{"id":"far","repo":"https://example.invalid/x.git","request":"x"}`+"\n")
	list := filepath.Join(dir, "jobs.jsonl")
	if err := os.WriteFile(list, []byte(jobs.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--sandbox: workers say that":     {"batch", "run", list, "--sandbox", "off"},
		"--limit: not there with --queue": {"batch", "run", list, "--limit", "1"},
	} {
		if text, err := run("home", args...); err == nil || !strings.Contains(text, want) {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
	}
	text, err := run("home", "batch", "run", list)
	if err != nil || !strings.Contains(text, "4 jobs queued") {
		t.Fatalf("%s %v", text, err)
	}
	id, _, _ := strings.Cut(text, ":")
	if text, err := run("home", "batch", "run", list); err == nil || !strings.Contains(text, "has the same jobs") {
		t.Errorf("%s %v", text, err)
	}
	if text, err := run("home", "batch", "retry", "--failed", "--model", "x"); err == nil ||
		!strings.Contains(text, "--model: not with --queue") {
		t.Errorf("%s %v", text, err)
	}
	small := filepath.Join(dir, "small.jsonl") // a batch that may use next to nothing
	line := fmt.Sprintf(`{"id":"small","repo":"file://%s","request":"Make greet.sh say hello"}`+"\n", repo)
	if err := os.WriteFile(small, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := run("home", "batch", "run", small, "--max-tokens", "1"); err != nil {
		t.Fatalf("%s %v", text, err)
	}
	type done struct {
		text string
		err  error
	}
	both := make(chan done)
	for i := range 2 {
		go func() {
			text, err := run(fmt.Sprint("worker-", i), "worker", "--drain", "--concurrency", "1", "--repo", "file://"+repo)
			both <- done{text, err}
		}()
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(model.Requests()) == 0 { // no job is under way yet
		<-tick.C
	}
	if err := serve.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = serve.Wait() // it was killed
	serve = m.serve(strings.TrimPrefix(m.url, "nats://"))
	told := ""
	for range 2 {
		d := <-both
		told += d.text
		if d.err != nil {
			t.Errorf("a worker ends with %v:\n%s", d.err, d.text)
		}
	}
	text, err = run("home", "batch", "retry", "--failed", "--max-tokens", "100000")
	if err != nil || !strings.Contains(text, "1 job queued again") {
		t.Errorf("a job of a batch with another budget: %s %v\n%s", text, err, told)
	}
	if !strings.Contains(told, "of 1 tokens") {
		t.Errorf("no budget was reached:\n%s", told)
	}
	report := readReport(t, start("home", "batch", "report", id, "--json", "--queue", m.url))
	for i, want := range []string{"", "", "waits for a worker that has a key for nowhere", "none of those that the worker takes"} {
		j := report.Jobs[i]
		switch {
		case want == "" && (!j.Approved() || !strings.Contains(j.Diff, "+echo hello")):
			t.Errorf("%s is %s: %s\n%s", j.ID, j.Status(), j.Why, told)
		case want != "" && (j.State != batch.JobFailed && j.ID != "rare" || !strings.Contains(j.Why, want)):
			t.Errorf("%s is %s: %s", j.ID, j.Status(), j.Why)
		}
	}
	if text, err := run("home", "batch", "export", id, "--patches", filepath.Join(dir, "out")); err != nil {
		t.Errorf("%s %v", text, err)
	}
	gittest.Git(t, repo, "apply", "--3way", filepath.Join(dir, "out", "good-0.patch"))
	token, err := os.ReadFile(m.tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	inURL := strings.Replace(m.url, "://", "://"+strings.TrimSpace(string(token))+"@", 1)
	out, _ := start("other", "batch", "status", id, "--queue", inURL).CombinedOutput() // not all are approved
	if text := string(out); !strings.Contains(text, "far") || !strings.Contains(text, "list of processes") {
		t.Errorf("with the token in the URL, status says %s", text)
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("interrupted, the queue ends with %v", err)
	}
}

// readReport runs a command that writes a report of four jobs as JSON.
func readReport(t *testing.T, cmd *exec.Cmd) (r batch.Report) {
	t.Helper()
	text, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || len(r.Jobs) != 4 {
		t.Fatalf("%s %v", text, err)
	}
	return r
}
