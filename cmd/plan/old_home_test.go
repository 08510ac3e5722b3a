package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/model/scripted"
)

// oldRun is a run in a home that an earlier program left.
type oldRun struct {
	title string
	state plan.State
	// parked is "" for a run that ended, or was killed.
	parked plan.ParkReason
	// person is what a person does before the run goes on: a command, and what
	// stands behind the id.
	person []string
	resume []string // flags
	after  string   // the command that brings the change to the repository
}

// sampledOldRuns is how many of them are gone on with in each home, where not all are.
const sampledOldRuns = 2

// sampledOldReads is how many of them are shown each time, where not all are.
const sampledOldReads = 4

// oldRuns are the runs that testdata/home-1/make.txtar makes, outside of its
// batch and without those that ended.
func oldRuns() []oldRun {
	return []oldRun{
		{title: "explore", state: plan.Exploring, parked: plan.ParkInterrupted},
		{title: "plan", state: plan.Planning, parked: plan.ParkRateLimit},
		{title: "implement", state: plan.Implementing, parked: plan.ParkLimit, resume: []string{"--max-turns", "50"}},
		{title: "review", state: plan.Reviewing, parked: plan.ParkInterrupted},
		{title: "worktree", state: plan.Implementing, parked: plan.ParkInterrupted, after: "apply"},
		{title: "question", state: plan.Implementing, parked: plan.ParkQuestion, person: []string{"answer", "hello"}},
		{title: "permit", state: plan.Implementing, parked: plan.ParkApproval, person: []string{"approve"}},
		{title: "approval", state: plan.Planning, parked: plan.ParkApproval, person: []string{"approve"}},
		{title: "killed_implement", state: plan.Implementing},
		{title: "killed_review", state: plan.Reviewing},
		{title: "fix", state: plan.Implementing, parked: plan.ParkInterrupted},
	}
}

// TestOldHome goes on with what earlier programs left in their homes: runs that
// stopped in every phase and way, and a batch under way. It is those programs'
// own databases, of their versions; see testdata/make-home.sh. What they
// have left is rewritten by gc alone: in one never, in one before and in one after all else.
func TestOldHome(t *testing.T) {
	t.Parallel()
	homes := []oldHomeCase{
		{"home-1", "", "never"},
		{"home-2", plan.ViewSnapshot, "first"}, // has contents that are not compressed
		{"home-3", plan.ViewSnapshot, "last"},  // has rows without sums
	}
	batches := sampling.Pick(sampling.New(t), 1, homes)
	for _, c := range homes {
		t.Run(c.home, func(t *testing.T) {
			t.Parallel()
			testOldHome(t, c, slices.Contains(batches, c))
		})
	}
}

// oldHomeCase is a home, the view that its runs began with, and when gc rewrites it.
type oldHomeCase struct{ home, view, gc string }

func testOldHome(t *testing.T, c oldHomeCase, goesOnWithBatch bool) {
	t.Helper()
	h := openOldHome(t, filepath.Join("testdata", c.home))
	h.view = c.view
	before := h.runs(16)
	for _, run := range oldRuns() {
		if got := before[run.title]; got.State != run.state || got.Parked != run.parked {
			t.Errorf("%s is %s, parked %q; want %s, %q", run.title, got.State, got.Parked, run.state, run.parked)
		}
	}
	h.readers(before)
	if c.gc == "first" {
		h.plan(plan.ExitOK, "gc", "--keep", "100")
		h.readers(before)
	}
	after := len(before)

	t.Run("resume", func(t *testing.T) {
		for _, run := range sampling.Pick(sampling.New(t), sampledOldRuns, oldRuns()) {
			t.Run(run.title, func(t *testing.T) {
				t.Parallel()
				h.on(t).goOn(run, before[run.title].ID)
			})
		}
		t.Run("ended", func(t *testing.T) {
			t.Parallel()
			h.on(t).ended(before)
		})
		if goesOnWithBatch {
			after++ // a job of it had not begun
			t.Run("batch", func(t *testing.T) {
				t.Parallel()
				h.on(t).batch(before)
			})
		}
	})
	h.readers(h.runs(after))
	if c.gc == "last" {
		h.plan(plan.ExitOK, "gc", "--keep", "100")
		h.readers(h.runs(after))
	}
}

