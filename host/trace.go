package host

import (
	"context"
	"net/http"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/traces"
	"github.com/plan-engine/plan/memory"
)

// traceTime is how long a collector may take in the spans of a run.
const traceTime = 5 * time.Second

// SendTraces sends a run as spans to the collector at an address, all of it: what is still
// open as if it had ended with the last event. It returns how many spans there are.
func (h *Host) SendTraces(ctx context.Context, id plan.RunID, address string) (spans int, err error) {
	to, err := traces.CollectorAt(address, h.Getenv)
	if err != nil {
		return 0, err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return 0, err
	}
	t := traces.Tracer{Content: to.Content}
	for ev, err := range db.Events(ctx, id, memory.Query{}) {
		if err != nil {
			return 0, err
		}
		t.Add(ev)
	}
	collected := append(t.Take(), t.Open()...)
	client := &http.Client{}
	defer client.CloseIdleConnections()
	return len(collected), to.Send(ctx, client, collected)
}

// sendTraces sends the spans of a run that this process is done with, where the environment
// names a collector: those that have ended since the run parked last. One that is
// interrupted sends none, for it has to be quick; nor does one that dies. What they left the
// next process sends.
func (h *Host) sendTraces(ctx context.Context, db *memory.DB, id plan.RunID, end engine.End) {
	to, found := traces.CollectorOf(h.Getenv)
	if !found || end.Parked != nil && end.Parked.Reason == plan.ParkInterrupted {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTime)
	defer cancel()
	if err := h.sendNewTraces(ctx, db, id, to); err != nil {
		h.note(err.Error())
	}
}

func (h *Host) sendNewTraces(ctx context.Context, db *memory.DB, id plan.RunID, to traces.Collector) error {
	t := traces.Tracer{Content: to.Content}
	var from, parked int64 // seqs of the last two events with which a process was done
	var last int64
	for ev, err := range db.Events(ctx, id, memory.Query{}) {
		if err != nil {
			return err
		}
		if b, ok := ev.Body.(plan.Parked); ok && b.Reason != plan.ParkInterrupted {
			from, parked = parked, ev.Seq
		}
		last = ev.Seq
		t.Add(ev)
	}
	if parked != last { // it goes on from there, or has ended
		from = parked
	}
	var spans []traces.Span
	for _, s := range t.Take() {
		if s.Seq > from {
			spans = append(spans, s)
		}
	}
	client := &http.Client{}
	defer client.CloseIdleConnections()
	return to.Send(ctx, client, spans)
}
