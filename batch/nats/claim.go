package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
)

// Worker takes jobs of all batches from a queue. It is a [batch.Queue]: the id of a
// job that it gives out has that of its batch before it.
type Worker struct {
	store     *Store
	name      string
	providers []string
	newRun    func() plan.RunID
	drain     bool

	wake  chan struct{} // there may be new work
	news  atomic.Bool   // and it may be in a lane that is not known
	end   func()        // stops listening for it
	turn  chan struct{} // holds a value while one asks for a job, on behalf of all
	lanes openLanes     // of who has the turn
	swept time.Time     // when it last looked for lost messages, of who has the turn

	mu   sync.Mutex
	held map[string]*lease // by the job's id as given out
}

var _ batch.Queue = (*Worker)(nil)

// WorkerConfig says what a worker is.
type WorkerConfig struct {
	// Name stays the same for as long as the worker's home does.
	Name string

	// Providers are those of models that it has. Jobs that need others are not for it.
	Providers []string

	// Drain has it take jobs until none is left for it. Else it waits for more.
	Drain bool

	NewRun func() plan.RunID
}

// NewWorker makes a worker.
func (s *Store) NewWorker(cfg WorkerConfig) (*Worker, error) {
	w := &Worker{
		store:     s,
		name:      cfg.Name,
		providers: cfg.Providers,
		newRun:    cfg.NewRun,
		drain:     cfg.Drain,
		wake:      make(chan struct{}, 1),
		turn:      make(chan struct{}, 1),
		held:      map[string]*lease{},
	}
	sub, err := s.conn.Subscribe(wakeSubject, func(m *natsgo.Msg) {
		if !w.lanes.knows(string(m.Data)) {
			w.news.Store(true)
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for new work: %w", err)
	}
	w.end = func() { _ = sub.Unsubscribe() } // the connection ends with the process
	return w, nil
}

// Name is the worker's.
func (w *Worker) Name() string { return w.name }

// Close stops listening. Jobs that are still held come to others once their leases
// end.
func (w *Worker) Close() {
	w.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.held {
		l.stop()
	}
}

// Claim implements [batch.Queue]. Of those that wait for a job of this worker, one asks
// the queue at a time; while there is none, ever more seldom.
func (w *Worker) Claim(ctx context.Context) (batch.Claimed, bool, error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return batch.Claimed{}, false, context.Cause(ctx)
	}
	defer func() { <-w.turn }()
	pause, fresh := defaultPoll, false
	for {
		claimed, ok, err := w.tryClaim(ctx, w.news.Swap(false) || fresh)
		switch {
		case ctx.Err() != nil:
			return batch.Claimed{}, false, context.Cause(ctx)
		case ok:
			return claimed, true, nil
		case err == nil && w.drain && fresh:
			return batch.Claimed{}, false, nil
		case err == nil && w.drain:
			fresh = true // there may be a lane that was not there when they were listed
			continue
		}
		if err == nil {
			w.sweep(ctx)
		}
		fresh = err != nil
		timer := time.NewTimer(pause - rand.N(pause/4)) //nolint:gosec // not all workers at the same moment
		select {
		case <-w.wake:
			pause = defaultPoll
		case <-timer.C:
			pause = min(2*pause, max(w.store.cfg.Lease/6, defaultPoll))
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// sweep has the queue look for lost messages now and then, while there is no work. What fails
// is tried again the next time.
func (w *Worker) sweep(ctx context.Context) {
	now := w.store.cfg.Now()
	if age := now.Sub(w.swept); age >= 0 && age < sweepLeases*w.store.cfg.Lease {
		return
	}
	w.swept = now
	_ = w.store.sweep(ctx)
}

// tryClaim takes the first job there is, of the highest priority. Fresh has it look which
// lanes there are.
func (w *Worker) tryClaim(ctx context.Context, fresh bool) (batch.Claimed, bool, error) {
	if err := w.lanes.read(ctx, w, fresh); err != nil {
		return batch.Claimed{}, false, err
	}
	for _, consumer := range w.lanes.open {
		for {
			msg, err := next(consumer, w.drain && fresh)
			if err != nil {
				return batch.Claimed{}, false, err
			}
			if msg == nil {
				break
			}
			claimed, ok, err := w.take(ctx, msg, consumer.CachedInfo().Config.AckWait)
			if ok || err != nil {
				return claimed, ok, err
			}
		}
	}
	return batch.Claimed{}, false, nil
}

// next is the next message, or nil where there is none right now. Sure is of a worker that
// ends where there is none: a queue has stored a message a moment before it counts it, and
// says at once that there is none, but looks through what it has for one who waits.
func next(consumer jetstream.Consumer, sure bool) (jetstream.Msg, error) {
	fetch := consumer.FetchNoWait
	if sure {
		fetch = func(n int) (jetstream.MessageBatch, error) {
			return consumer.Fetch(n, jetstream.FetchMaxWait(defaultPoll/4))
		}
	}
	fetched, err := fetch(1)
	if err != nil {
		return nil, fmt.Errorf("take a job: %w", err)
	}
	for msg := range fetched.Messages() {
		return msg, nil
	}
	if err := fetched.Error(); err != nil {
		return nil, fmt.Errorf("take a job: %w", err)
	}
	return nil, nil
}

// take makes of a message a job that this worker has; false where the message is of
// no use any more.
func (w *Worker) take(
	ctx context.Context,
	msg jetstream.Msg,
	term time.Duration,
) (c batch.Claimed, ok bool, err error) {
	var m message
	meta, err := msg.Metadata()
	if err == nil {
		err = json.Unmarshal(msg.Data(), &m)
	}
	if err != nil {
		return c, false, msg.Term() //nolint:wrapcheck // what no worker can read is thrown away
	}
	seq := meta.Sequence.Stream
	j, revision, err := w.store.readJob(ctx, m.key())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return c, false, msg.Ack() //nolint:wrapcheck // the batch is gone
	}
	if err != nil {
		return c, false, err // the message comes again once its lease ends
	}
	id := m.Batch + "/" + j.ID
	if w.adopt(id, msg, j.Lease) {
		return c, false, nil
	}
	duplicate := j.State == batch.JobRunning && j.Lease != nil && j.Lease.Seq != seq
	if m.Message != j.Message || duplicate || j.final() || j.State == batch.JobParked {
		return c, false, msg.Ack() //nolint:wrapcheck // one that is not acknowledged comes again
	}
	if w.lease(&j, seq) {
		revision, err = w.store.writeJob(ctx, m.key(), j, revision)
	} else {
		_, err = w.store.writeJob(ctx, m.key(), j, revision)
		if err == nil {
			return c, false, msg.Ack() //nolint:wrapcheck // one that is not acknowledged comes again
		}
	}
	if errors.Is(err, errChanged) {
		return c, false, msg.NakWithDelay(term / 2) //nolint:wrapcheck // another process is at it
	}
	if err != nil {
		return c, false, err
	}
	//nolint:contextcheck // a lease is kept alive until the job has a result, also where its worker is told to stop
	l := w.hold(id, m.key(), msg, j, revision, term)
	return batch.Claimed{
		Batch: m.Batch,
		ID:    id,
		Run:   j.Run,
		Spec:  j.Spec,
		Lost:  l.lost,
	}, true, nil
}

// lease gives a job to this worker, or makes it a dead letter and reports false.
func (w *Worker) lease(j *Job, seq uint64) bool {
	now := w.store.cfg.Now().UTC()
	if j.State == batch.JobRunning { // who had it has gone silent
		j.Lost++
		j.tell(now, j.Lease.Worker, "gave no sign of life any more")
	}
	if j.Lost >= w.store.cfg.Deliveries {
		j.State = batch.JobFailed
		j.Ended = now
		j.Dead = true
		j.Lease = nil
		j.Settled = "dead"
		j.Result, _ = json.Marshal(batch.Result{ // a struct of strings
			Why: fmt.Sprintf("dead letter: %d workers were given the job and did not come back", j.Lost),
		})
		return false
	}
	switch {
	case j.Run == "":
		j.Run = w.newRun()
	case j.Worker != w.name:
		j.tell(now, w.name, "takes run "+string(j.Run)+" up from "+j.Worker)
	}
	if j.Started.IsZero() {
		j.Started = now
	}
	j.State = batch.JobRunning
	j.Worker = w.name
	j.Lease = &Lease{
		ID:     string(w.newRun()),
		Worker: w.name,
		Seq:    seq,
		Since:  now,
	}
	return true
}
