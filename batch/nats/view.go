package nats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// View is the batches of a queue and what is made of each of their jobs, for who looks at
// them again and again: only what has changed since is read. It is safe for concurrent use.
type View[T any] struct {
	batches bucketView[Batch]
	jobs    bucketView[T]
}

// NewView begins to look at a queue. Read makes of a job of a batch what is kept of it.
func NewView[T any](s *Store, read func(ctx context.Context, of string, j Job) (T, error)) *View[T] {
	v := &View[T]{}
	v.batches = bucketView[Batch]{
		bucket: s.batches,
		read: func(_ context.Context, key string, value []byte) (b Batch, err error) {
			if strings.HasPrefix(key, "id.") {
				err = json.Unmarshal(value, &b)
			}
			return b, err //nolint:wrapcheck // what reads the bucket says of which key
		},
	}
	v.jobs = bucketView[T]{
		bucket: s.jobs,
		read: func(ctx context.Context, key string, value []byte) (T, error) {
			var j Job
			if err := json.Unmarshal(value, &j); err != nil {
				var none T
				return none, err //nolint:wrapcheck // what reads the bucket says of which key
			}
			of, _, _ := strings.Cut(key, ".")
			return read(ctx, of, j)
		},
	}
	return v
}

// Close stops looking.
func (v *View[T]) Close() {
	v.batches.close()
	v.jobs.close()
}

// Batches lists the batches, newest first.
func (v *View[T]) Batches(ctx context.Context) (out []Batch, err error) {
	err = v.batches.now(ctx, func(all map[string]viewed[Batch]) error {
		for _, b := range all {
			if b.value.ID != "" && !b.value.Removing {
				out = append(out, b.value)
			}
			err = errors.Join(err, b.err)
		}
		return err
	})
	slices.SortFunc(out, newestFirst)
	return out, err
}

// Jobs are what is kept of all jobs, by their batch, in the order of the list that they
// came from.
func (v *View[T]) Jobs(ctx context.Context) (out map[string][]T, err error) {
	type placed struct {
		place int
		viewed[T]
	}
	in := map[string][]placed{}
	err = v.jobs.now(ctx, func(all map[string]viewed[T]) error {
		for key, j := range all {
			of, place, _ := strings.Cut(key, ".")
			n, _ := strconv.Atoi(place) // as it was written
			in[of] = append(in[of], placed{n, j})
			err = errors.Join(err, j.err)
		}
		return err
	})
	out = make(map[string][]T, len(in))
	for of, jobs := range in {
		slices.SortFunc(jobs, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
		for _, j := range jobs {
			out[of] = append(out[of], j.value)
		}
	}
	return out, err
}

// viewed is what was made of one key, or why that could not be.
type viewed[T any] struct {
	value T
	err   error
}

// bucketView is what was made of all keys of a bucket.
type bucketView[T any] struct {
	bucket bucket
	read   func(ctx context.Context, key string, value []byte) (T, error)

	mu      sync.Mutex
	all     map[string]viewed[T]
	whole   bool          // all that was there when it began to look is known
	upTo    uint64        // revision of the last change that has come
	began   uint64        // revision of the last change when it began to look
	changed chan struct{} // closed with the next one
	end     context.CancelFunc
}

// now calls take with what is in the bucket at this time. A queue that does not answer is
// an error, whatever was known before.
func (b *bucketView[T]) now(ctx context.Context, take func(map[string]viewed[T]) error) error {
	info, err := b.bucket.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at the queue: %w", err)
	}
	changes := info.State.LastSeq        // of what was removed since, too
	last, err := b.bucket.last(ctx, ">") // which can come still
	if err != nil {
		return fmt.Errorf("look at the queue: %w", err)
	}
	late := time.NewTicker(catchUpTime)
	defer late.Stop()
	for {
		b.mu.Lock()
		if b.end == nil {
			err = b.begin(ctx, changes)
		}
		if err != nil || b.whole && b.upTo >= last && max(b.upTo, b.began) >= changes {
			if err == nil {
				err = take(b.all)
			}
			b.mu.Unlock()
			return err
		}
		changed, whole := b.changed, b.whole
		b.mu.Unlock()
		select {
		case <-changed:
		case <-late.C:
			if whole {
				b.close()
			}
		case <-ctx.Done():
			return fmt.Errorf("look at the queue: %w", context.Cause(ctx))
		}
	}
}

// begin reads the bucket, and what changes from then on. The caller holds mu.
func (b *bucketView[T]) begin(ctx context.Context, changes uint64) error {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx)) // for longer than who looks now
	watch, err := b.bucket.watch(ctx, ">")
	if err != nil {
		end()
		return fmt.Errorf("look at the queue: %w", err)
	}
	b.all = map[string]viewed[T]{}
	b.whole = false
	b.upTo = 0
	b.began = changes // what is gone by now does not come
	if b.changed != nil {
		close(b.changed) // others that wait look at what there is now
	}
	b.changed = make(chan struct{})
	b.end = end
	go func() {
		defer watch.Stop() //nolint:errcheck // it is only read from
		for {
			select {
			case entry, open := <-watch.Updates():
				if !open || !b.take(ctx, entry) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// take takes a change in; nil says that all there was has come. False says that it is not
// looked for any more.
func (b *bucketView[T]) take(ctx context.Context, entry jetstream.KeyValueEntry) bool {
	var next viewed[T]
	removed := entry == nil || entry.Operation() != jetstream.KeyValuePut
	if !removed {
		if next.value, next.err = b.read(ctx, entry.Key(), entry.Value()); next.err != nil {
			next.err = fmt.Errorf("read %s: %w", entry.Key(), next.err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	switch {
	case entry == nil:
		b.whole = true
	case removed:
		delete(b.all, entry.Key())
		b.upTo = max(b.upTo, entry.Revision())
	default:
		b.all[entry.Key()] = next
		b.upTo = max(b.upTo, entry.Revision())
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return true
}

func (b *bucketView[T]) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		b.end()
		b.end = nil
	}
}
