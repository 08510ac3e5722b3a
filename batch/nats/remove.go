package nats

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan"
)

// Names that JetStream gives to what object stores are made of.
const (
	objectStream  = "OBJ_"
	objectSubject = "$O."
)

// Ago is the time so long ago by the clock of the server that wrote what the queue has.
// Those of workers and of who asks may be off, and are compared with none of it.
func (s *Store) Ago(ctx context.Context, d time.Duration) (time.Time, error) {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the queue for the time: %w", err)
	}
	return info.TimeStamp.Add(-d), nil
}

// Over are the batches that are complete and whose jobs have all come to stand as they do
// before a time, ended, and those whose removal was begun and not brought to an end. One
// that is being published is not over.
func (s *Store) Over(ctx context.Context, before time.Time) (out []Batch, err error) {
	batches, err := s.allBatches(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		jobs, err := s.Jobs(ctx, b.ID)
		if err != nil {
			return nil, err
		}
		open := slices.ContainsFunc(jobs, func(j Job) bool {
			return !j.final() || !j.written.Before(before) || s.IsPublishing(ctx, j)
		})
		if !open && (b.Complete || b.Removing) {
			out = append(out, b)
		}
	}
	return out, nil
}

// Remove removes a batch whose jobs have all ended, with what came of them; false where one
// was put into the queue again meanwhile: then the batch stays, or what is left of it.
func (s *Store) Remove(ctx context.Context, id string) (done bool, err error) {
	entry, err := s.batches.Get(ctx, "id."+id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return true, nil // another process was faster
	}
	if err != nil {
		return false, fmt.Errorf("remove batch %s: %w", id, err)
	}
	var b Batch
	if err := json.Unmarshal(entry.Value(), &b); err != nil {
		return false, fmt.Errorf("read batch %s: %w", id, err)
	}
	b.Removing = true // from here on no job of it is put into the queue again
	if err := s.putBatch(ctx, b); err != nil {
		return false, err
	}
	unfinished, err := s.removeJobs(ctx, id)
	if err == nil && unfinished {
		b.Removing = false
		return false, s.putBatch(ctx, b)
	}
	if err == nil {
		err = s.removeResults(ctx, id)
	}
	if err == nil {
		err = s.removeMessages(ctx, id)
	}
	if err == nil {
		err = s.removeCounters(ctx, id)
	}
	if err == nil {
		err = s.removeDigest(ctx, b)
	}
	if err == nil { // the last: where it is gone, all is
		err = s.batches.erase(ctx, "id."+id)
	}
	if err != nil {
		return false, fmt.Errorf("remove batch %s: %w", id, err)
	}
	return true, nil
}

// removeJobs removes the records of jobs that have ended, as they were read.
func (s *Store) removeJobs(ctx context.Context, id string) (left bool, err error) {
	jobs, err := s.Jobs(ctx, id)
	if err != nil || slices.ContainsFunc(jobs, func(j Job) bool { return !j.final() }) {
		return true, err
	}
	for _, j := range jobs {
		err := s.jobs.Delete(ctx, jobKey(id, j.Place), jetstream.LastRevision(j.revision))
		if isConflict(err) {
			left = true
			continue
		}
		if err != nil {
			return false, err //nolint:wrapcheck // Remove says what was done
		}
	}
	if left {
		return true, nil
	}
	return false, s.jobs.erase(ctx, id+".*")
}

// removeResults removes what came of the jobs of a batch and did not fit into their records.
func (s *Store) removeResults(ctx context.Context, id string) error {
	return s.removeObjects(ctx, s.results, resultBucket, func(object string) bool {
		return strings.HasPrefix(strings.TrimPrefix(object, patchObject), id+".")
	})
}

// removeMessages removes those that still say of jobs of a batch that they are to be done:
// of one that was cancelled before a worker had it.
func (s *Store) removeMessages(ctx context.Context, id string) error {
	var failed error
	err := s.eachMessage(ctx, func(m message, seq uint64) bool {
		if m.Batch != id {
			return true
		}
		failed = s.stream.DeleteMsg(ctx, seq)
		if errors.Is(failed, jetstream.ErrMsgNotFound) {
			failed = nil
		}
		return failed == nil
	})
	return errors.Join(err, failed)
}

