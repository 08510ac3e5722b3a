package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/model/scripted"
)

// killRange is where processes are killed: the program, a repository to copy,
// and a model that says the same to every run.
type killRange struct {
	t      *testing.T
	dir    string
	binary string
	repo   string
	url    string
	key    string
	gitEnv []string

	want killed // what comes of a run that is not killed
	took time.Duration
}

// killed is what a run comes to, killed or not.
type killed struct {
	code   int               // the exit code of the process that ended it
	tree   map[string]string // content and mode by path, without what git ignores
	diff   string            // git diff, new files included
	refs   string            // the run's snapshots that were kept
	events []plan.Event      // normalised
	side   int               // how often the side effect took place
	lost   bool              // the outcome of the side effect was not known
}

func newKillRange(t *testing.T, file string) *killRange {
	t.Helper()
	r := &killRange{
		t:      t,
		dir:    t.TempDir(),
		binary: program(t),
	}
	scenario, err := scripted.Load("testdata/kill/" + file)
	if err != nil {
		t.Fatal(err)
	}
	server, err := scripted.Start(context.Background(), scenario, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	r.url, r.key = server.URL(), server.Key()
	r.gitEnv = []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=@1700000000 +0000",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=@1700000000 +0000",
	}
	r.repo = filepath.Join(r.dir, "repo")
	if err := os.CopyFS(r.repo, os.DirFS("testdata/kill/repo")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.repo, ".gitignore"), []byte("side.log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		r.command(t.Context(), r.repo, "git", args...)
	}
	return r
}

// command runs a command that must succeed, and returns its output.
func (r *killRange) command(ctx context.Context, dir, name string, args ...string) string {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), r.gitEnv...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// place is one repository and one home.
type place struct {
	*killRange
	dir string
}

func (r *killRange) newPlace(name string) (place, error) {
	p := place{r, filepath.Join(r.dir, name)}
	return p, os.CopyFS(p.repoDir(), os.DirFS(r.repo))
}

func (p place) repoDir() string { return filepath.Join(p.dir, "repo") }

// forget removes the place, unless there is something to look at.
func (p place) forget() {
	if !p.t.Failed() {
		_ = os.RemoveAll(p.dir)
	}
}

// start runs plan so that it kills itself at the n-th failpoint, 0 for never,
// or is killed once the time is up. It returns the exit code, -1 if it was
// killed.
func (p place) start(n int, after time.Duration, args ...string) (int, string) {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(after, time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, p.binary, append([]string{"-C", p.repoDir()}, args...)...)
	cmd.Env = append(p.env(), fmt.Sprintf("PLAN_FAILPOINT=%d", n), "PLAN_FAILPOINT_LOG="+p.pointsFile(len(p.pointsOfEach())))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, out.String()
	case errors.As(err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return -1, out.String()
		}
		return exit.ExitCode(), out.String()
	case after > 0 && errors.Is(err, context.DeadlineExceeded):
		return -1, "" // its time was up before it began
	}
	p.t.Errorf("start plan: %v", err)
	return 1, out.String()
}

// env is the environment of programs here.
func (p place) env() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "PLAN_HOME=" + filepath.Join(p.dir, "home"), "TMPDIR=" + p.dir,
		"OPENAI_BASE_URL=" + p.url, "OPENAI_API_KEY=" + p.key, "PLAN_MODEL=" + scripted.Model, "LANG=C.UTF-8",
	}, p.gitEnv...)
}

func (p place) run(n int, after time.Duration) (int, string) {
	return p.start(n, after, "run", "--check", "sh check.sh", "Count in digits")
}

// goOn resumes the run, or starts it if it had no event yet.
func (p place) goOn(n int, after time.Duration) (int, string) {
	runs := p.runs()
	if len(runs) == 0 {
		return p.run(n, after)
	}
	return p.start(n, after, "resume", string(runs[0][0].Run))
}

// pointsFile holds the failpoints that the n-th process here has come by.
func (p place) pointsFile(n int) string { return filepath.Join(p.dir, fmt.Sprintf("points-%d", n)) }

// pointsOfEach are the failpoints that each process here has come by, without
// processes that came by none.
func (p place) pointsOfEach() [][]string {
	var out [][]string
	for {
		data, err := os.ReadFile(p.pointsFile(len(out)))
		if err != nil {
			return out
		}
		out = append(out, strings.Split(strings.TrimSpace(string(data)), "\n"))
	}
}

// runs are the journals in this place's database.
func (p place) runs() [][]plan.Event {
	path := filepath.Join(p.dir, "home", "plan.db")
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	ctx := context.Background()
	db, err := memory.Open(ctx, memory.Config{Path: path})
	if err != nil {
		p.t.Error(err)
		return nil
	}
	defer db.Close()
	infos, err := db.Runs(ctx, memory.Filter{})
	if err != nil {
		p.t.Error(err)
	}
	var out [][]plan.Event
	for _, info := range infos {
		var events []plan.Event
		for ev, err := range db.Events(ctx, info.ID, memory.Query{}) {
			if err != nil {
				p.t.Error(err)
			}
			events = append(events, ev)
		}
		out = append(out, events)
	}
	return out
}

