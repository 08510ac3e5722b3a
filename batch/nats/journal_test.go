package nats_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/internal/cable"
)

// event is a line of a journal.
func event(n int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"n":%d,"text":"<a & b>"}`, n))
}

func takeUp(t *testing.T, w *nats.Worker, c batch.Claimed) (*nats.Journal, []nats.Part) {
	t.Helper()
	j, err := w.Journal(c.ID)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := j.TakeUp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return j, parts
}

func keep(t *testing.T, j *nats.Journal, p nats.Part) {
	t.Helper()
	if letters, done, err := j.Append(t.Context(), p); err != nil || !done || len(letters) > 0 {
		t.Fatalf("%v %v %v", letters, done, err)
	}
}

// A journal goes from worker to worker as it is, and once the next one has taken it up, the
// one before can append nothing more, nor take it up again under its old lease.
func TestAJournalIsOneWorkersAtATime(t *testing.T) {
	t.Parallel()
	srv := serve(t, t.TempDir(), 0)
	s := open(t, srv.URL())
	add(t, s, "B", 1, nil)
	first := worker(t, s, "first", false)
	c := claim(t, first)
	j, parts := takeUp(t, first, c)
	if len(parts) != 0 {
		t.Errorf("a new run has %d parts", len(parts))
	}
	random := rand.New(rand.NewPCG(1, 2))
	large := make([]byte, 2<<20) // does not shrink
	for i := range large {
		large[i] = byte(random.Uint32())
	}
	keep(t, j, nats.Part{Events: []json.RawMessage{event(1), event(2)}})
	keep(t, j, nats.Part{
		Events: []json.RawMessage{event(3)},
		Blobs:  [][]byte{large},
		Bundle: []byte("bundle"),
		Refs:   map[string]string{"refs/plan/R/start": "c0ffee"},
	})
	first.Close() // it is silent from here on

	second := worker(t, open(t, srv.URL()), "second", false)
	again := claim(t, second)
	if again.Run != c.Run {
		t.Errorf("the run was %s and is %s", c.Run, again.Run)
	}
	next, parts := takeUp(t, second, again)
	var lines []byte
	for _, p := range parts {
		for _, line := range p.Events {
			lines = append(append(lines, line...), '\n')
		}
	}
	want := fmt.Appendf(nil, "%s\n%s\n%s\n", event(1), event(2), event(3))
	last := parts[len(parts)-1]
	if !bytes.Equal(lines, want) || !bytes.Equal(last.Blobs[0], large) || string(last.Bundle) != "bundle" ||
		last.Refs["refs/plan/R/start"] != "c0ffee" || last.Worker != "first" {
		t.Errorf("it reads %s", lines)
	}
	if _, _, err := j.Append(t.Context(), nats.Part{Events: []json.RawMessage{event(4)}}); !errors.Is(err, batch.ErrLeaseLost) {
		t.Errorf("the old owner appends: %v", err)
	}
	if _, err := j.TakeUp(t.Context()); !errors.Is(err, batch.ErrLeaseLost) {
		t.Errorf("the old owner takes it up again: %v", err)
	}
	keep(t, next, nats.Part{Events: []json.RawMessage{event(4)}})
	if got, err := s.Lines(t.Context(), c.Run, 3); err != nil || len(got) != 1 || !bytes.Equal(got[0], event(4)) {
		t.Errorf("%s, %v", got, err)
	}
}

// A letter comes before the next append, in its place in the journal. It is told of also
// where it comes before the queue has heard that the run's worker listens.
func TestALetterComesBeforeTheNextAppend(t *testing.T) {
	t.Parallel()
	srv := serve(t, t.TempDir(), 0)
	link := cable.New(t, strings.TrimPrefix(srv.URL(), "nats://"))
	near, far := open(t, srv.URL()), open(t, "nats://"+link.Addr())
	add(t, near, "B", 1, nil)
	w := worker(t, far, "w", false)
	c := claim(t, w)
	j, _ := takeUp(t, w, c)
	tell := func(text string) {
		t.Helper()
		letter := nats.Letter{Kind: "steer", Data: json.RawMessage(`{"text":"` + text + `"}`)}
		if err := near.Tell(t.Context(), c.Run, letter); err != nil {
			t.Error(err)
		}
	}
	heard := make(chan struct{}, 3)
	hears := func() {
		t.Helper()
		select {
		case <-heard:
		case <-time.After(20 * time.Second):
			t.Fatal("it is not told")
		}
	}
	link.Cut()
	go func() {
		tell("early")
		link.Mend()
	}()
	end, err := j.OnTold(t.Context(), func() { heard <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	hears()
	tell("late")
	hears()
	part := nats.Part{Events: []json.RawMessage{event(1)}}
	letters, done, err := j.Append(t.Context(), part)
	if err != nil || done || len(letters) != 2 || letters[0].Letter.Kind != "steer" {
		t.Fatalf("%+v %v %v", letters, done, err)
	}
	part.Took = []uint64{letters[0].Place, letters[1].Place}
	keep(t, j, part)
	if more, err := j.Letters(t.Context()); err != nil || len(more) > 0 {
		t.Errorf("%+v, %v", more, err)
	}
}

// A queue that does not come back in time is told of.
func TestAJournalWithoutItsQueue(t *testing.T) {
	t.Parallel()
	srv := serve(t, t.TempDir(), 0)
	s, err := nats.Open(t.Context(), nats.Config{
		URL:      srv.URL(),
		Token:    "secret",
		Patience: lease,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	add(t, s, "B", 1, nil)
	w := worker(t, s, "w", false)
	c := claim(t, w)
	j, _ := takeUp(t, w, c)
	if _, done, err := j.Append(t.Context(), nats.Part{Events: []json.RawMessage{event(1)}}); !done {
		t.Fatal(err)
	}
	srv.Close()
	_, _, err = j.Append(t.Context(), nats.Part{Events: []json.RawMessage{event(2)}})
	if away := new(nats.UnreachableError); !errors.As(err, &away) {
		t.Errorf("without its queue: %v", err)
	}
}

// A queue that an earlier program made, which kept no journals, is opened as it is, and
// keeps them from then on: its jobs, leases and messages stay.
func TestAQueueWithoutJournals(t *testing.T) {
	t.Parallel()
	srv := serve(t, t.TempDir(), 0)
	s := open(t, srv.URL())
	add(t, s, "A", 2, nil)
	before := claim(t, worker(t, s, "before", false))
	js := stream(t, srv.URL())
	for _, name := range []string{"PLAN_JOURNAL", "OBJ_plan_parts"} {
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	now := open(t, srv.URL())
	w := worker(t, now, "now", false)
	c := claim(t, w)
	j, _ := takeUp(t, w, c)
	keep(t, j, nats.Part{Events: []json.RawMessage{event(1)}})
	if jobs, err := now.Jobs(t.Context(), "A"); err != nil || len(jobs) != 2 || c.ID == before.ID {
		t.Errorf("it has %d jobs, %v, and %s is given out twice", len(jobs), err, c.ID)
	}
	if lines, err := now.Lines(t.Context(), c.Run, 0); err != nil || len(lines) != 1 {
		t.Errorf("its journal has %d events, %v", len(lines), err)
	}
}
