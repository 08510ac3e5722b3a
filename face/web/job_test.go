package web_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch/nats/natstest"
	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

// TestTheRunOfAJobHasAPage: it is read from the queue as it goes on with its worker, takes
// guidance, and is decided about: for what was shown, and for that alone.
func TestTheRunOfAJobHasAPage(t *testing.T) {
	t.Parallel()
	const of, page = "01JBATCH7K2M", "/batches/01JBATCH7K2M/jobs/shop"
	q := natstest.NewJob(t, of, "01JRUN")
	w := newWorld(t)
	h := host.New(w.Config)
	t.Cleanup(func() { _ = h.Close() })
	queue, end := batches.New(h).Queued(q.Store).Watched()
	t.Cleanup(end)
	b := w.open(t, web.Options{Queue: queue}).browse()
	q.Append(plan.RunStart{
		Request: "Name it",
		Repo:    "/clones/shop",
	})
	if _, text := b.get("/batches/" + of); !strings.Contains(text, `href="`+page+`"`) {
		t.Fatalf("the page of the batch does not lead to its run:\n%s", text)
	}
	_, text := b.get(page)
	for _, want := range []string{"Name it", "https://example.org/shop.git", "on mill-7", `sse-connect="` + page + `/live?after=1"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s:\n%s", want, text)
		}
	}
	b.submit(text, page+"/letters", 0, "kind", "steer", "text", "mind the tests")
	letters, err := q.Journal().Letters(t.Context())
	if err != nil || len(letters) != 1 || letters[0].Letter.Kind != string(host.Steer) {
		t.Errorf("the worker is told %+v, %v", letters, err)
	}

	var d struct {
		ID  plan.RunID
		Job struct{ ID, Worker string }
	}
	if status := b.ask(http.MethodGet, page, "", &d); status != http.StatusOK || d.ID != "01JRUN" || d.Job.Worker != "mill-7" {
		t.Errorf("the API answers with %d, %+v", status, d)
	}
	b.described(page, "Run")
	for path, want := range map[string]int{
		"/batches/" + of + "/jobs/none": http.StatusBadRequest,
		"/batches/01JNONE/jobs/shop":    http.StatusNotFound,
	} {
		if status := b.ask(http.MethodGet, path, "", nil); status != want {
			t.Errorf("%s is answered with %d", path, status)
		}
	}

	live, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.at.URL+page[1:]+"/live?after=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := b.http.Do(live)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	call := plan.WaitingCall{
		Call:  "c1",
		Name:  "bash",
		Args:  []byte(`{"command":"make"}`),
		Grant: plan.Grant{Command: "make"},
	}.Bound("")
	q.Park(call)
	for lines := bufio.NewScanner(events.Body); ; {
		if !lines.Scan() {
			t.Fatalf("the stream ends before what it waits with: %v", lines.Err())
		}
		if strings.Contains(lines.Text(), "id: 2") {
			break
		}
	}
	_, text = b.get(page)
	if !strings.Contains(text, call.Digest) || strings.Contains(text, "for the rest of this run") {
		t.Errorf("what waits is shown as\n%s", text)
	}
	b.submit(text, page+"/letters", 0, "kind", "approve")
	q.RequireDecided(call.Digest)

	q.Append(plan.StateChange{To: plan.Cancelled}, plan.RunEnd{Outcome: plan.Cancelled})
	got := b.send(http.MethodGet, page+"/events?after=2", "") // it ends with the run
	defer got.Body.Close()
	lines, err := io.ReadAll(got.Body)
	if err != nil || strings.Count(string(lines), "\n") != 2 || !strings.Contains(string(lines), `"run_end"`) {
		t.Errorf("the API has the events %s, %v", lines, err)
	}
	if _, text = b.get(page); strings.Contains(text, "<textarea") || strings.Contains(text, "sse-connect") {
		t.Errorf("at its end it can be told something:\n%s", text)
	}
}
