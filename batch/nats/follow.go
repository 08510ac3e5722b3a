package nats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan"
)

// Lines are the events of a run as far as the queue has them, after the first n, byte
// for byte.
func (s *Store) Lines(ctx context.Context, run plan.RunID, after int) ([][]byte, error) {
	parts, err := s.parts(ctx, run, 0)
	out := linesOf(parts)
	return out[min(after, len(out)):], err
}

// Blobs are the texts that the events of a run name by their hash.
func (s *Store) Blobs(ctx context.Context, run plan.RunID) (out [][]byte, err error) {
	parts, err := s.parts(ctx, run, 0)
	for _, p := range parts {
		out = append(out, p.Blobs...)
	}
	return out, err
}

func linesOf(parts []Part) (out [][]byte) {
	for _, p := range parts {
		for _, line := range p.Events {
			out = append(out, line)
		}
	}
	return out
}

// Follow reads the events of the run of a job of a batch, byte for byte, and with wait
// those, too, that come, until the job has ended, begins anew or is gone.
func (s *Store) Follow(ctx context.Context, of string, j Job, wait bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		tick := time.NewTicker(defaultPoll / 4)
		defer tick.Stop()
		for place := uint64(0); ; {
			goesOn, err := s.goesOn(ctx, of, j, wait) // before it is read what came last
			parts, failed := s.parts(ctx, j.Run, place)
			if n := len(parts); n > 0 {
				place = parts[n-1].Place
			}
			stopped := func(line []byte) bool { return !yield(line, nil) }
			if slices.ContainsFunc(linesOf(parts), stopped) {
				return
			}
			if err = errors.Join(err, failed); err != nil {
				yield(nil, err)
			}
			if err != nil || !goesOn {
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// goesOn reports whether more may come of the run of a job.
func (s *Store) goesOn(ctx context.Context, of string, j Job, wait bool) (bool, error) {
	if !wait {
		return false, nil
	}
	latest, _, err := s.readJob(ctx, jobKey(of, j.Place))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil && latest.Run == j.Run && !latest.final(), err
}

// parts reads the journal of a run after a place, as far as it comes. For each part a queue
// that does not answer is asked again: a journal may be long, and the queue far away.
func (s *Store) parts(ctx context.Context, run plan.RunID, after uint64) (out []Part, err error) {
	for {
		var msg *jetstream.RawStreamMsg
		patient, cancel := context.WithTimeout(ctx, s.cfg.Patience)
		err := retry(patient, func(ctx context.Context) (err error) {
			msg, err = s.journal.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(journalSubject+string(run)))
			return err //nolint:wrapcheck // says below what was read
		})
		cancel()
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return out, nil
		}
		var p Part
		if err == nil {
			p, err = s.unpack(ctx, msg.Data)
		}
		if err != nil {
			return out, fmt.Errorf("read the journal of run %s in the queue: %w", run, err)
		}
		p.Place = msg.Sequence
		after = msg.Sequence
		out = append(out, p)
	}
}
