package batches

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// takeover is the run of a queue's job as this worker drives it. Its journal is in the
// queue: what of it is missing here was taken in, and nothing is appended here that the
// queue has not got. It is a [host.Mirror].
type takeover struct {
	ctx     context.Context //nolint:containedctx // that of the try, which no append hears else
	journal *nats.Journal
	db      *memory.DB
	run     plan.RunID

	moved   bool // another worker has driven the run since this one did
	bundles []worktree.Bundle

	mu      sync.Mutex
	kept    map[string]string // snapshots that the queue has: commits by ref
	letters map[int64]uint64  // place in the queue of those in the inbox here
	early   []nats.Part       // letters to a run that has not begun
	told    bool              // letters were put into the inbox since the last append
	cut     bool              // the queue did not answer
}

var _ host.Mirror = (*takeover)(nil)

// takeUp takes a run up that this worker was given the job of. What it returns is to be
// called once the run is not driven any more.
func (b *Batches) takeUp(
	ctx context.Context,
	db *memory.DB,
	worker *nats.Worker,
	try batch.Try,
) (t *takeover, end func(), err error) {
	journal, err := worker.Journal(try.Batch + "/" + try.ID)
	if err != nil {
		return nil, nil, err
	}
	parts, err := journal.TakeUp(ctx)
	if err != nil {
		return nil, nil, err
	}
	t = &takeover{
		ctx:     ctx,
		journal: journal,
		db:      db,
		run:     try.Run,
		kept:    map[string]string{},
		letters: map[int64]uint64{},
	}
	if err := t.takeIn(ctx, parts, worker.Name()); err != nil {
		return nil, nil, err
	}
	end, err = journal.OnTold(ctx, t.hear)
	return t, end, err
}

// story is what the queue has of a run.
type story struct {
	lines   [][]byte
	blobs   []plan.Blob
	letters []nats.Part // that no one has taken
	took    map[uint64]bool
	by      string // who wrote the last event
}

func (t *takeover) read(parts []nats.Part) story {
	s := story{took: map[uint64]bool{}}
	for _, p := range parts {
		for _, line := range p.Events {
			s.lines = append(s.lines, line)
			s.by = p.Worker
		}
		for _, data := range p.Blobs {
			s.blobs = append(s.blobs, plan.NewBlob(data))
		}
		for _, place := range p.Took {
			s.took[place] = true
		}
		if p.Letter != nil {
			s.letters = append(s.letters, p)
		}
		if len(p.Bundle) > 0 {
			t.bundles = append(t.bundles, worktree.Bundle{Refs: p.Refs, Data: p.Bundle})
			maps.Copy(t.kept, p.Refs)
		}
	}
	s.letters = slices.DeleteFunc(s.letters, func(p nats.Part) bool { return s.took[p.Place] })
	return s
}

