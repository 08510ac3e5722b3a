package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/server"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/sampling"
)

// queueRange is a kill range whose runs are jobs of a queue: each is a batch of its own,
// with a queue of its own, which workers with homes of their own take from.
type queueRange struct{ *killRange }

// tryout is one job in a queue, and the workers that were given it.
type tryout struct {
	queueRange
	name    string
	store   *nats.Store
	url     string
	batch   string
	workers []place
}

// silence is how long a worker of these queues may be silent.
const silence = 500 * time.Millisecond

func (m queueRange) newTryout(name string) *tryout {
	m.t.Helper()
	dir := filepath.Join(m.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	srv, err := server.Serve(server.Config{Dir: filepath.Join(dir, "queue"), Token: "secret"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(srv.Close)
	store, err := nats.Open(m.t.Context(), nats.Config{
		URL:        srv.URL(),
		Token:      "secret",
		Lease:      silence,
		Deliveries: 9,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(store.Close)
	entries, err := batch.Entries([]batch.Job{{
		ID:       "count",
		Repo:     "file://" + m.repo,
		Request:  "Count in digits",
		Settings: config.Config{Checks: config.ChecksConfig{Required: []string{"sh check.sh"}}},
	}})
	if err != nil {
		m.t.Fatal(err)
	}
	id, err := store.Add(m.t.Context(), nats.Batch{ID: "B", Digest: "d"}, entries, false)
	if err != nil {
		m.t.Fatal(err)
	}
	return &tryout{
		queueRange: m,
		name:       name,
		store:      store,
		url:        srv.URL(),
		batch:      id,
	}
}

// worker starts another one, which kills itself at its n-th failpoint, 0 for never.
func (y *tryout) worker(n int) (place, *exec.Cmd) {
	y.t.Helper()
	p := place{y.killRange, filepath.Join(y.dir, fmt.Sprintf("%s-%d", y.name, len(y.workers)))}
	y.workers = append(y.workers, p)
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		y.t.Fatal(err)
	}
	cmd := exec.CommandContext(y.t.Context(), y.binary, "-C", p.dir, "worker", "--queue", y.url, "--concurrency", "1",
		"--repo", "file://")
	cmd.Env = append(p.env(), "PLAN_QUEUE_TOKEN=secret", fmt.Sprintf("PLAN_FAILPOINT=%d", n),
		"PLAN_FAILPOINT_LOG="+p.pointsFile(0))
	out, err := os.Create(p.said())
	if err == nil {
		cmd.Stdout, cmd.Stderr = out, out
		err = errors.Join(cmd.Start(), out.Close())
	}
	if err != nil {
		y.t.Fatal(err)
	}
	return p, cmd
}

// said is the file of what the worker here says.
func (p place) said() string { return filepath.Join(p.dir, "said") }

// text is what all workers have said.
func (y *tryout) text() string {
	var all strings.Builder
	for _, p := range y.workers {
		said, _ := os.ReadFile(p.said())
		fmt.Fprintf(&all, "%s:\n%s\n", p.dir, said)
	}
	return all.String()
}

// job is how the job stands.
func (y *tryout) job() nats.Job {
	y.t.Helper()
	jobs, err := y.store.Jobs(y.t.Context(), y.batch)
	if err != nil || len(jobs) != 1 {
		y.t.Fatalf("%d jobs: %v", len(jobs), err)
	}
	return jobs[0]
}

// until waits for something, as long as a worker goes on.
func (y *tryout) until(cmd *exec.Cmd, what string, done func() bool) {
	y.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Minute); !done(); <-tick.C {
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			y.t.Fatalf("%s: %s did not come: %+v\n%s", y.name, what, y.job(), y.text())
		}
	}
}

// size is how many bytes the journal of the run takes in the queue.
func (y *tryout) size() (bytes int64) {
	y.t.Helper()
	err := filepath.WalkDir(filepath.Join(y.dir, y.name, "queue"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "PLAN_JOURNAL") || filepath.Ext(path) != ".blk" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		y.t.Error(err)
	}
	return bytes
}

// finish has a worker without failpoints bring the job to its end, and returns what came
// of it. Took is how long it was until it added its first event.
func (y *tryout) finish() (got killed, took time.Duration, err error) {
	y.t.Helper()
	began := time.Now()
	run := y.job().Run
	before, err := y.store.Lines(y.t.Context(), run, 0)
	if err != nil {
		y.t.Fatal(err)
	}
	p, cmd := y.worker(0)
	y.until(cmd, "an event", func() bool {
		run = y.job().Run
		now, err := y.store.Lines(y.t.Context(), run, len(before))
		return err == nil && len(now) > 0 || y.job().State == batch.JobDone || y.job().State == batch.JobFailed
	})
	took = time.Since(began)
	y.until(cmd, "the end", func() bool { return y.job().State != batch.JobRunning && y.job().State != batch.JobQueued })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		y.t.Error(err)
	}
	_ = cmd.Wait() // it was interrupted
	got, err = y.outcome(p)
	return got, took, err
}

// outcome is what a job has come to with its last worker.
func (y *tryout) outcome(p place) (out killed, err error) {
	j := y.job()
	if j.State != batch.JobDone {
		return out, fmt.Errorf("the job is %s: %s %+v", j.State, j.Result, j.Story)
	}
	runs := p.runs()
	if len(runs) != 1 {
		return out, fmt.Errorf("%d runs, want one", len(runs))
	}
	out.tree = map[string]string{}
	var elsewhere []string
	for _, w := range y.workers {
		elsewhere = append(elsewhere, w.dir)
		logs, err := filepath.Glob(filepath.Join(w.dir, "home", "worktrees", "*", "side.log"))
		if err != nil {
			return out, err
		}
		for _, log := range logs {
			side, err := os.ReadFile(log)
			if err != nil {
				return out, err
			}
			out.side += bytes.Count(side, []byte("\n"))
		}
	}
	if out.events, out.lost, err = p.normal(withoutTools(runs[0]), elsewhere...); err != nil {
		return out, err
	}
	kept, err := y.store.Lines(y.t.Context(), j.Run, 0)
	if err != nil || len(kept) != len(runs[0]) {
		return out, errors.Join(fmt.Errorf("%d events are in the queue, %d in the home", len(kept), len(runs[0])), err)
	}
	var result struct{ Report batch.JobReport }
	if err := json.Unmarshal(j.Result, &result); err != nil {
		return out, err
	}
	out.diff = result.Report.Diff
	clones, err := filepath.Glob(filepath.Join(p.dir, "home", "cache", "repos", "*"))
	if err != nil || len(clones) != 1 {
		return out, fmt.Errorf("%d clones, %w", len(clones), err)
	}
	for line := range strings.Lines(p.command(context.Background(), clones[0], "git", "for-each-ref",
		"--format=%(refname:lstrip=3) %(tree)", "refs/plan/"+string(j.Run))) {
		if !strings.HasPrefix(line, beforeWork) {
			out.refs += line
		}
	}
	tree := filepath.Join(p.dir, "home", "worktrees", string(j.Run))
	if _, err := os.Stat(tree); err != nil { // it was final when it came here
		return out, nil
	}
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".git" || d.Name() == "side.log" {
			return err
		}
		data, err := os.ReadFile(path)
		out.tree[strings.TrimPrefix(path, tree)] = string(data)
		return err
	})
	return out, err
}

