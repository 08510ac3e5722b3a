package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// ground is a work tree of a few files. It stands in for git: as snapshots, it
// names trees by what they hold.
type ground struct {
	files  map[string]engine.File
	head   string
	kept   map[string]map[string]engine.File
	look   error
	labels []string
}

func newGround(names ...string) *ground {
	g := &ground{files: map[string]engine.File{}, kept: map[string]map[string]engine.File{}, head: "c1"}
	for _, n := range names {
		g.files[n] = engine.File{Hash: n + "-1"}
	}
	return g
}

func (g *ground) write(name, hash string, at time.Time) {
	if hash == "" {
		delete(g.files, name)
		return
	}
	g.files[name] = engine.File{Hash: hash, Written: at}
}

func (g *ground) tree() string {
	var parts []string
	for _, n := range slices.Sorted(maps.Keys(g.files)) {
		parts = append(parts, n+"="+g.files[n].Hash)
	}
	id := strings.Join(parts, ",")
	g.kept[id] = maps.Clone(g.files)
	return id
}

func (g *ground) Look(context.Context) (tree, head string, err error) {
	return g.tree(), g.head, g.look
}

func (g *ground) Changed(_ context.Context, from, to string) ([]string, error) {
	var out []string
	for n := range maps.Keys(merged(g.kept[from], g.kept[to])) {
		if g.kept[from][n].Hash != g.kept[to][n].Hash {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

func merged(a, b map[string]engine.File) map[string]engine.File {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func (g *ground) Files(_ context.Context, paths []string) (map[string]engine.File, error) {
	out := map[string]engine.File{}
	for _, p := range paths {
		out[p] = g.files[p]
	}
	return out, nil
}

func (g *ground) Snapshot(_ context.Context, run plan.RunID, label string) (plan.Snapshot, error) {
	g.labels = append(g.labels, label)
	return plan.Snapshot{Label: label, Tree: g.tree(), Ref: "refs/plan/" + string(run) + "/" + label}, nil
}

func (g *ground) Diff(context.Context, string, string) (string, error) { return "", nil }

func (g *ground) Stat(context.Context, string, string) (plan.DiffStat, error) {
	return plan.DiffStat{}, nil
}

// onGround sets a run up that works on a tree of files.
func onGround(t *testing.T) (*bench, *ground) {
	t.Helper()
	b := setup(t)
	g := newGround("a.go", "b.go")
	b.ground = g
	b.cfg.TreeWatcher = g
	return b, g
}

// stand drives the run until it stops in a phase: parked for a limit there, or
// killed while its model is asked.
func stand(b *bench, p plan.Phase, killed bool) {
	b.t.Helper()
	b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
		if br.Phase != p {
			return nil, nil
		}
		if killed {
			b.j.fail = func(int, []plan.Event) (bool, error) { return false, errKilled }
			return nil, errKilled
		}
		return &plan.Parked{Reason: plan.ParkLimit}, nil
	}
	if _, err := b.drive(context.Background()); killed != (err != nil) {
		b.t.Fatalf("it stopped with %v", err)
	}
	b.crew.during, b.j = nil, nil
}

// TestDriftParks: in whatever phase the tree is changed, the run says what
// changed, and does nothing until a person chooses.
func TestDriftParks(t *testing.T) {
	t.Parallel()
	for _, p := range workers {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s killed=%t", p, killed), func(t *testing.T) {
				t.Parallel()
				b, g := onGround(t)
				stand(b, p, killed)
				before := len(b.crew.briefs)
				g.write("b.go", "b.go-2", time.Time{})
				g.write("c.go", "c.go-1", time.Time{})
				for range 2 {
					end := b.finish()
					if end.Parked == nil || end.Parked.Reason != plan.ParkDrift || end.ExitCode != 5 || end.State != stateOf(p) {
						t.Fatalf("ended with %+v", end)
					}
					if diff := cmp.Diff([]string{"b.go", "c.go"}, end.Parked.Drift.Files); diff != "" {
						t.Error(diff)
					}
				}
				if len(b.crew.briefs) != before {
					t.Error("a phase ran on a tree that nobody accepted")
				}
				b.cfg.OnDrift = engine.DriftGoesOn
				if end := b.finish(); end.State != plan.Approved {
					t.Fatalf("accepted, it ended with %+v", end)
				}
				sound(t, b.events(), true)
				if n := b.count(plan.TypeDrift); n != 1 {
					t.Errorf("%d drift events", n)
				}
				for _, br := range b.crew.briefs[before+1:] {
					if br.Notice != "" && !killed { // a killed model call is answered first
						t.Errorf("%s is told again", br.Phase)
					}
				}
				notice := b.crew.briefs[before].Notice
				if !strings.Contains(notice, `"b.go"`) || !strings.Contains(notice, `"c.go"`) {
					t.Errorf("the phase is told %q", notice)
				}
			})
		}
	}
}

