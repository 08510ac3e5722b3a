package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
)

const (
	journalStream  = "PLAN_JOURNAL"
	journalSubject = "plan.journal." // and the run
	toldSubject    = "plan.told."    // and the run: there is a letter for it
	partBucket     = "plan_parts"
	maxPart        = 512 << 10 // bytes of a part that is a message, and no object
	publishTimeout = 5 * time.Second
)

// Letter is what a run is told from elsewhere.
type Letter struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// UnreachableError says that the queue did not answer for as long as was waited.
type UnreachableError struct{ Err error }

// Error implements error.
func (e *UnreachableError) Error() string { return "the queue cannot be reached: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Journal is the journal of a run in the queue, for the worker that has its job. Each
// part is only taken right after the last one that the worker knows: that is the fence.
// Once another worker has taken the run up, this one can append nothing more.
type Journal struct {
	store  *Store
	run    plan.RunID
	worker string
	epoch  uint64

	mu    sync.Mutex
	last  uint64 // place of the last part that is known
	count int    // of parts that were written here
}

// Journal is that of the run of a job that this worker has.
func (w *Worker) Journal(id string) (*Journal, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.held[id]
	if l == nil {
		return nil, batch.ErrLeaseLost
	}
	return &Journal{
		store:  w.store,
		run:    l.job.Run,
		worker: w.name,
		epoch:  l.epoch,
	}, nil
}

// TakeUp reads the journal, and makes it this worker's: from then on who had it before
// can append nothing more. A worker whose job was given to another one meanwhile does
// not get it any more.
func (j *Journal) TakeUp(ctx context.Context) (parts []Part, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for mine := false; err == nil && !mine; {
		var more []Part
		if more, err = j.store.parts(ctx, j.run, j.last); err != nil {
			return parts, err
		}
		for _, p := range more {
			if p.Epoch > j.epoch {
				return parts, batch.ErrLeaseLost
			}
			j.last = p.Place
		}
		parts = append(parts, more...)
		err = j.retry(ctx, func(ctx context.Context) error {
			data, err := j.store.pack(ctx, j.run, j.sign(Part{}))
			if err != nil {
				return err
			}
			place, err := j.store.publish(ctx, j.run, data, jetstream.WithExpectLastSequencePerSubject(j.last))
			if isConflict(err) { // there is more to be read
				return nil
			}
			if mine = err == nil; mine {
				j.last = place
			}
			return err
		})
	}
	return parts, err
}

// sign says who writes a part.
func (j *Journal) sign(p Part) Part {
	j.count++
	p.ID = fmt.Sprintf("%d.%d", j.epoch, j.count)
	p.Epoch = j.epoch
	p.Worker = j.worker
	return p
}

// Append adds a part. Where letters have come since, it may not be done: then the caller
// looks at them first. A queue that does not answer is asked again until it is time to
// give up; the part may have reached it all the same. Of a journal that another worker
// has taken up it is a [batch.ErrLeaseLost].
func (j *Journal) Append(ctx context.Context, p Part) (letters []Part, done bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p = j.sign(p)
	var data []byte
	err = j.retry(ctx, func(ctx context.Context) (err error) {
		data, err = j.store.pack(ctx, j.run, p)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	err = j.retry(ctx, func(ctx context.Context) error {
		place, err := j.store.publish(ctx, j.run, data, jetstream.WithExpectLastSequencePerSubject(j.last))
		switch {
		case err == nil:
			done = true
			j.last = place
		case isConflict(err):
			letters, done, err = j.refused(ctx, p.ID)
		}
		return err
	})
	return letters, done, err
}

// Letters are those that have come since the journal was last read or written.
func (j *Journal) Letters(ctx context.Context) ([]Part, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	letters, _, err := j.catchUp(ctx, "")
	return letters, err
}

// refused looks why the last part is not the one that was known. Where nothing has come
// after it, the journal was removed.
func (j *Journal) refused(ctx context.Context, id string) (letters []Part, found bool, err error) {
	letters, found, err = j.catchUp(ctx, id)
	if err == nil && !found && len(letters) == 0 {
		err = batch.ErrLeaseLost
	}
	return letters, found, err
}

// catchUp reads what has come since. Found says that a part is among it.
func (j *Journal) catchUp(ctx context.Context, id string) (letters []Part, found bool, err error) {
	parts, err := j.store.parts(ctx, j.run, j.last)
	if err != nil {
		return nil, false, err
	}
	for _, p := range parts {
		switch {
		case p.Letter != nil:
			letters = append(letters, p)
		case p.ID != "" && p.ID == id:
			found = true
		default:
			return nil, false, batch.ErrLeaseLost
		}
	}
	if len(parts) > 0 {
		j.last = parts[len(parts)-1].Place
	}
	return letters, found, nil
}

// retry does something again until the queue answers, for as long as it is to be waited,
// or a moment once ctx has ended.
func (j *Journal) retry(ctx context.Context, do func(context.Context) error) error {
	whole, end := context.WithTimeout(context.WithoutCancel(ctx), j.store.cfg.Patience)
	defer end()
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(defaultPoll)
		defer timer.Stop()
		select {
		case <-timer.C:
			end()
		case <-whole.Done():
		}
	})
	defer stop()
	return retry(whole, do)
}

// retry does something again for as long as the queue does not answer, until ctx ends. A
// request that reaches a server just before it ends is lost, and its answer never comes.
func retry(ctx context.Context, do func(context.Context) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, publishTimeout)
		err := do(once)
		cancel()
		if err == nil || !isAway(err) {
			return err
		}
		pause := time.NewTimer(defaultPoll / 4)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return &UnreachableError{err}
		}
	}
}

