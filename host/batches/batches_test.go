package batches_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

// world is a repository, a home and a scripted model server.
type world struct {
	*hosttest.World
	host *host.Host
}

// newWorld makes one, with a greet.sh that says hullo.
func newWorld() *world {
	made, err := hosttest.Make(hosttest.Greet)
	if err != nil {
		log.Fatal(err)
	}
	return &world{
		World: made,
		host:  host.New(made.Config),
	}
}

func (w *world) close() {
	if err := errors.Join(w.host.Close(), w.Close()); err != nil {
		log.Fatal(err)
	}
}

func (w *world) job(id, request string) batch.Job {
	return batch.Job{
		ID:      id,
		Repo:    w.Repo,
		Request: request,
	}
}

// Two jobs of one repository, side by side, and what came of them.
func ExampleBatches_Drive() {
	world := newWorld()
	defer world.close()
	ctx := context.Background()
	b := batches.New(world.host)

	id, err := b.Add(ctx, batches.NewBatch{
		Name: "an example",
		Jobs: []batch.Job{
			world.job("one", "Make greet.sh say hello"),
			world.job("two", "Make greet.sh say hello, please"),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := b.Drive(ctx, id, host.Options{}, batches.View{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Batch.State, out.Batch.Counts, out.ExitCode())

	report, err := b.Report(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range report.Jobs {
		fmt.Println(l.ID, l.Outcome, l.Stat.Files, l.Verdict)
	}
	// Output:
	// done map[done:2] 0
	// one approved 1 DONE
	// two approved 1 DONE
}

// The same jobs are not begun twice, unless that is wanted.
func ExampleBatches_Add() {
	world := newWorld()
	defer world.close()
	ctx := context.Background()
	b := batches.New(world.host)

	jobs := batches.NewBatch{Jobs: []batch.Job{world.job("one", "Make greet.sh say hello")}}
	first, err := b.Add(ctx, jobs)
	if err != nil {
		log.Fatal(err)
	}
	_, err = b.Add(ctx, jobs)
	var same *batches.SameJobsError
	fmt.Println(errors.As(err, &same) && same.Batch.ID == first, same.Batch.State)

	jobs.Again = true
	second, err := b.Add(ctx, jobs)
	fmt.Println(second != first, err)
	// Output:
	// true open
	// true <nil>
}

// One job is planned, a person looks, and only then the others begin.
func ExampleBatches_Decide() {
	world := newWorld()
	defer world.close()
	ctx := context.Background()
	b := batches.New(world.host)

	id, err := b.Add(ctx, batches.NewBatch{
		Jobs: []batch.Job{
			world.job("one", "Make greet.sh say hello"),
			world.job("two", "Make greet.sh say hello, please"),
		},
		Settings: batches.Settings{PlanJob: "one"},
	})
	if err != nil {
		log.Fatal(err)
	}
	out, err := b.Drive(ctx, id, host.Options{}, batches.View{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Batch.Plan.Job, out.Batch.Plan.Parked, out.Batch.Counts, out.ExitCode())

	if _, err := b.Decide(ctx, id, host.Decision{Approve: true}); err != nil {
		log.Fatal(err)
	}
	if _, err := b.Resume(ctx, id, nil); err != nil {
		log.Fatal(err)
	}
	out, err = b.Drive(ctx, id, host.Options{}, batches.View{})
	fmt.Println(out.Batch.Counts, out.ExitCode(), err)
	// Output:
	// one approval map[parked:1 queued:1] 4
	// map[done:2] 0 <nil>
}

// TestAJobWhoseRunWentOn: what a person answered in the run itself is seen in the batch,
// which takes it over when it is resumed.
func TestAJobWhoseRunWentOn(t *testing.T) {
	t.Parallel()
	world := newWorld()
	defer world.close()
	b := batches.New(world.host)
	id, err := b.Add(t.Context(), batches.NewBatch{
		Jobs: []batch.Job{
			world.job("one", "Make greet.sh say hello"),
			world.job("two", "Make greet.sh say hello, please"),
		},
		Settings: batches.Settings{PlanJob: "one"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Drive(t.Context(), id, host.Options{}, batches.View{}); err != nil {
		t.Fatal(err)
	}
	first := func() batches.Job {
		t.Helper()
		out, err := b.Show(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return out.Jobs[0]
	}
	if j := first(); j.Parked != plan.ParkApproval || strings.Contains(j.Why, "gone on") {
		t.Errorf("at first: %+v", j.Result)
	}
	if _, err := b.Decide(t.Context(), id, host.Decision{Approve: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := world.host.Resume(t.Context(), first().Run, host.Options{}, host.Face{}); err != nil {
		t.Fatal(err)
	}
	if j := first(); j.State != batch.JobParked || j.Parked != "" || !strings.Contains(j.Why, "is approved") {
		t.Errorf("its run has ended, and it says %+v", j.Result)
	}
}

func TestExitCodeSaysWhetherAllWasApproved(t *testing.T) {
	t.Parallel()
	for want, out := range map[int]batches.Outcome{
		plan.ExitOK:          {Stopped: engine.ErrInterrupted},
		plan.ExitInterrupted: {Stopped: engine.ErrInterrupted, Batch: exits(plan.ExitWaiting)},
		plan.ExitNotApproved: {Stopped: &batch.BudgetError{}, Batch: exits(plan.ExitNotApproved)},
		plan.ExitWaiting:     {Batch: exits(plan.ExitWaiting)},
	} {
		if got := out.ExitCode(); got != want {
			t.Errorf("%+v ends with %d, want %d", out, got, want)
		}
	}
}

func exits(code int) batches.Standing {
	return batches.Standing{Batch: batches.Batch{ExitCode: code}}
}

func TestThePlanJobIsOneOfSeveral(t *testing.T) {
	t.Parallel()
	two := []batch.Job{{ID: "one"}, {ID: "two"}}
	for _, c := range []struct {
		jobs   []batch.Job
		shared bool
		named  string
		want   string
		wrong  bool
	}{
		{jobs: two},
		{jobs: two, shared: true, want: "one"},
		{jobs: two, shared: true, named: "two", want: "two"},
		{jobs: two, shared: true, named: "three", wrong: true},
		{jobs: two, named: "two", wrong: true},
		{jobs: two[:1], shared: true, wrong: true},
	} {
		got, err := batches.ChoosePlanJob(c.jobs, c.shared, c.named)
		var misuse *hint.Misuse
		if got != c.want || errors.As(err, &misuse) != c.wrong {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