// takeIn brings the journal here and that in the queue together. What another worker has
// added is appended, in the place of what this one could not tell the queue; where none
// has, the queue is told now.
func (t *takeover) takeIn(ctx context.Context, parts []nats.Part, me string) (err error) {
	s := t.read(parts)
	var here [][]byte
	for line, err := range t.db.Lines(ctx, t.run, 0) {
		if errors.Is(err, memory.ErrNoRun) {
			break
		}
		if err != nil {
			return err
		}
		here = append(here, line.JSON)
	}
	same := 0
	for same < min(len(here), len(s.lines)) && bytes.Equal(here[same], s.lines[same]) {
		same++
	}
	t.moved = len(s.lines) > 0 && (s.by != me || len(here) == 0)
	waiting, err := t.queued(ctx, s.took)
	if err != nil {
		return err
	}
	switch missing := s.lines[same:]; {
	case len(missing) > 0:
		if err := t.rewrite(ctx, same, missing, s.blobs, waiting); err != nil {
			return err
		}
	case len(here) > same:
		var late nats.Part
		for _, line := range here[same:] {
			late.Events = append(late.Events, line)
		}
		for done := false; !done; {
			var letters []nats.Part
			if letters, done, err = t.journal.Append(ctx, late); err != nil {
				return err
			}
			s.letters = append(s.letters, letters...)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deliver(ctx, s.letters)
}

// queued lists the letters in the inbox here that came from the queue, and returns those
// that were taken elsewhere.
func (t *takeover) queued(ctx context.Context, took map[uint64]bool) (taken []int64, err error) {
	letters, err := t.db.Letters(ctx, t.run)
	for _, l := range letters {
		var from queuedLetter
		if json.Unmarshal(l.Data, &from) != nil || from.Queued == 0 {
			continue
		}
		t.letters[l.ID] = from.Queued
		if took[from.Queued] {
			taken = append(taken, l.ID)
		}
	}
	return taken, err
}

// rewrite has the journal here go on as that in the queue does.
func (t *takeover) rewrite(
	ctx context.Context,
	same int,
	missing [][]byte,
	blobs []plan.Blob,
	taken []int64,
) (err error) {
	w, err := t.db.Own(ctx, t.run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if same > 0 {
		if err := w.Rewind(ctx, int64(same)); err != nil {
			return err
		}
	}
	return w.AppendLines(ctx, missing, blobs, taken)
}

// Kept implements host.Mirror.
func (t *takeover) Kept() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.kept)
}

// Append implements host.Mirror.
func (t *takeover) Append(ctx context.Context, p memory.Part, b worktree.Bundle) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.deliver(ctx, nil); err != nil {
		return err
	}
	if t.told {
		t.told = false
		return memory.ErrNewLetters
	}
	part := nats.Part{Refs: b.Refs, Bundle: b.Data}
	for _, line := range p.Lines {
		part.Events = append(part.Events, line)
	}
	for _, blob := range p.Blobs {
		part.Blobs = append(part.Blobs, blob.Data)
	}
	for _, id := range p.Letters {
		if place, ok := t.letters[id]; ok {
			part.Took = append(part.Took, place)
		}
	}
	letters, appended, err := t.journal.Append(t.ctx, part) //nolint:contextcheck // the try ends it, and nothing else
	if err != nil {
		if unreachable := new(nats.UnreachableError); errors.As(err, &unreachable) {
			t.cut = true
			return fmt.Errorf("%w: %w", host.ErrUnreachable, unreachable.Err)
		}
		return err
	}
	if err := t.deliver(ctx, letters); err != nil && !appended {
		return err
	}
	if !appended {
		t.told = false
		return memory.ErrNewLetters
	}
	maps.Copy(t.kept, b.Refs)
	return nil
}

// hear takes letters in while the run goes on. Where the queue does not answer, the next
// append finds out.
func (t *takeover) hear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx := context.WithoutCancel(t.ctx)
	if letters, err := t.journal.Letters(ctx); err == nil {
		_ = t.deliver(ctx, letters) // what could not be posted is posted with the next append
	}
}

// queuedLetter is a letter that came from the queue.
type queuedLetter struct {
	Queued uint64 `json:"queued"` // its place there
}

// deliver puts letters into the inbox here. The caller holds mu.
func (t *takeover) deliver(ctx context.Context, letters []nats.Part) error {
	t.early = append(t.early, letters...)
	for len(t.early) > 0 {
		l := t.early[0]
		if slices.Contains(slices.Collect(maps.Values(t.letters)), l.Place) {
			t.early = t.early[1:]
			continue
		}
		data := map[string]any{}
		_ = json.Unmarshal(l.Letter.Data, &data) // one without content says all by its kind
		if data == nil {
			data = map[string]any{}
		}
		data["queued"] = l.Place
		text, err := json.Marshal(data)
		if err != nil {
			return fmt.Errorf("take a letter in: %w", err)
		}
		id, err := t.db.Post(ctx, t.run, l.Letter.Kind, text)
		if errors.Is(err, memory.ErrNoRun) { // it is delivered once the run has begun
			return nil
		}
		if err != nil && !errors.Is(err, memory.ErrEnded) {
			return err
		}
		if err == nil {
			t.letters[id] = l.Place
			t.told = true
		}
		t.early = t.early[1:]
	}
	return nil
}

// lostQueue reports whether a run was stopped because of the queue, and not for what is of
// its own: then its job is given back.
func (t *takeover) lostQueue(err error) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut || errors.Is(err, batch.ErrLeaseLost)
}
