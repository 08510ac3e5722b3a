package nats

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lease is a job that this worker has.
type lease struct {
	key   string
	id    string
	epoch uint64 // grows with each lease of the job
	stop  context.CancelFunc
	lost  chan struct{}

	mu       sync.Mutex
	msg      jetstream.Msg // the latest by which the job was given out
	revision uint64
	patch    []byte // the change, to be kept beside the result
	job      Job
}

// adopt keeps a message by which a job is given to this worker that has it already.
func (w *Worker) adopt(id string, msg jetstream.Msg, now *Lease) bool {
	w.mu.Lock()
	l := w.held[id]
	w.mu.Unlock()
	if l == nil || now == nil || now.ID != l.id {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.msg = msg
	return true
}

// hold keeps a lease alive until it is given back or lost.
func (w *Worker) hold(id, key string, msg jetstream.Msg, j Job, revision uint64, term time.Duration) *lease {
	ctx, stop := context.WithCancel(context.Background())
	l := &lease{
		key:      key,
		id:       j.Lease.ID,
		epoch:    revision,
		stop:     stop,
		lost:     make(chan struct{}),
		msg:      msg,
		revision: revision,
		job:      j,
	}
	w.mu.Lock()
	w.held[id] = l
	w.mu.Unlock()
	go w.keepAlive(ctx, l, term/3)
	return l
}

// keepAlive says every now and then that the job is being worked on, and looks
// whether it is still this worker's. A queue that cannot be reached for a while
// takes nothing away: only another lease does.
func (w *Worker) keepAlive(ctx context.Context, l *lease, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		msg := l.msg
		l.mu.Unlock()
		j, _, err := w.store.readJob(ctx, l.key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound), err == nil && (j.Lease == nil || j.Lease.ID != l.id):
			if ctx.Err() == nil {
				close(l.lost)
			}
			return
		case err == nil:
			_ = msg.InProgress() // where it is not heard, the next one may be
		}
	}
}

// Attach has the change of a job, as a patch, kept beside the result that is recorded
// of it next.
func (w *Worker) Attach(id string, patch []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.held[id]; l != nil {
		l.patch = patch
	}
}

// Held is a job as this worker was given it; false where it has no such job.
func (w *Worker) Held(id string) (Job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.held[id]
	if l == nil {
		return Job{}, false
	}
	return l.job, true
}
