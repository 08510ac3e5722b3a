package memory

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
)

// Part is what one append adds to a journal.
type Part struct {
	Events  []plan.Event // with their Seq
	Lines   [][]byte     // the same, byte for byte as they are stored
	Blobs   []plan.Blob  // that the events refer to
	Letters []int64      // of the inbox, that are taken with them
}

// Mirror keeps a journal in another place, too, from which another machine goes on
// with the run.
type Mirror interface {
	// Append returns once the part is kept there. Where it fails, nothing is appended
	// here either. It fails with [ErrNewLetters] where it has put letters into the inbox in
	// place of the part, so that the caller can look whether that still holds.
	Append(ctx context.Context, p Part) error
}

// ErrNewLetters is what a [Mirror] and [DB.PostSeen] fail with: letters have come since the inbox
// was looked into.
var ErrNewLetters = errors.New("letters have come for the run")

// MirrorTo has all that is appended from now on kept by a mirror first.
func (w *Writer) MirrorTo(m Mirror) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mirror = m
}

// AppendHere appends to a journal whose mirror has failed, without it. Who goes on with
// the run brings both together.
func (w *Writer) AppendHere(ctx context.Context, events ...plan.Event) ([]plan.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil && !w.unmirrored {
		return nil, w.err
	}
	w.mirror, w.err = nil, nil
	return w.commit(ctx, appendEntry{}, events)
}

// keepMirrored has the mirror keep an append. What waits unread is looked for before,
// and again where letters came: once the mirror has it, the append holds.
func (w *Writer) keepMirrored(ctx context.Context, e *appendEntry, events []plan.Event) error {
	p := Part{Letters: e.letters}
	for i, r := range e.records {
		p.Events = append(p.Events, r.event)
		p.Lines = append(p.Lines, []byte(r.line))
		p.Blobs = append(p.Blobs, events[i].Blobs...)
	}
	for {
		if err := requireRead(ctx, w.db.read, w.run, e.unread); err != nil {
			return err
		}
		err := w.mirror.Append(ctx, p)
		if errors.Is(err, ErrNewLetters) {
			continue
		}
		w.unmirrored = err != nil
		e.unread = nil
		return err
	}
}

// AppendLines appends events as they were written elsewhere, byte for byte, with what
// they refer to, and marks letters as taken with them. No mirror is asked.
func (w *Writer) AppendLines(ctx context.Context, lines [][]byte, blobs []plan.Blob, letters []int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || len(lines) == 0 {
		return w.err
	}
	p := &portable{tail: w.tail, sum: Transfer{Run: w.run}}
	e := appendEntry{
		writer:  w,
		letters: letters,
	}
	for _, line := range lines {
		err := p.event(line, portionVisitor{event: func(r record) error {
			r.packed = w.db.packer.pack(line)
			e.records = append(e.records, r)
			return nil
		}})
		if err != nil {
			return fmt.Errorf("append to run %s what was written elsewhere: %w", w.run, err)
		}
	}
	e.next = p.tail
	e.records[0].blobs = w.db.packer.blobs(blobs)
	if err := w.db.commits.submit(context.WithoutCancel(ctx), &e); err != nil {
		w.err = w.appendError(err)
		return w.err
	}
	w.tail = e.next
	w.db.feeds.publish(w.run, e.records)
	return nil
}

// Rewind takes the end of a journal away, after an event that is not the last one:
// another machine has gone on from there. Letters that were taken after it wait again.
func (w *Writer) Rewind(ctx context.Context, to int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || to >= w.tail.info.Head {
		return w.err
	}
	r := &rewind{w: w, next: journalTail{key: w.tail.key, token: w.tail.token}}
	for s, err := range w.db.storedLines(ctx, w.run, Query{}) {
		if err != nil {
			return err
		}
		if s.seq > to {
			break
		}
		var e plan.Event
		if err := decodeEvent(&e, w.run, s); err != nil {
			return err
		}
		r.next.chain = bytes.Clone(s.sha)
		r.next.info = r.next.info.fold(e)
	}
	if r.next.info.Head != to || to < 1 {
		return ruleError(fmt.Sprintf("run %s cannot be rewound to event %d", w.run, to))
	}
	if err := w.db.commits.submit(context.WithoutCancel(ctx), r); err != nil {
		w.err = w.appendError(err)
		return w.err
	}
	w.tail = r.next
	return nil
}

// rewind is a [Writer.Rewind] on its way to the disk.
type rewind struct {
	w    *Writer
	next journalTail
}

// write implements pending.
func (r *rewind) write(ctx context.Context, tx *txn) error {
	key, err := r.w.saveRun(ctx, tx, r.next)
	if err != nil {
		return err
	}
	for _, query := range []string{
		"DELETE FROM events WHERE run = ? AND seq > ?",
		"UPDATE inbox SET taken_seq = NULL WHERE run = ? AND taken_seq > ?",
	} {
		if _, err := tx.tx.ExecContext(ctx, query, key, r.next.info.Head); err != nil {
			return fmt.Errorf("rewind the journal: %w", err)
		}
	}
	return nil
}

// asker is what a question is put to: a database, or a transaction.
type asker interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// requireRead fails with [ErrUnread] where a letter of one of the kinds waits.
func requireRead(ctx context.Context, db asker, run plan.RunID, kinds []string) error {
	for _, kind := range kinds {
		var n int
		row := db.QueryRowContext(ctx, `SELECT count(*) FROM inbox JOIN runs ON run = key
			WHERE runs.id = ? AND kind = ? AND taken_seq IS NULL`, string(run), kind)
		if err := row.Scan(&n); err != nil {
			return fmt.Errorf("look into the inbox: %w", err)
		}
		if n > 0 {
			return ErrUnread
		}
	}
	return nil
}
