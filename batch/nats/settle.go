package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
)

// RecordResult implements [batch.Queue]. A job that is another worker's by now, or
// was cancelled, is a [batch.ErrLeaseLost], and stays as it is. One that was stopped
// with its worker is given back.
func (w *Worker) RecordResult(ctx context.Context, id string, state batch.JobState, result json.RawMessage) error {
	w.mu.Lock()
	l := w.held[id]
	delete(w.held, id)
	w.mu.Unlock()
	if l == nil {
		return batch.ErrLeaseLost
	}
	l.stop()
	back, err := w.finish(ctx, l, state, result)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if back {
		_ = l.msg.Nak() // else its lease ends by itself
		_ = w.store.wake(laneOf(l.job.Entry))
		return nil
	}
	_ = l.msg.Ack() // one that comes again is found to be done with
	return nil
}

// finish writes what came of a job, for as long as its lease holds. Back says that
// others are to have it.
func (w *Worker) finish(ctx context.Context, l *lease, state batch.JobState, result json.RawMessage) (bool, error) {
	var res batch.Result
	if err := json.Unmarshal(result, &res); err != nil {
		return false, fmt.Errorf("read what came of job %s: %w", l.key, err)
	}
	back := givenBack(state, res.Parked)
	for {
		err := w.trySettle(ctx, l, state, result, res.Parked)
		if err == nil || errors.Is(err, batch.ErrLeaseLost) {
			return back, err
		}
		timer := time.NewTimer(defaultPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, err
		}
	}
}

func givenBack(state batch.JobState, parked plan.ParkReason) bool {
	return state == batch.JobParked && parked == plan.ParkInterrupted
}

func (w *Worker) trySettle(
	ctx context.Context,
	l *lease,
	state batch.JobState,
	result json.RawMessage,
	parked plan.ParkReason,
) error {
	back := givenBack(state, parked)
	object := ""
	if !back && len(result) > w.store.maxInline() {
		object = l.key + "." + l.id // of this lease: a late worker overwrites nothing
		if _, err := w.store.results.PutBytes(ctx, object, result); err != nil {
			return fmt.Errorf("keep the result of job %s: %w", l.key, err)
		}
		result = nil
	}
	patch := ""
	if !back && l.patch != nil {
		patch = patchObject + l.key + "." + l.id
		if _, err := w.store.results.PutBytes(ctx, patch, l.patch); err != nil {
			return fmt.Errorf("keep the change of job %s: %w", l.key, err)
		}
	}
	j, changed, err := w.store.change(ctx, l.key, func(j *Job) bool {
		if j.Lease == nil || j.Lease.ID != l.id {
			return false
		}
		now := w.store.cfg.Now().UTC()
		j.Settled = l.id
		j.Lease = nil
		j.State = state
		j.Parked = parked
		j.Result = result
		j.Large = object
		j.Patch = patch
		switch {
		case back:
			j.State = batch.JobQueued
			j.Parked = ""
			j.Result = nil
			j.tell(now, w.name, "gave the job back")
		case j.final():
			j.Ended = now
		}
		if n := len(j.Letters); n > 0 && !back { // its run has read them
			j.Decided, j.Letters = j.Letters[n-1], nil
		}
		return true
	})
	switch {
	case err == nil && (changed || j.Settled == l.id): // also where the answer to a write was lost
		return nil
	case err == nil, errors.Is(err, jetstream.ErrKeyNotFound):
		w.store.forget(ctx, object)
		w.store.forget(ctx, patch)
		return batch.ErrLeaseLost
	}
	return err
}

// maxInline is how large a result may be that lies in its job's record, which has to
// fit into one message beside what the job is. Larger ones are objects.
func (s *Store) maxInline() int { return int(min(s.conn.MaxPayload()/4, maxResult)) }

// forget removes a result that is an object. One that cannot be removed takes room,
// and is never read.
func (s *Store) forget(ctx context.Context, object string) {
	if object != "" {
		_ = s.removeObject(ctx, s.results, resultBucket, object)
	}
}

// Result is what came of a job; nil where nothing has.
func (s *Store) Result(ctx context.Context, j Job) (json.RawMessage, error) {
	if j.Large == "" {
		return j.Result, nil
	}
	data, _, err := s.object(ctx, j, j.Large)
	return data, err
}

// Patch is the change of a job as its worker had it; false where it is not kept.
func (s *Store) Patch(ctx context.Context, j Job) (patch []byte, kept bool, err error) {
	if j.Patch == "" {
		return nil, false, nil
	}
	return s.object(ctx, j, j.Patch)
}

// object is there unless the job was begun anew since it was listed.
func (s *Store) object(ctx context.Context, j Job, name string) (data []byte, ok bool, err error) {
	data, err = s.results.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read what came of job %s: %w", j.ID, err)
	}
	return data, true, nil
}