// eachMessage reads what is in the stream of work, with its place there, until take wants no
// more.
func (s *Store) eachMessage(ctx context.Context, take func(m message, seq uint64) bool) error {
	for after := uint64(0); ; {
		msg, err := s.stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(workSubject+">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the messages of the queue: %w", err)
		}
		after = msg.Sequence
		var m message
		if json.Unmarshal(msg.Data, &m) == nil && !take(m, msg.Sequence) {
			return nil
		}
	}
}

func (s *Store) removeCounters(ctx context.Context, id string) error {
	err := s.purge(ctx, spentStream, spentSubject+id+".*")
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// removeDigest lets the same jobs be put into the queue again as a new batch.
func (s *Store) removeDigest(ctx context.Context, b Batch) error {
	same := "same." + b.Digest
	entry, err := s.batches.Get(ctx, same)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil
	}
	if err != nil || string(entry.Value()) != b.ID { // another batch of the same jobs has it
		return err //nolint:wrapcheck // Remove says what was done
	}
	err = s.batches.Delete(ctx, same, jetstream.LastRevision(entry.Revision()))
	if isConflict(err) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // Remove says what was done
	}
	last, err := s.batches.stream.GetLastMsgForSubject(ctx, bucketSubject+batchBucket+"."+same)
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && len(last.Data) > 0 { // a batch has taken it since
		return nil
	}
	if err == nil {
		err = s.batches.erase(ctx, same, jetstream.WithPurgeSequence(last.Sequence+1))
	}
	return err
}

// purge removes all messages of a subject.
func (s *Store) purge(ctx context.Context, stream, subject string) error {
	messages, err := s.js.Stream(ctx, stream)
	if err == nil {
		err = messages.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	return err //nolint:wrapcheck // the caller says what was done
}

// removeObject removes an object, and what says that it was there.
func (s *Store) removeObject(ctx context.Context, from jetstream.ObjectStore, bucket, name string) error {
	err := from.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err == nil {
		meta := objectSubject + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
		err = s.purge(ctx, objectStream+bucket, meta)
	}
	return err
}

func (s *Store) removeObjects(
	ctx context.Context,
	from jetstream.ObjectStore,
	bucket string,
	these func(name string) bool,
) error {
	objects, err := from.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was done
	}
	for _, object := range objects {
		if these(object.Name) {
			if err := s.removeObject(ctx, from, bucket, object.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// OldJournals are those in which nothing was written since a time, of runs that no job has
// which is to be done, or was done since then.
func (s *Store) OldJournals(ctx context.Context, before time.Time) ([]plan.RunID, error) {
	// A run that begins after this is named by its job before its journal is there.
	info, err := s.journal.Info(ctx, jetstream.WithSubjectFilter(journalSubject+">"))
	if err != nil {
		return nil, fmt.Errorf("list the journals of the queue: %w", err)
	}
	wanted, err := s.wantedRuns(ctx, before)
	if err != nil {
		return nil, err
	}
	var out []plan.RunID
	for subject := range info.State.Subjects {
		run := plan.RunID(strings.TrimPrefix(subject, journalSubject))
		if wanted[run] {
			continue
		}
		last, err := s.journal.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at the journal of run %s: %w", run, err)
		}
		if last.Time.Before(before) {
			out = append(out, run)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (s *Store) wantedRuns(ctx context.Context, before time.Time) (map[plan.RunID]bool, error) {
	wanted := map[plan.RunID]bool{}
	batches, err := s.Batches(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		jobs, err := s.Jobs(ctx, b.ID)
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			if !j.final() || !j.written.Before(before) {
				wanted[j.Run] = true
			}
		}
	}
	return wanted, nil
}

// RemoveJournals removes the journals of runs. A worker that comes back to one of them can
// append nothing more.
func (s *Store) RemoveJournals(ctx context.Context, runs []plan.RunID) error {
	for _, run := range runs {
		if err := s.journal.Purge(ctx, jetstream.WithPurgeSubject(journalSubject+string(run))); err != nil {
			return fmt.Errorf("remove the journal of run %s: %w", run, err)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	err := s.removeObjects(ctx, s.large, partBucket, func(object string) bool {
		run, _, _ := strings.Cut(object, ".")
		return slices.Contains(runs, plan.RunID(run))
	})
	if err != nil {
		return fmt.Errorf("remove what journals are made of: %w", err)
	}
	return nil
}
