package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestAServedQueueForgets: what has been over for a while is removed from a queue that is
// served with --remove-after, and what is not over stays.
func TestAServedQueueForgets(t *testing.T) {
	t.Parallel()
	m := newFleet(t)
	serve := m.serve("127.0.0.1:0")
	job := `{"id":"one","repo":"https://example.org/shop.git","request":"%"}`
	over, _, _ := strings.Cut(m.must("home", "batch", "run", m.jobs("over.jsonl", strings.ReplaceAll(job, "%", "x"))), ":")
	open, _, _ := strings.Cut(m.must("home", "batch", "run", m.jobs("open.jsonl", strings.ReplaceAll(job, "%", "y"))), ":")
	m.must("home", "batch", "cancel", over)
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("interrupted, the queue ends with %v", err)
	}
	m.serve(strings.TrimPrefix(m.url, "nats://"), "--remove-after", "1ms")
	listed := func() string { return m.must("home", "batch", "list", "--json") }
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); strings.Contains(listed(), over); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("it still has\n%s", listed())
		}
	}
	if text := listed(); !strings.Contains(text, open) {
		t.Errorf("what is not over went, too: %s", text)
	}
}