// outcome collects what the run here has come to.
func (p place) outcome(code int) (killed, error) {
	out := killed{code: code, tree: map[string]string{}}
	runs := p.runs()
	if len(runs) != 1 {
		return out, fmt.Errorf("%d runs, want one", len(runs))
	}
	var err error
	if out.events, out.lost, err = p.normal(runs[0]); err != nil {
		return out, err
	}
	side, err := os.ReadFile(filepath.Join(p.repoDir(), "side.log"))
	if err != nil && !os.IsNotExist(err) {
		return out, err
	}
	out.side = bytes.Count(side, []byte("\n"))
	ctx := context.Background()
	out.refs = p.command(ctx, p.repoDir(), "git", "for-each-ref", "--format=%(refname:lstrip=3) %(tree)", "refs/plan/"+string(runs[0][0].Run))
	p.command(ctx, p.repoDir(), "git", "add", "-A", "-N")
	out.diff = p.command(ctx, p.repoDir(), "git", "diff", "--full-index", "HEAD")
	err = filepath.WalkDir(p.repoDir(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || d.Name() == "side.log":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		out.tree[strings.TrimPrefix(path, p.repoDir())] = info.Mode().String() + " " + string(data)
		return err
	})
	return out, err
}

// normal is a journal without what differs between any two runs: ids, times,
// places. A model call that was cut off is made again and says so; that is the
// one event which a killed run has more, but for that another machine took it up. Lost says that the outcome of the
// command was not known; what the model read of it differs then, and nothing
// else.
func (p place) normal(events []plan.Event, elsewhere ...string) (_ []plan.Event, lost bool, err error) {
	for i, ev := range events {
		if ev.Seq != int64(i+1) {
			return nil, false, fmt.Errorf("event %d has seq %d", i+1, ev.Seq)
		}
	}
	names := []string{string(events[0].Run), "RUN", p.dir, "PLACE"}
	for _, dir := range elsewhere {
		names = append(names, dir, "PLACE")
	}
	replace := strings.NewReplacer(names...)
	var out []plan.Event
	for _, ev := range events {
		if weighs(ev) { // how much of it is needed depends on what is known first
			continue
		}
		switch b := ev.Body.(type) {
		case plan.Retry:
			if b.Reason == "the run was resumed while the model was answering" {
				continue
			}
		case plan.SettingsChanged:
			if b.Machine != "" {
				continue
			}
		case plan.ToolStart:
			if b.Intent != nil {
				b.Intent.Key = "" // made of the run's id
			}
			ev.Body = b
		case plan.ToolEnd:
			if b.Name == "bash" && b.Status == "unknown" {
				lost = true
			}
			b.DurationMS = 0
			ev.Body = b
		case plan.CheckEnd:
			b.DurationMS = 0
			ev.Body = b
		}
		ev.Time, ev.Blobs, ev.Seq = time.Unix(0, 0), nil, int64(len(out)+1)
		line, err := ev.AppendJSON(nil)
		if err != nil {
			return nil, lost, err
		}
		var clean plan.Event
		if err := clean.UnmarshalJSON([]byte(replace.Replace(string(line)))); err != nil {
			return nil, lost, err
		}
		out = append(out, clean)
	}
	inCallOrder(out)
	return out, lost, nil
}

// inCallOrder sorts results that stand side by side: tools that run at the
// same time end in any order.
func inCallOrder(events []plan.Event) {
	for i := 0; i < len(events); i++ {
		j := i
		for j < len(events) && events[j].Type() == plan.TypeToolEnd {
			j++
		}
		slices.SortStableFunc(events[i:j], func(a, b plan.Event) int {
			return strings.Compare(a.Body.(plan.ToolEnd).Call, b.Body.(plan.ToolEnd).Call)
		})
		for k := i; k < j; k++ {
			events[k].Seq = int64(k + 1)
		}
		i = max(i, j-1)
	}
}

// withoutResult takes out of a journal what depends on what the model read of
// the command.
func withoutResult(events []plan.Event) []plan.Event {
	out := slices.Clone(events)
	for i, ev := range out {
		switch b := ev.Body.(type) {
		case plan.ToolEnd:
			if b.Name == "bash" {
				out[i].Body = plan.ToolEnd{Call: b.Call, Name: b.Name}
			}
		case plan.Request:
			out[i].Body = plan.Request{Model: b.Model, Messages: b.Messages, Moved: b.Moved}
		}
	}
	return out
}

// same says how a killed run differs from one that was not.
func (r *killRange) same(got killed) string {
	want := r.want
	switch {
	case got.side > 1:
		return fmt.Sprintf("the side effect took place %d times", got.side)
	case !got.lost && got.side != 1:
		return "the side effect never took place, and nobody knows"
	case got.lost:
		got.events, want.events = withoutResult(got.events), withoutResult(want.events)
	}
	got.side, got.lost = want.side, want.lost
	return got.differs(want)
}

// differs says how an outcome differs from another.
func (k killed) differs(want killed) string {
	return gocmp.Diff(want, k, gocmp.AllowUnexported(killed{}))
}

// weighs reports whether an event is of a run that was made to weigh a verdict.
func weighs(ev plan.Event) bool {
	start, _ := ev.Body.(plan.CheckStart)
	end, _ := ev.Body.(plan.CheckEnd)
	return start.Evidence != "" || end.Evidence != ""
}

// killTally counts what became of the processes that were killed.
type killTally struct {
	sync.Mutex
	killed, resumed, identical, anew int
	early                            int // came to their end before the failpoint
}

// spread is by how many failpoints two runs of the same may differ: results of
// tools that run at the same time share a commit or do not.
const spread = 5

// ended counts a process that was to be killed at one of so many failpoints, and
// came to its end. Only near the last one that is no error.
func (k *killTally) ended(t *testing.T, at, points int) {
	t.Helper()
	k.Lock()
	defer k.Unlock()
	k.early++
	if at <= points-spread {
		t.Errorf("a process that comes by %d failpoints was not killed at %d", points, at)
	}
}

// upTo is the numbers from 1 to n.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}
