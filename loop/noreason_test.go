package loop_test

import (
	"context"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
)

// A server that never gives a reason for stopping is asked once more at first, and
// then the run goes on with it.
func TestServerWithoutReasons(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse([]byte("[server]\nno_finish = true\n" + asksTheClock))
	if err != nil {
		t.Fatal(err)
	}
	server, err := scripted.Start(context.WithoutCancel(t.Context()), s, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := chat.New(chat.Config{Config: wire.Config{
		BaseURL: server.URL(),
		Key:     func(context.Context) (string, error) { return server.Key(), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	b, _ := played(t, nil, clock{})
	b.cfg.Model = client
	l, err := loop.New(b.cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	end, err := l.Run(t.Context(), plan.UserText("What time is it?"))
	if err != nil || end.Text != "Ten past nine." {
		t.Fatalf("end = %+v, %v", end, err)
	}
	if n := len(server.Requests()); n != 3 || len(b.slept) != 1 {
		t.Errorf("%d requests and %d waits, want 3 and 1", n, len(b.slept))
	}
	retries := 0
	for _, ev := range b.j.events() {
		if retry, ok := ev.Body.(plan.Retry); ok && strings.Contains(retry.Reason, "broke off") {
			retries++
		}
	}
	if retries != 1 {
		t.Errorf("%d retries are recorded, want 1", retries)
	}
}
