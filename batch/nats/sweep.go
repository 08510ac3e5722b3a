package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan/batch"
)

// sweepLeases is how often records are held against messages, in leases.
const sweepLeases = 10

// mostSwept is how many messages a queue may have for that. Of more it has enough to do.
const mostSwept = 10_000

// sweptKey stands beside the batches. It is written with each sweep, which is when the last
// one was by the queue's clock.
const sweptKey = "swept"

// sweep gives jobs a message that wait or run without one, at most once in a while whichever
// workers are idle. A message is all that leads to a job, and all that tells that its worker is
// gone: a cluster loses one now and then when a server comes back, and who puts jobs into the
// queue may die between a record and its message.
func (s *Store) sweep(ctx context.Context) error {
	before, err := s.Ago(ctx, sweepLeases*s.cfg.Lease)
	if err != nil {
		return err
	}
	if due, err := s.takeSweep(ctx, before); err != nil || !due {
		return err
	}
	sent := map[message]bool{}
	err = s.eachMessage(ctx, func(m message, _ uint64) bool {
		sent[m] = true
		return len(sent) < mostSwept
	})
	if err != nil || len(sent) >= mostSwept {
		return err
	}
	all, err := s.Batches(ctx)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.Complete && err == nil {
			err = s.sweepBatch(ctx, b.ID, before, sent)
		}
	}
	return err
}

// sweepBatch sends a message for each job that came to stand as it does before a time, and has
// none among those that were sent.
func (s *Store) sweepBatch(ctx context.Context, id string, before time.Time, sent map[message]bool) error {
	jobs, err := s.Jobs(ctx, id)
	for _, j := range jobs {
		open := j.State == batch.JobQueued || j.State == batch.JobRunning
		if err == nil && open && j.written.Before(before) && !sent[message{id, j.Place, j.Message}] {
			err = s.resend(ctx, id, j)
		}
	}
	return err
}

// takeSweep reports whether the last sweep was before a time, and this process makes the next.
func (s *Store) takeSweep(ctx context.Context, before time.Time) (due bool, err error) {
	entry, err := s.batches.Get(ctx, sweptKey)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		_, err = s.batches.Create(ctx, sweptKey, nil)
	case err == nil && entry.Created().Before(before):
		_, err = s.batches.Update(ctx, sweptKey, nil, entry.Revision())
	case err == nil:
		return false, nil
	}
	if isConflict(err) { // another process makes it
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for lost messages: %w", err)
	}
	return true, nil
}

// resend sends a message for a job that stands as it was read. A message that does turn up
// later is told from it by its number.
func (s *Store) resend(ctx context.Context, of string, j Job) error {
	now, changed, err := s.change(ctx, jobKey(of, j.Place), func(now *Job) bool {
		if now.State != j.State || now.Message != j.Message {
			return false
		}
		now.tell(s.cfg.Now(), "", "its message was lost")
		if now.State == batch.JobRunning {
			now.Lost++
		}
		now.State = batch.JobQueued
		now.Lease = nil
		now.Message++
		return true
	})
	if err == nil && changed {
		in := laneOf(now.Entry)
		if err = s.send(ctx, in, of, now); err == nil {
			err = s.wake(in)
		}
	}
	if err != nil {
		return fmt.Errorf("send a lost message again: %w", err)
	}
	return nil
}