// TestItsOwnWorkIsNoDrift: what a killed Implement left in the tree is told
// from what others did since.
func TestItsOwnWorkIsNoDrift(t *testing.T) {
	t.Parallel()
	later := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	earlier := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(path string) plan.ToolStart {
		return plan.ToolStart{Call: "x", Name: "write", Args: []byte(fmt.Sprintf(`{"path":%q}`, path)), Effect: plan.EffectVerifiable}
	}
	shell := plan.ToolStart{Call: "x", Name: "bash", Args: []byte(`{"command":"make"}`), Effect: plan.EffectUnknown}
	done := func(files map[string]string) plan.ToolEnd { return plan.ToolEnd{Call: "x", Files: files} }
	for _, c := range []struct {
		name   string
		bodies []plan.Body // of the killed process
		change func(g *ground)
		want   []string // files that drifted
	}{
		{"a write that ended", []plan.Body{write("a.go"), done(map[string]string{"a.go": "a.go-2"})}, func(g *ground) { g.write("a.go", "a.go-2", later) }, nil},
		{"and was written over since", []plan.Body{write("a.go"), done(map[string]string{"a.go": "a.go-2"})}, func(g *ground) { g.write("a.go", "a.go-3", later) }, []string{"a.go"}},
		{"a file that was removed", []plan.Body{write("a.go"), done(map[string]string{"a.go": ""})}, func(g *ground) { g.write("a.go", "", later) }, nil},
		{"a write that was cut off", []plan.Body{write("a.go")}, func(g *ground) { g.write("a.go", "a.go-2", later) }, nil},
		{"which is another file", []plan.Body{write("b.go")}, func(g *ground) { g.write("a.go", "a.go-2", later) }, []string{"a.go"}},
		{"a command that was cut off", []plan.Body{shell}, func(g *ground) { g.write("a.go", "a.go-2", later) }, nil},
		{"a patch that was cut off", []plan.Body{plan.ToolStart{Call: "x", Name: "apply_patch", Args: []byte(`{"patch":"…"}`), Effect: plan.EffectVerifiable}}, func(g *ground) { g.write("a.go", "a.go-2", later) }, nil},
		{"a command that ended", []plan.Body{shell, done(nil)}, func(g *ground) { g.write("a.go", "a.go-2", earlier) }, nil},
		{"and a file written after it", []plan.Body{shell, done(nil)}, func(g *ground) { g.write("a.go", "a.go-2", later) }, []string{"a.go"}},
		{"a command and a file that is gone", []plan.Body{shell, done(nil)}, func(g *ground) { g.write("a.go", "", later) }, nil},
		{"nothing but reading", []plan.Body{plan.ToolStart{Call: "x", Name: "read", Args: []byte(`{"path":"a.go"}`), Effect: plan.EffectReplay}}, func(g *ground) { g.write("a.go", "a.go-2", earlier) }, []string{"a.go"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, g := onGround(t)
			stand(b, plan.Implement, true)
			eng, release := b.process()
			run := eng.State()
			for i, body := range c.bodies {
				run.Apply(plan.Event{Run: b.id, Seq: run.Head + int64(i) + 1, Time: run.Last, Conv: "c3", Phase: plan.Implement, Attempt: 1, Body: body})
			}
			c.change(g)
			b.j.fail = func(int, []plan.Event) (bool, error) { return false, errKilled } // it must not go on here
			var parked plan.Parked
			b.j.fail = func(_ int, events []plan.Event) (bool, error) {
				if p, ok := events[len(events)-1].Body.(plan.Parked); ok {
					parked = p
				}
				return false, errKilled
			}
			_, err := eng.Run(context.Background())
			release()
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			var got []string
			if parked.Drift != nil {
				got = parked.Drift.Files
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAParkedRunRemembersTheTree: what an Implement did until it parked is its
// own, also where it is not known how it did it.
func TestAParkedRunRemembersTheTree(t *testing.T) {
	t.Parallel()
	b, g := onGround(t)
	b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
		if br.Phase != plan.Implement {
			return nil, nil
		}
		g.write("a.go", "a.go-2", time.Time{})
		return &plan.Parked{Reason: plan.ParkQuestion}, nil
	}
	b.finish()
	b.crew.during = nil
	if !slices.Contains(g.labels, "parked-1") {
		t.Fatalf("snapshots are %v", g.labels)
	}
	if end := b.finish(); end.State != plan.Approved {
		t.Fatalf("ended with %+v", end)
	}
	if n := b.count(plan.TypeDrift); n != 0 {
		t.Error("it takes its own work for somebody else's")
	}
	sound(t, b.events(), true)
}

// TestADriftDoesNotSwallowItself: a process that is stopped before a person
// chose must not take the changed tree for the run's.
func TestADriftDoesNotSwallowItself(t *testing.T) {
	t.Parallel()
	b, g := onGround(t)
	stand(b, plan.Implement, true)
	g.write("b.go", "b.go-2", time.Time{})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(engine.ErrInterrupted)
	if end, err := b.drive(ctx); err != nil || end.Parked.Reason != plan.ParkInterrupted {
		t.Fatalf("ended with %+v, %v", end, err)
	}
	if end := b.finish(); end.Parked == nil || end.Parked.Reason != plan.ParkDrift {
		t.Fatalf("ended with %+v", end)
	}
}

// TestATreeThatCannotBeSeen keeps the run as it is, and says why.
func TestATreeThatCannotBeSeen(t *testing.T) {
	t.Parallel()
	b, g := onGround(t)
	stand(b, plan.Implement, true)
	g.look = errDisk
	before := len(b.crew.briefs)
	_, err := b.drive(context.Background())
	var outage *plan.Outage
	if !errors.As(err, &outage) || !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
	if len(b.crew.briefs) != before {
		t.Error("a phase ran on a tree that cannot be seen")
	}
	g.look = nil
	if end := b.finish(); end.State != plan.Approved {
		t.Errorf("ended with %+v", end)
	}
}

// TestADriftUnderAReview has the checks run again: they were about another tree.
func TestADriftUnderAReview(t *testing.T) {
	t.Parallel()
	b, g := onGround(t)
	b.cfg.OnDrift = engine.DriftGoesOn
	stand(b, plan.Review, false)
	g.write("b.go", "b.go-2", time.Time{})
	if end := b.finish(); end.State != plan.Approved {
		t.Fatalf("ended with %+v", end)
	}
	if n := b.count(plan.TypeCheckEnd); n != 3 {
		t.Errorf("%d checks ran, want a baseline, one before the drift and one after", n)
	}
	sound(t, b.events(), true)
}

// TestADriftKeepsWhatThePersonIsAsked: a question that waits does not get lost
// behind a changed tree.
func TestADriftKeepsWhatThePersonIsAsked(t *testing.T) {
	t.Parallel()
	b, g := onGround(t)
	asked := []plan.WaitingCall{{Call: "x", Name: "ask", Question: "Which?"}}
	b.crew.during = func(context.Context, plan.Brief) (*plan.Parked, error) {
		return &plan.Parked{Reason: plan.ParkQuestion, Waiting: asked}, nil
	}
	b.finish()
	g.write("b.go", "b.go-2", time.Time{})
	end := b.finish()
	if end.Parked.Reason != plan.ParkDrift || !cmp.Equal(end.Parked.Waiting, asked) {
		t.Errorf("parked with %+v", end.Parked)
	}
}