// isAway reports whether an error is that the queue does not answer, or cannot now: a cluster
// refuses what is written over a record that another write is on its way to.
func isAway(err error) bool {
	if refused := new(jetstream.APIError); errors.As(err, &refused) {
		return refused.Code >= http.StatusInternalServerError ||
			refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant
	}
	return slices.ContainsFunc([]error{
		context.DeadlineExceeded,
		context.Canceled,
		natsgo.ErrTimeout,
		natsgo.ErrNoResponders,
		natsgo.ErrDisconnected,
		natsgo.ErrConnectionClosed,
		natsgo.ErrConnectionReconnecting,
		natsgo.ErrReconnectBufExceeded,
		jetstream.ErrNoStreamResponse,
	}, func(away error) bool { return errors.Is(err, away) })
}

// OnTold calls a function once it listens, and from then on whenever the run may have a
// letter, until the function that it returns is called.
func (j *Journal) OnTold(ctx context.Context, do func()) (end func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, j.store.cfg.Patience)
	defer cancel()
	sub, err := j.store.conn.Subscribe(toldSubject+string(j.run), func(*natsgo.Msg) { do() })
	if err == nil {
		err = j.store.conn.FlushWithContext(ctx) // until then the queue may not know of it
	}
	if err != nil {
		_ = sub.Unsubscribe() // there may be none
		return nil, fmt.Errorf("listen for letters: %w", err)
	}

	do() // for what came before it listened

	return func() { _ = sub.Unsubscribe() }, nil // the connection ends with the process
}

// Tell puts a letter into the journal of a run, which the worker that drives the run
// reads at its next step, or the next one that takes it up.
func (s *Store) Tell(ctx context.Context, run plan.RunID, l Letter) error {
	if len(l.Data) > maxPart/2 {
		return fmt.Errorf("tell run %s: the letter has %d KiB, and at most %d are taken",
			run, len(l.Data)>>10, maxPart>>11)
	}
	data, err := s.pack(ctx, run, Part{Letter: &l})
	if err == nil {
		_, err = s.publish(ctx, run, data)
	}
	if err == nil {
		err = s.conn.Publish(toldSubject+string(run), nil)
	}
	if err != nil {
		return fmt.Errorf("tell run %s: %w", run, err)
	}
	return nil
}

// createJournals makes room for journals.
func (s *Store) createJournals(ctx context.Context, replicas int) error {
	_, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:     journalStream,
		Subjects: []string{journalSubject + ">"},
		Storage:  jetstream.FileStorage,
		Replicas: replicas,
	})
	if err == nil {
		_, err = s.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket:   partBucket,
			Storage:  jetstream.FileStorage,
			Replicas: replicas,
		})
	}
	return err //nolint:wrapcheck // Open says what was done
}

func (s *Store) publish(
	ctx context.Context,
	run plan.RunID,
	data []byte,
	options ...jetstream.PublishOpt,
) (place uint64, err error) {
	ack, err := s.js.Publish(ctx, journalSubject+string(run), data, options...)
	if err != nil {
		return 0, fmt.Errorf("write to the journal of run %s in the queue: %w", run, err)
	}
	return ack.Sequence, nil
}
