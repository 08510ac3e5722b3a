package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	spentStream  = "PLAN_SPENT"
	spentSubject = "plan.spent." // and the batch, and what is counted
	pauseSubject = "plan.pause"
	counterStep  = "Nats-Incr"
)

// Read is a batch by its whole id, or [ErrNoBatch].
func (s *Store) Read(ctx context.Context, id string) (Batch, error) {
	b, err := s.readBatch(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = fmt.Errorf("read batch %s: %w", id, ErrNoBatch)
	}
	return b, err
}

// SetSettings changes what a batch is driven with.
func (s *Store) SetSettings(ctx context.Context, id string, settings json.RawMessage) error {
	b, err := s.Read(ctx, id)
	if err != nil {
		return err
	}
	b.Settings = settings
	return s.putBatch(ctx, b)
}

// Count adds to one of the counters of a batch, and returns how far it has come. What
// has an id is added once, however often it is said within two minutes. With nothing
// to add, it only looks. A server of NATS before 2.12 has no counters.
func (s *Store) Count(ctx context.Context, batch, what, id string, add int64) (total int64, err error) {
	msg := &natsgo.Msg{
		Subject: spentSubject + batch + "." + what,
		Header:  natsgo.Header{counterStep: {strconv.FormatInt(add, 10)}},
	}
	var options []jetstream.PublishOpt
	if add != 0 {
		options = append(options, jetstream.WithMsgID(id+"."+what))
	}
	ack, err := s.js.PublishMsg(ctx, msg, options...)
	if err != nil {
		return 0, fmt.Errorf("count what batch %s has used: %w", batch, err)
	}
	if ack.Duplicate { // the answer to the first was lost
		return s.Count(ctx, batch, what, "", 0)
	}
	if total, err = strconv.ParseInt(ack.Value, 10, 64); err != nil {
		return 0, fmt.Errorf("count what batch %s has used: %w", batch, err)
	}
	return total, nil
}

// EnableCounters makes room for the counters of batches.
func (s *Store) EnableCounters(ctx context.Context) error {
	_, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:              spentStream,
		Subjects:          []string{spentSubject + ">"},
		Storage:           jetstream.FileStorage,
		MaxMsgsPerSubject: 1,
		Replicas:          s.stream.CachedInfo().Config.Replicas,
		AllowMsgCounter:   true,
	})
	if err != nil {
		return fmt.Errorf("count what batches use (NATS does from 2.12 on): %w", err)
	}
	return nil
}

// pause is what a worker tells the others of a server that asked for one.
type pause struct {
	From    string  `json:"from"`
	Seconds float64 `json:"seconds"`
}

// TellPause tells all other workers that a model's server wants fewer calls, and none
// for a while. One that does not hear it finds out by itself.
func (w *Worker) TellPause(d time.Duration) {
	data, err := json.Marshal(pause{w.name, d.Seconds()})
	if err == nil {
		_ = w.store.conn.Publish(pauseSubject, data)
	}
}

// OnPause calls a function with each pause that another worker tells of, until the
// function that it returns is called.
func (w *Worker) OnPause(take func(time.Duration)) (end func(), err error) {
	sub, err := w.store.conn.Subscribe(pauseSubject, func(m *natsgo.Msg) {
		var p pause
		if json.Unmarshal(m.Data, &p) == nil && p.From != w.name {
			take(time.Duration(p.Seconds * float64(time.Second)))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listen for pauses: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // the connection ends with the process
}
