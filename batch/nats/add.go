package nats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan/batch"
)

// SameJobsError says that there is a batch of the same jobs already.
type SameJobsError struct{ Batch string }

// Error implements error.
func (e *SameJobsError) Error() string { return "batch " + e.Batch + " has the same jobs" }

// Add stores a batch with its jobs and puts them into the queue. One whose process
// died in the middle is finished by the next that adds the same jobs. It returns the
// id of the batch. With again, a batch of the same jobs is no [SameJobsError].
func (s *Store) Add(ctx context.Context, b Batch, entries []batch.Entry, again bool) (id string, err error) {
	for _, e := range entries {
		if most := int(s.conn.MaxPayload() / 2); len(e.Spec) > most {
			return "", fmt.Errorf("job %s is larger than the %d KiB that the queue takes", e.ID, most>>10)
		}
	}
	b.Created = s.cfg.Now().UTC()
	b.Jobs = len(entries)
	stored, fresh, err := s.reserve(ctx, b, again)
	if err != nil {
		return "", err
	}
	if !fresh && stored.Complete {
		return "", &SameJobsError{Batch: stored.ID}
	}
	b = stored
	for _, e := range entries {
		j := Job{
			Entry:   e,
			State:   batch.JobQueued,
			Message: 1,
		}
		data, err := json.Marshal(j)
		if err != nil {
			return "", fmt.Errorf("encode job %s: %w", e.ID, err)
		}
		_, err = s.jobs.Create(ctx, jobKey(b.ID, e.Place), data)
		if err != nil && !isConflict(err) {
			return "", fmt.Errorf("store job %s: %w", e.ID, err)
		}
	}
	if err := s.enqueue(ctx, b.ID); err != nil {
		return "", err
	}
	b.Complete = true
	return b.ID, s.putBatch(ctx, b)
}

// reserve takes the digest of the jobs for a batch, so that of two processes with
// the same list one makes the batch. It returns the batch that has the digest.
func (s *Store) reserve(ctx context.Context, b Batch, again bool) (known Batch, fresh bool, err error) {
	same := "same." + b.Digest
	if again {
		b.Order, err = s.batches.PutString(ctx, same, b.ID)
		if err != nil {
			return b, false, fmt.Errorf("store batch %s: %w", b.ID, err)
		}
		return b, true, s.putBatch(ctx, b)
	}
	ask, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err = retry(ask, func(ctx context.Context) (err error) {
		b.Order, err = s.batches.Create(ctx, same, []byte(b.ID))
		return err //nolint:wrapcheck // says below what was stored
	})
	if err == nil {
		return b, true, s.putBatch(ctx, b)
	}
	if !isConflict(err) {
		return b, false, fmt.Errorf("store batch %s: %w", b.ID, err)
	}
	entry, err := s.batches.Get(ctx, same)
	if err != nil {
		return b, false, fmt.Errorf("find the batch of the same jobs: %w", err)
	}
	known, err = s.readBatch(ctx, string(entry.Value()))
	if errors.Is(err, jetstream.ErrKeyNotFound) { // its process died right after it took the digest
		b.ID = string(entry.Value())
		b.Order = entry.Revision()
		return b, true, s.putBatch(ctx, b)
	}
	return known, false, err
}

func (s *Store) putBatch(ctx context.Context, b Batch) error {
	data, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode batch %s: %w", b.ID, err)
	}
	if _, err := s.batches.Put(ctx, "id."+b.ID, data); err != nil {
		return fmt.Errorf("store batch %s: %w", b.ID, err)
	}
	return nil
}

func (s *Store) readBatch(ctx context.Context, id string) (b Batch, err error) {
	entry, err := s.batches.Get(ctx, "id."+id)
	if err != nil {
		return b, fmt.Errorf("read batch %s: %w", id, err)
	}
	if err := json.Unmarshal(entry.Value(), &b); err != nil {
		return b, fmt.Errorf("read batch %s: %w", id, err)
	}
	return b, nil
}

// enqueue puts a message into the stream for each job of a batch that is queued, in
// the order in which they are to be done. One that is there already, because a
// process died before it could know, is kept out by its id, or later by its number.
func (s *Store) enqueue(ctx context.Context, id string) error {
	jobs, err := s.Jobs(ctx, id)
	if err != nil {
		return err
	}
	slices.SortStableFunc(jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Place, b.Place))
	})
	notified := map[lane]bool{} // workers were told that there is work
	for _, j := range jobs {
		if j.State != batch.JobQueued {
			continue
		}
		l := laneOf(j.Entry)
		first := !notified[l]
		notified[l] = true
		if first {
			if err := s.addConsumer(ctx, l); err != nil {
				return err
			}
		}
		if err := s.send(ctx, l, id, j); err != nil {
			return fmt.Errorf("queue job %s: %w", j.ID, err)
		}
		if first { // it need not wait for the last
			if err := s.wake(l); err != nil {
				return err
			}
		}
	}
	for l := range notified {
		if err := s.wake(l); err != nil {
			return err
		}
	}
	return nil
}

// send puts the message of a job into a lane.
func (s *Store) send(ctx context.Context, in lane, of string, j Job) error {
	data, err := json.Marshal(message{Batch: of, Place: j.Place, Message: j.Message})
	if err == nil {
		_, err = s.js.Publish(ctx, in.subject(), data,
			jetstream.WithMsgID(fmt.Sprintf("%s.%d", jobKey(of, j.Place), j.Message)))
	}
	return err //nolint:wrapcheck // enqueue says of which job
}