// goOn does what the person has to, resumes the run, and looks at its end.
func (h oldHome) goOn(run oldRun, id plan.RunID) {
	was := h.journal(id)
	if len(run.person) > 0 {
		h.plan(plan.ExitOK, append([]string{run.person[0], string(id)}, run.person[1:]...)...)
	}
	h.plan(plan.ExitOK, append([]string{"resume", string(id)}, run.resume...)...)
	h.approved(id, was)
	if run.after != "" {
		h.plan(plan.ExitOK, run.after, string(id))
	}
	if got := h.greeter(run.title); got != "echo \"hello, $1\"\n" {
		h.t.Errorf("greet.sh holds %q", got)
	}
	if _, err := os.Stat(filepath.Join(h.dir, run.title, "junk")); errors.Is(err, fs.ErrNotExist) != (run.title == "permit") {
		h.t.Errorf("the folder that one run may remove: %v", err)
	}
}

// greeter is what greet.sh holds in a repository.
func (h oldHome) greeter(repo string) string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, repo, "greet.sh"))
	if err != nil {
		h.t.Error(err)
	}
	return string(data)
}

// ended looks at runs that had ended: they are final, and a change can still
// be taken back.
func (h oldHome) ended(before map[string]memory.RunInfo) {
	h.plan(plan.ExitOK, "resume", string(before["approved"].ID))
	h.plan(plan.ExitNotApproved, "resume", string(before["exhausted"].ID))
	h.plan(plan.ExitOK, "restore", string(before["approved"].ID), "--to", "start")
	if got := h.greeter("approved"); got != "echo \"hi, $1\"\n" {
		h.t.Errorf("restored, greet.sh holds %q", got)
	}
}

// batch goes on with the batch: one job was done, one asked, one was killed,
// one waited.
func (h oldHome) batch(before map[string]memory.RunInfo) {
	was := map[string][]plan.Event{}
	for _, job := range []string{"job_done", "job_asks", "job_killed"} {
		was[job] = h.journal(before[job].ID)
	}
	h.plan(plan.ExitOK, "answer", string(before["job_asks"].ID), "hello")
	out := h.plan(plan.ExitOK, "batch", "resume", "--concurrency", "2")
	if !strings.Contains(out, "4 done") {
		h.t.Errorf("the batch ends with:\n%s", out)
	}
	for title, info := range h.runs(17) {
		if strings.HasPrefix(title, "job_") {
			h.approved(info.ID, was[title])
		}
	}
	if got := h.journal(before["job_done"].ID); len(got) != len(was["job_done"]) {
		h.t.Errorf("the job that was done has %d events, had %d", len(got), len(was["job_done"]))
	}
}

// approved looks at a run that was resumed: its journal goes on from what it
// was, to the approval of a change that says hello.
func (h oldHome) approved(id plan.RunID, was []plan.Event) {
	var journal strings.Builder
	now := h.journal(id)
	for i, ev := range now {
		line := eventLine(h.t, ev)
		journal.WriteString(line + "\n")
		if i < len(was) && line != eventLine(h.t, was[i]) {
			h.t.Errorf("event %d is no longer what it was", i+1)
		}
	}
	if err := unbalanced(journal.String()); err != nil {
		h.t.Error(err)
	}
	if end, ok := now[len(now)-1].Body.(plan.RunEnd); !ok || end.Outcome != plan.Approved {
		h.t.Errorf("the journal ends with %s", eventLine(h.t, now[len(now)-1]))
	}
	if len(was) > 0 { // else it began after the program changed
		h.sameConversations(now)
		h.samePrompts(now)
		h.sameView(now)
	}
	if diff := h.plan(plan.ExitOK, "diff", string(id)); !strings.Contains(diff, "\n+echo \"hello, $1\"\n") {
		h.t.Errorf("the run's change is\n%s", diff)
	}
}

