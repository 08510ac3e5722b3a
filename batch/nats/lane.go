package nats

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan/batch"
)

// lane is what jobs have in common that the same workers may take, and as urgently.
// Each has a subject in the stream of work, and a consumer.
type lane struct {
	priority int
	needs    string // the providers, sorted, with commas
}

func laneOf(e batch.Entry) lane { return lane{e.Priority, strings.Join(e.Needs, ",")} }

// subject has the needs in hex: names of providers may have dots.
func (l lane) subject() string {
	if l.needs == "" {
		return fmt.Sprint(workSubject, l.priority)
	}
	return fmt.Sprintf("%s%d.%x", workSubject, l.priority, l.needs)
}

func (l lane) consumer() string {
	if l.needs == "" {
		return fmt.Sprint("p", l.priority)
	}
	return fmt.Sprintf("p%d_%x", l.priority, l.needs)
}

// readLane reads the name of a consumer; false where it is no lane's.
func readLane(consumer string) (l lane, ok bool) {
	priority, needs, _ := strings.Cut(strings.TrimPrefix(consumer, "p"), "_")
	names, err := hex.DecodeString(needs)
	l.needs = string(names)
	if err == nil {
		l.priority, err = strconv.Atoi(priority)
	}
	return l, err == nil
}

// openTo says that a worker that has some providers may take from the lane.
func (l lane) openTo(providers []string) bool {
	for need := range strings.SplitSeq(l.needs, ",") {
		if need != "" && !slices.Contains(providers, need) {
			return false
		}
	}
	return true
}

// lanes are those that jobs have or had, the most urgent first. Among equals those
// come first that fewer workers may take from.
func (s *Store) lanes(ctx context.Context) ([]lane, error) {
	var out []lane
	names := s.stream.ConsumerNames(ctx)
	for name := range names.Name() {
		if l, ok := readLane(name); ok {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b lane) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(len(b.needs), len(a.needs)))
	})
	if err := names.Err(); err != nil {
		return nil, fmt.Errorf("look for work: %w", err)
	}
	return out, nil
}

// laneAge is for how long a worker trusts what it knows of lanes, where it is not told of
// one that it does not know.
const laneAge = time.Minute

// openLanes are the consumers of the lanes that a worker may take from, the most urgent
// first. To ask for them with each job would be most of what the queue is asked.
type openLanes struct {
	open []jetstream.Consumer
	at   time.Time // when they were read

	mu    sync.Mutex
	known map[string]bool // all consumers of lanes there were then
}

// knows reports whether a consumer was there when the lanes were read. "" is any.
func (o *openLanes) knows(consumer string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[consumer]
}

// read reads the lanes where they are not known well enough.
func (o *openLanes) read(ctx context.Context, w *Worker, fresh bool) error {
	now := w.store.cfg.Now()
	if age := now.Sub(o.at); !fresh && age >= 0 && age < laneAge {
		return nil
	}
	lanes, err := w.store.lanes(ctx)
	if err != nil {
		return err
	}
	before := map[string]jetstream.Consumer{}
	for _, c := range o.open {
		before[c.CachedInfo().Name] = c
	}
	exists := map[string]bool{}
	var open []jetstream.Consumer
	for _, l := range lanes {
		exists[l.consumer()] = true
		if !l.openTo(w.providers) {
			continue
		}
		c := before[l.consumer()]
		if c == nil {
			if c, err = w.store.stream.Consumer(ctx, l.consumer()); err != nil {
				return fmt.Errorf("take a job: %w", err)
			}
		}
		open = append(open, c)
	}
	o.open = open
	o.at = now
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = exists
	return nil
}

// addConsumer makes the consumer of a lane, from which all workers take that may.
func (s *Store) addConsumer(ctx context.Context, l lane) error {
	_, err := s.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       l.consumer(),
		FilterSubject: l.subject(),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       s.cfg.Lease,
		MaxDeliver:    -1, // dead letters are told by the job's record, with their story
		MaxAckPending: -1,
	})
	switch {
	case errors.Is(err, jetstream.ErrConsumerExists), errors.Is(err, jetstream.ErrConsumerNameAlreadyInUse):
		return nil
	case err != nil:
		return fmt.Errorf("make room for jobs of priority %d: %w", l.priority, err)
	}
	return nil
}