// beforeWork is what labels begin with of snapshots that name the tools that a machine has
// before the work of an attempt.
const beforeWork = "before-implement-"

// withoutTools is a journal without what another machine looks at again: the files there
// that a check may run.
func withoutTools(events []plan.Event) (out []plan.Event) {
	for _, ev := range events {
		if s, ok := ev.Body.(plan.Snapshot); !ok || !strings.HasPrefix(s.Label, beforeWork) {
			ev.Seq = int64(len(out) + 1)
			out = append(out, ev)
		}
	}
	return out
}

// takenOver compares what came of a job with what came of one that no machine was lost of.
func (y *tryout) takenOver(got killed) string {
	if len(got.tree) == 0 {
		got.tree = y.want.tree
	}
	return y.same(got)
}

// TestARunOutlivesItsMachine kills the worker of a run before and after each of its
// appends and effects, as a machine that is lost: another one, with a home of its own,
// takes the run up from the queue and brings it to the same end: tree, diff, snapshots
// and journal, but for times and the machine. The sample has a few of the moments.
func TestARunOutlivesItsMachine(t *testing.T) {
	t.Parallel()
	m := queueRange{newKillRange(t, "scenario.toml")}
	whole := m.newTryout("whole")
	var err error
	if m.want, _, err = whole.finish(); err != nil || m.want.side != 1 || m.want.lost {
		t.Fatalf("%v %+v\n%s", err, m.want.side, whole.text())
	}
	points := whole.workers[0].pointsOfEach()[0]
	t.Logf("a whole run comes by %d failpoints, and takes %d KiB of the queue", len(points), whole.size()>>10)
	random := sampling.New(t)
	kills := upTo(len(points))
	if sampling.All() {
		for len(kills) < 200 {
			kills = append(kills, 1+random.IntN(len(points)))
		}
	} else {
		kills = sampling.PickEach(random, 1, kills, func(at int) string {
			switch at := points[at-1]; {
			case strings.Contains(at, "rename"), strings.Contains(at, "command"), strings.Contains(at, "snapshot"):
				return "effect"
			case strings.Contains(at, "part"), strings.Contains(at, "append"):
				return "append"
			}
			return ""
		})
	}
	var tally killTally
	var times []time.Duration
	each(kills, func(at int) {
		tally.Lock()
		name := fmt.Sprintf("at-%d-%d", at, len(times)+tally.killed+tally.early)
		tally.killed++
		tally.Unlock()
		y := m.newTryout(name)
		_, cmd := y.worker(at)
		gone := make(chan struct{})
		go func() { _ = cmd.Wait(); close(gone) }() // it is killed
		y.until(cmd, "its death", func() bool {
			select {
			case <-gone:
				return true
			default:
				return y.job().State == batch.JobDone
			}
		})
		if y.job().State == batch.JobDone {
			_ = cmd.Process.Kill()
			tally.ended(t, at, len(points))
			return
		}
		got, took, err := y.finish()
		diff := ""
		if err == nil {
			diff = y.takenOver(got)
		}
		tally.Lock()
		defer tally.Unlock()
		if err != nil || diff != "" {
			t.Errorf("killed at %d, %s (%s): %v\nthe run differs (-whole +taken over):\n%s\n%s",
				at, points[at-1], name, err, diff, y.text())
			return
		}
		tally.identical++
		times = append(times, took)
	})
	slices.Sort(times)
	if n := len(times); n > 0 {
		t.Logf("%d taken over, all identical: %d; from the start of the next worker to its first event: median %s, longest %s",
			tally.killed, tally.identical, times[n/2], times[n-1])
	}
}