// readers are the commands that show old runs.
func (h oldHome) readers(runs map[string]memory.RunInfo) {
	list := h.plan(plan.ExitOK, "list")
	titles := slices.Sorted(maps.Keys(runs))
	for _, title := range titles {
		if id := string(runs[title].ID); !strings.Contains(list, id[len(id)-6:]+" ") {
			h.t.Errorf("the list has no run %s:\n%s", id, list)
		}
	}
	for _, title := range sampling.Pick(sampling.New(h.t), sampledOldReads, titles) {
		h.plan(plan.ExitOK, "show", string(runs[title].ID))
		h.plan(plan.ExitOK, "events", string(runs[title].ID))
	}
	h.plan(plan.ExitOK, "batch", "show")
	if out := h.plan(plan.ExitOK, "doctor", "--db"); !strings.Contains(out, fmt.Sprintf(": %d runs", len(runs))) {
		h.t.Errorf("doctor says %s", out)
	}
}

// oldHome is an unpacked home with its repositories, and a model that ends
// whatever run is resumed.
type oldHome struct {
	t      *testing.T
	dir    string
	env    []string
	server *scripted.Server
	view   string // that its runs began with
}

// on is the home for a test of its own.
func (h oldHome) on(t *testing.T) oldHome {
	h.t = t
	return h
}

func openOldHome(t *testing.T, fixture string) oldHome {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	unpack(t, filepath.Join(fixture, "home.tar.gz"), dir)
	relocate(t, dir)
	scenario, err := scripted.Load(filepath.Join(fixture, "run.toml"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := scripted.Start(context.WithoutCancel(t.Context()), scenario, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	env := append(
		os.Environ(),
		"HOME="+dir, "PLAN_HOME="+filepath.Join(dir, "home"), "XDG_DATA_HOME=", "TMPDIR="+t.TempDir(),
		"OPENAI_BASE_URL="+server.URL(), "OPENAI_API_KEY="+server.Key(), "PLAN_MODEL="+scripted.Model,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "LANG=C.UTF-8", "NO_COLOR=1",
		"GORACE=atexit_sleep_ms=0",
	)
	return oldHome{t: t, dir: dir, env: env, server: server}
}

// plan runs this program on the home, and returns what it said.
func (h oldHome) plan(code int, args ...string) string {
	h.t.Helper()
	cmd := exec.Command(program(h.t), args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		h.t.Errorf("plan %v: %v, want exit code %d\n%s", args, err, code, out)
	}
	return string(out)
}

// open opens the database with this program.
func (h oldHome) open() *memory.DB {
	h.t.Helper()
	db, err := memory.Open(h.t.Context(), memory.Config{Path: filepath.Join(h.dir, "home", "plan.db")})
	if err != nil {
		h.t.Fatal(err)
	}
	return db
}

// runs are the runs by their titles; those of a batch by their jobs.
func (h oldHome) runs(want int) map[string]memory.RunInfo {
	h.t.Helper()
	db := h.open()
	defer db.Close()
	list, err := db.Runs(h.t.Context(), memory.Filter{})
	if err != nil || len(list) != want {
		h.t.Fatalf("%d runs, want %d: %v", len(list), want, err)
	}
	out := map[string]memory.RunInfo{}
	for _, info := range list {
		title, _, _ := strings.Cut(info.Title, ":")
		out[title] = info
	}
	return out
}

func (h oldHome) journal(id plan.RunID) []plan.Event {
	h.t.Helper()
	db := h.open()
	defer db.Close()
	events, err := db.ReadAll(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return events
}
