package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/natstest"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

// watching is a session that has opened the batch of the queue.
func watching(t *testing.T, store *nats.Store) *model {
	t.Helper()
	h := host.New(host.Config{Environ: []string{"HOME=" + t.TempDir()}})
	t.Cleanup(func() { _ = h.Close() })
	q, end := batches.New(h).Queued(store).Watched()
	t.Cleanup(end)
	m := newModel(t.Context(), Config{Host: h, Watch: true, Queue: q})
	m.Update(m.loadBoard()())
	if page := strings.Join(m.watchPage(), "\n"); !strings.Contains(page, "far.yaml") {
		t.Fatalf("it shows\n%s", page)
	}
	m.Update(m.watchKey("enter")())
	if page := strings.Join(m.batchRows(), "\n"); !strings.Contains(page, "shop") {
		t.Fatalf("the batch is shown as\n%s", page)
	}
	return m
}

// A batch of a queue is seen beside those of the home, and opens. A queue that is gone takes
// nothing of the home from sight.
func TestAQueueIsWatched(t *testing.T) {
	t.Parallel()
	q := natstest.NewJob(t, batchID, "01JRUN")
	m := watching(t, q.Store)
	q.Server.Close()
	m.toWatch()
	m.Update(m.loadBoard()())
	if page := strings.Join(m.watchPage(), "\n"); !m.watch.loaded || strings.Contains(page, "far.yaml") {
		t.Errorf("without the queue it shows\n%s", page)
	}
}

// The run of a job is read from the queue as it goes on with its worker, takes guidance, and
// is decided about: for what was shown, and for that alone.
func TestTheRunOfAJobIsOpened(t *testing.T) {
	t.Parallel()
	q := natstest.NewJob(t, batchID, "01JRUN")
	q.Append(plan.RunStart{Request: "Name it", Repo: "/clones/shop"})
	m := watching(t, q.Store)
	follow := m.batchKey("enter")
	if m.screen != atRun || follow == nil {
		t.Fatalf("the job does not open: %s", m.status)
	}
	go follow()
	until := func(what string, is func() bool) {
		t.Helper()
		for give := time.After(20 * time.Second); !is(); {
			select {
			case <-m.wake:
				m.drain()
			case <-give:
				t.Fatalf("%s is not seen", what)
			}
		}
	}
	until("its request", func() bool { return m.view.story.Title == "Name it" })
	press(m, "/", "a", "p", "p", "l", "y", "enter")
	if !strings.Contains(m.status, "of this home") {
		t.Errorf("/apply says %q", m.status)
	}
	m.Update(m.tell(m.view, "mind the tests", false)())
	letters, err := q.Journal().Letters(t.Context())
	if err != nil || len(letters) != 1 || letters[0].Letter.Kind != string(host.Steer) {
		t.Errorf("the worker is told %+v, %v", letters, err)
	}

	calls := []plan.WaitingCall{
		{Call: "c1", Name: "run", Args: []byte(`{"command":"make"}`), Grant: plan.Grant{Command: "make"}},
		{Call: "c2", Name: "run", Args: []byte(`{"command":"make clean"}`)},
	}
	for i, c := range calls {
		calls[i] = c.Bound("")
	}
	q.Park(calls...)
	until("what it waits with", func() bool { return m.view.panel != nil })
	if p := m.view.panel; len(p.ask.waiting) != 1 || strings.Contains(p.keys(), "always") {
		t.Errorf("it asks about %d calls: %s", len(p.ask.waiting), p.keys())
	}
	if m.resume(m.view); m.view.isDriven() {
		t.Error("the session drives the run of a worker")
	}
	at := time.Now()
	m.Now = func() time.Time { return at.Add(time.Minute) }
	m.runPage()
	press(m, "y")
	_, decide := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	m.Update(decide())
	if m.isBad || !strings.Contains(m.status, "Decided") {
		t.Fatalf("it says %q", m.status)
	}
	q.RequireDecided(calls[0].Digest)
	q.Append(plan.RunEnd{Outcome: plan.Cancelled})
	until("its end", func() bool { return m.view.story.Final() })
	if prompt := m.prompt(m.view); !strings.Contains(prompt, "/diff") {
		t.Errorf("at its end it asks for %q", prompt)
	}
}