// TestAnOldOwnerAppendsNothingMore: a worker that was stopped, and goes on when another
// one has taken its run up, adds nothing to the journal and changes no result.
func TestAnOldOwnerAppendsNothingMore(t *testing.T) {
	t.Parallel()
	m := queueRange{newKillRange(t, "scenario.toml")}
	y := m.newTryout("stopped")
	old, cmd := y.worker(0)
	y.until(cmd, "a plan", func() bool {
		run := y.job().Run
		lines, err := y.store.Lines(t.Context(), run, 0)
		return err == nil && slices.ContainsFunc(lines, func(line []byte) bool {
			return bytes.Contains(line, []byte(`"type":"plan"`))
		})
	})
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, _, err := y.finish(); err != nil {
		t.Fatalf("%v\n%s", err, y.text())
	}
	done := y.job()
	lines, err := y.store.Lines(t.Context(), done.Run, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	y.until(cmd, "that it stops", func() bool { return strings.Contains(y.text(), batch.ErrLeaseLost.Error()) })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was interrupted
	after, err := y.store.Lines(t.Context(), done.Run, 0)
	if err != nil || len(after) != len(lines) {
		t.Errorf("the journal had %d events and has %d, %v", len(lines), len(after), err)
	}
	if now := y.job(); now.Settled != done.Settled || now.State != batch.JobDone || now.Worker == "" {
		t.Errorf("the job was %+v and is %+v", done, now)
	}
	for _, events := range old.runs() {
		if len(events) > len(lines) {
			t.Errorf("the old owner has %d events, of %d", len(events), len(lines))
		}
	}
}
