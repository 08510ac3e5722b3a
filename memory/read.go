package memory

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
)

// A page is what one read transaction reads: as many lines as fit both bounds,
// and at least one.
const (
	pageLines = 256
	pageBytes = 1 << 20
)

// Query chooses events of a run. Its zero value chooses all.
type Query struct {
	After int64            // only events with a greater Seq
	Conv  string           // only events of this conversation; "" means any
	Types []plan.EventType // only events of these types; empty means any
}

// Line is one event as it is stored.
type Line struct {
	Seq  int64
	JSON []byte // the exact bytes that were committed, without a newline
}

// storedLine is a line and its place in the hash chain. The line is a string, as
// SQLite hands it over, so that an event can keep parts of it.
type storedLine struct {
	seq  int64
	line string
	sha  []byte
	prev []byte // sha of the event before, where that was not read
	// What stands beside the line so that it can be found.
	typ  plan.EventType
	conv string
}

func (s storedLine) bytes() Line { return Line{Seq: s.seq, JSON: []byte(s.line)} }

// Events returns the events of a run in the order of Seq. Events that are
// committed while it goes on may be included. The last pair holds an error if
// there was one: [ErrNoRun], or what stopped the reading.
func (db *DB) Events(ctx context.Context, run plan.RunID, q Query) iter.Seq2[plan.Event, error] {
	return func(yield func(plan.Event, error) bool) {
		for s, err := range db.storedLines(ctx, run, q) {
			var e plan.Event
			if err == nil {
				err = decodeEvent(&e, run, s)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// ReadAll returns all events of a run, like [DB.Events]. It decodes them on all
// processors: a run of 10,000 events should go on at once.
func (db *DB) ReadAll(ctx context.Context, run plan.RunID) ([]plan.Event, error) {
	var decoding errgroup.Group
	decoding.SetLimit(runtime.GOMAXPROCS(0))
	var parts []*[]plan.Event
	var lines []storedLine
	decode := func() {
		part, todo := &[]plan.Event{}, lines
		parts, lines = append(parts, part), nil
		decoding.Go(func() (err error) {
			*part, err = decodeAll(run, todo)
			return err
		})
	}
	for s, err := range db.storedLines(ctx, run, Query{}) {
		if err != nil {
			_ = decoding.Wait() // the first fault is this one
			return nil, err
		}
		if lines = append(lines, s); len(lines) == pageLines {
			decode()
		}
	}
	decode()
	if err := decoding.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // decodeAll's
	}
	out := make([]plan.Event, 0, len(parts)*pageLines)
	for _, part := range parts {
		out = append(out, *part...)
	}
	return out, nil
}

func decodeAll(run plan.RunID, lines []storedLine) ([]plan.Event, error) {
	out := make([]plan.Event, len(lines))
	for i, s := range lines {
		if err := decodeEvent(&out[i], run, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decodeEvent does not go through encoding/json, which would look at every byte
// twice more.
func decodeEvent(e *plan.Event, run plan.RunID, s storedLine) error {
	if err := e.Read(s.line); err != nil {
		return fmt.Errorf("read event %d of run %s: %w", s.seq, run, err)
	}
	return nil
}

// Lines returns the stored bytes of the events of a run whose Seq is greater
// than after, like [DB.Events].
func (db *DB) Lines(ctx context.Context, run plan.RunID, after int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for s, err := range db.storedLines(ctx, run, Query{After: after}) {
			if !yield(s.bytes(), err) {
				return
			}
		}
	}
}

// storedLines reads page by page. No connection is held, and no read transaction
// open, while the consumer works. No reader gets anything that is not what was
// committed: a [*ChainError] ends it before the first event that is not. One that
// chooses events does not see that others are missing.
func (db *DB) storedLines(ctx context.Context, run plan.RunID, q Query) iter.Seq2[storedLine, error] {
	return func(yield func(storedLine, error) bool) {
		now, err := db.readJournalState(ctx, run)
		if err == nil && q.Conv == "" && len(q.Types) == 0 {
			var proof *chainVerifier
			if proof, err = db.verifierAfter(ctx, run, now, q.After); err == nil {
				err = db.walkEvents(ctx, now.key, q, func(s storedLine) error {
					if err := proof.next(s); err != nil {
						return err
					}
					return stopUnless(yield(s, nil))
				}, proof.end)
			}
		} else if err == nil {
			visit := func(s storedLine) error {
				if !bytes.Equal(chainHash(s.prev, []byte(s.line)), s.sha) {
					return &ChainError{
						Run: run,
						Seq: s.seq,
						Why: whyChanged,
					}
				}
				return stopUnless(yield(s, nil))
			}
			err = db.walkEvents(ctx, now.key, q, visit, func() error { return nil })
		}
		if err != nil && !errors.Is(err, errStopReading) {
			yield(storedLine{}, db.runError("read", run, err))
		}
	}
}

// errStopReading ends a reading whose consumer has left.
var errStopReading = errors.New("nobody reads on")

func stopUnless(more bool) error {
	if more {
		return nil
	}
	return errStopReading
}

// walkEvents visits events until there are none, and then the end.
func (db *DB) walkEvents(
	ctx context.Context,
	key int64,
	q Query,
	visit func(storedLine) error,
	end func() error,
) error {
	for {
		page, err := db.page(ctx, key, q)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return end()
		}
		for _, s := range page {
			if err := visit(s); err != nil {
				return err
			}
			q.After = s.seq
		}
	}
}

// journalState is where a journal stood at one moment.
type journalState struct {
	key, head int64
	chain     []byte
	ended     bool
}

func (db *DB) readJournalState(ctx context.Context, run plan.RunID) (journalState, error) {
	var s journalState
	row := db.stmt.standing.QueryRowContext(ctx, string(run))
	err := row.Scan(&s.key, &s.head, &s.chain, &s.ended)
	return s, err //nolint:wrapcheck // the callers name the run
}

func (db *DB) page(ctx context.Context, key int64, q Query) ([]storedLine, error) {
	query := strings.Builder{}
	query.WriteString("SELECT seq, type, conv, line, packed, sha, ")
	if whole := q.Conv == "" && len(q.Types) == 0; whole {
		query.WriteString("NULL")
	} else {
		query.WriteString("(SELECT sha FROM events AS prev WHERE prev.run = e.run AND prev.seq = e.seq - 1)")
	}
	query.WriteString(" FROM events AS e WHERE run = ? AND seq > ?")
	args := []any{key, q.After}
	if q.Conv != "" {
		query.WriteString(" AND conv = ? AND conv <> ''") // the second half chooses the index
		args = append(args, q.Conv)
	}
	if len(q.Types) > 0 {
		query.WriteString(" AND type IN (" + placeholders(len(q.Types)) + ")")
		for _, t := range q.Types {
			args = append(args, string(t))
		}
	}
	query.WriteString(" ORDER BY seq LIMIT ?")
	rows, err := db.read.QueryContext(ctx, query.String(), append(args, pageLines)...)
	if err != nil {
		return nil, err //nolint:wrapcheck // stored names the run
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var page []storedLine
	for size := 0; size < pageBytes && rows.Next(); {
		var s storedLine
		var packed sql.RawBytes
		if err := rows.Scan(&s.seq, &s.typ, &s.conv, &s.line, &packed, &s.sha, &s.prev); err != nil {
			return nil, err //nolint:wrapcheck // stored names the run
		}
		if packed != nil {
			line, err := db.packer.unpack(packed)
			if err != nil {
				line = nil // as what it is not: no hash fits it
			}
			s.line = string(line)
		}
		page = append(page, s)
		size += len(s.line)
	}
	return page, rows.Err()
}

// Blob returns the content with this hash, or [ErrNoBlob], or a [*BlobError] where
// it is not the content any more.
func (db *DB) Blob(ctx context.Context, hash string) ([]byte, error) {
	var data, packed []byte
	err := db.read.QueryRowContext(ctx, "SELECT data, packed FROM blobs WHERE hash = ?", hash).Scan(&data, &packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read blob %q: %w; %s", hash, ErrNoBlob, hintDamaged)
	}
	if err != nil {
		return nil, db.wrapError("read a blob in", err)
	}
	return db.packer.content(hash, data, packed)
}
