package background_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/background"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

// open is a repository, and a home whose model asks before it changes something.
func open(t *testing.T) (h *host.Host, repo string) {
	t.Helper()
	w := hosttest.New(t)
	h = host.New(w.Config)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, w.Repo
}

// TestALetterAtTheLastMoment: what comes when a run has parked, and is not let go of yet, is
// read all the same.
func TestALetterAtTheLastMoment(t *testing.T) {
	t.Parallel()
	h, repo := open(t)
	ended := make(chan error, 2)
	runs := background.New(t.Context(), h, background.Config{
		Most:  1,
		Ended: func(_ plan.RunID, err error) { ended <- err },
	})
	id, err := runs.Begin(host.Request{Dir: repo, Text: "Make greet.sh say hello. Ask first"})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	parked := make(chan bool)
	if begun, err := runs.Start(id, func(context.Context) error { // the last moment, which lasts
		<-parked
		return nil
	}); err != nil || !begun {
		t.Fatalf("%v, %v", begun, err)
	}
	if _, err := h.Tell(t.Context(), id, host.Letter{Text: "English"}); err != nil {
		t.Fatal(err)
	}
	if err := runs.GoOnWithMail(id, host.Options{}); err != nil {
		t.Fatal(err)
	}
	close(parked)
	<-ended
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	run, err := h.Standing(t.Context(), id, nil)
	if err != nil || run.State != plan.Approved {
		t.Errorf("it stands at %s, %v", run.State, err)
	}
	if err := runs.Await(t.Context(), id, time.Minute, func(plan.Event) {}); err != nil {
		t.Error(err)
	}
	runs.Park()
	runs.Wait()
	if _, err := runs.Begin(host.Request{Dir: repo, Text: "x"}); err == nil {
		t.Error("a run is begun at the end")
	}
}