// wake tells the workers that there is work in a lane.
func (s *Store) wake(in lane) error {
	if err := s.conn.Publish(wakeSubject, []byte(in.consumer())); err != nil {
		return fmt.Errorf("wake the workers: %w", err)
	}
	return nil
}

// Batches lists the batches, newest first.
func (s *Store) Batches(ctx context.Context) ([]Batch, error) {
	batches, err := s.allBatches(ctx)
	return slices.DeleteFunc(batches, func(b Batch) bool { return b.Removing }), err
}

// allBatches are those, too, that are being removed.
func (s *Store) allBatches(ctx context.Context) ([]Batch, error) {
	var out []Batch
	err := s.batches.each(ctx, "id.*", func(entry jetstream.KeyValueEntry) error {
		var b Batch
		if err := json.Unmarshal(entry.Value(), &b); err != nil {
			return fmt.Errorf("read a batch: %w", err)
		}
		out = append(out, b)
		return nil
	})
	slices.SortFunc(out, newestFirst)
	return out, err
}

func newestFirst(a, b Batch) int {
	return cmp.Or(cmp.Compare(b.Order, a.Order), cmp.Compare(b.ID, a.ID))
}

// ErrNoBatch says that no such batch is stored.
var ErrNoBatch = errors.New("no such batch")

// Batch finds a batch by a prefix of its id that fits no other; "" is the newest.
func (s *Store) Batch(ctx context.Context, prefix string) (Batch, error) {
	batches, err := s.Batches(ctx)
	if err != nil {
		return Batch{}, err
	}
	return Find(batches, prefix)
}

// Find is [Store.Batch] among batches that were listed.
func Find(all []Batch, prefix string) (Batch, error) {
	var fit []Batch
	for _, b := range all {
		if prefix == "" || strings.HasPrefix(b.ID, strings.ToUpper(prefix)) {
			fit = append(fit, b)
		}
	}
	switch {
	case len(fit) == 0:
		return Batch{}, fmt.Errorf("find batch %q: %w", prefix, ErrNoBatch)
	case len(fit) == 1, prefix == "":
		return fit[0], nil
	}
	return Batch{}, fmt.Errorf("%q fits %d batches, give more letters", prefix, len(fit))
}

// Jobs lists the jobs of a batch in the order of the list that they came from.
func (s *Store) Jobs(ctx context.Context, id string) ([]Job, error) {
	var out []Job
	err := s.jobs.each(ctx, id+".*", func(entry jetstream.KeyValueEntry) error {
		var j Job
		if err := json.Unmarshal(entry.Value(), &j); err != nil {
			return fmt.Errorf("read a job of batch %s: %w", id, err)
		}
		j.revision = entry.Revision()
		j.written = entry.Created()
		out = append(out, j)
		return nil
	})
	slices.SortFunc(out, func(a, b Job) int { return cmp.Compare(a.Place, b.Place) })
	return out, err
}

// Requeue puts the jobs of a batch that choose picks into the queue again, and all
// that are queued but may have lost their message. With anew a job forgets its run.
func (s *Store) Requeue(ctx context.Context, id string, anew bool, choose func(Job) bool) (n int, err error) {
	b, err := s.Read(ctx, id)
	if err != nil {
		return 0, err
	}
	if b.Removing {
		return 0, fmt.Errorf("batch %s is being removed: %w", id, ErrNoBatch)
	}
	jobs, err := s.Jobs(ctx, id)
	if err != nil {
		return 0, err
	}
	for _, j := range jobs {
		large, patch := "", ""
		_, changed, err := s.change(ctx, jobKey(id, j.Place), func(j *Job) bool {
			if j.State == batch.JobQueued || j.State == batch.JobRunning || !choose(*j) {
				return false
			}
			if anew {
				j.Run = ""
				j.Worker = ""
				j.Result = nil
				j.Letters = nil
				j.Decided = nil
				large, j.Large = j.Large, ""
				patch, j.Patch = j.Patch, ""
			}
			j.requeue(s.cfg.Now())
			return true
		})
		if err != nil {
			return n, err
		}
		if changed {
			s.forget(ctx, large)
			s.forget(ctx, patch)
			n++
		}
	}
	return n, s.enqueue(ctx, id)
}

// Decide puts a job that stands parked as it was read into the queue again, with a letter
// for its run; false where it does not stand so any more.
func (s *Store) Decide(ctx context.Context, id string, j Job, letter json.RawMessage) (bool, error) {
	_, changed, err := s.change(ctx, jobKey(id, j.Place), func(now *Job) bool {
		if now.State != batch.JobParked || now.Run != j.Run || now.Message != j.Message {
			return false
		}
		now.Letters = append(now.Letters, letter)
		now.requeue(s.cfg.Now())
		return true
	})
	if err != nil || !changed {
		return false, err
	}
	return true, s.enqueue(ctx, id)
}

// Cancel ends the jobs of a batch that have not ended, and that choose picks, for
// good. A worker that has one finds out with its next sign of life.
func (s *Store) Cancel(ctx context.Context, id string, choose func(Job) bool) (n int, err error) {
	jobs, err := s.Jobs(ctx, id)
	if err != nil {
		return 0, err
	}
	for _, j := range jobs {
		_, changed, err := s.change(ctx, jobKey(id, j.Place), func(j *Job) bool {
			if j.final() || !choose(*j) {
				return false
			}
			j.State = batch.JobCancelled
			j.Ended = s.cfg.Now().UTC()
			j.Lease = nil
			return true
		})
		if err != nil {
			return n, err
		}
		if changed {
			n++
		}
	}
	return n, nil
}
