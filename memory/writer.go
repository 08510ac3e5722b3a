package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan"
)

// Writer is the one writer of a run. Its methods may be called from several
// goroutines; appends take turns.
type Writer struct {
	db   *DB
	lock *flock.Flock
	run  plan.RunID

	mu   sync.Mutex
	err  error // the first failure; nothing is appended after it
	tail journalTail

	mirror     Mirror // nil for none
	unmirrored bool   // it is what failed
}

// journalTail is the end of a journal, and what the next append continues.
type journalTail struct {
	key   int64 // 0 until the run exists
	token int64
	chain []byte
	info  RunInfo
}

// Own makes the caller the only writer of a run, which need not exist yet. It
// fails with a [*HeldError] while another process, or another Writer of this
// one, owns the run. The ownership ends with [Writer.Close] or with the process.
func (db *DB) Own(ctx context.Context, run plan.RunID) (*Writer, error) {
	lock, err := db.lockRun(ctx, run)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		db:   db,
		lock: lock,
		run:  run,
	}
	if err := w.takeOver(ctx); err != nil {
		return nil, errors.Join(db.wrapError(fmt.Sprintf("own run %s in", run), err), lock.Close())
	}
	return w, nil
}

// takeOver raises the fencing token, so that a writer which lost its lock
// without noticing cannot append any more.
func (w *Writer) takeOver(ctx context.Context) error {
	tx, err := w.db.write.begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	if _, err := tx.ExecContext(ctx, "UPDATE runs SET token = token + 1 WHERE id = ?", string(w.run)); err != nil {
		return fmt.Errorf("raise the token: %w", err)
	}
	var t journalTail
	row := tx.QueryRowContext(ctx, "SELECT "+runColumns+", key, token, chain FROM runs WHERE id = ?", string(w.run))
	t.info, err = scanRun(row.Scan, &t.key, &t.token, &t.chain)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the run: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	w.tail = t
	return nil
}

// Run is the run whose journal it writes.
func (w *Writer) Run() plan.RunID { return w.run }

// Append commits events in one transaction and returns them with their Seq.
// When it returns, they are on disk. The first event of a run is its RunStart,
// and nothing follows its RunEnd.
//
// Append does not stop when ctx ends: what has happened is recorded, also while
// a run is being cancelled. After an error nothing can be appended any more,
// and every later call returns that same error.
func (w *Writer) Append(ctx context.Context, events ...plan.Event) ([]plan.Event, error) {
	return w.AppendTaking(ctx, nil, events...)
}

// AppendTaking is [Writer.Append], and marks letters of the inbox as taken in
// the same transaction. Without events it only marks them.
func (w *Writer) AppendTaking(ctx context.Context, letters []int64, events ...plan.Event) ([]plan.Event, error) {
	return w.AppendUnlessUnread(ctx, nil, letters, events...)
}

// AppendUnlessUnread is [Writer.AppendTaking] where no letter of one of the kinds
// waits in the inbox: else it fails with [ErrUnread], nothing is changed, and the
// writer can go on. A letter is so either read before these events or, where they
// end the run, refused.
func (w *Writer) AppendUnlessUnread(
	ctx context.Context,
	kinds []string,
	letters []int64,
	events ...plan.Event,
) ([]plan.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	if len(letters) == 0 && len(events) == 0 {
		return nil, nil
	}
	return w.commit(ctx, appendEntry{unread: kinds, letters: letters}, events)
}

// AppendImported is [Writer.Append] of the beginning of a run, and notes in the same
// transaction that it was written elsewhere up to an event ([DB.Imported]): for one
// that begins as an imported run does.
func (w *Writer) AppendImported(ctx context.Context, upTo int64, events ...plan.Event) ([]plan.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	return w.commit(ctx, appendEntry{imported: upTo}, events)
}

// commit appends events with all else that an entry asks for.
func (w *Writer) commit(ctx context.Context, e appendEntry, events []plan.Event) ([]plan.Event, error) {
	out, err := w.append(context.WithoutCancel(ctx), e, events)
	if errors.Is(err, ErrUnread) {
		return nil, fmt.Errorf("append to run %s: %w", w.run, err)
	}
	if err != nil {
		w.err = w.appendError(err)
		return nil, w.err
	}
	return out, nil
}

// record is one event as it is stored.
type record struct {
	event  plan.Event
	line   string
	packed []byte // the line compressed, nil where it is kept as it is
	blobs  []storedBlob
	sha    []byte
}

// stored is the line as its two columns have it.
func (r record) stored() (line string, packed []byte) {
	if r.packed != nil {
		return "", r.packed
	}
	return r.line, nil
}

// appendEntry is an append on its way to the disk.
type appendEntry struct {
	writer  *Writer
	unread  []string // kinds of letters that must not wait
	letters []int64
	// imported is the last event of what was written elsewhere; 0 notes nothing.
	imported int64
	next     journalTail
	records  []record
}

func (w *Writer) append(ctx context.Context, e appendEntry, events []plan.Event) ([]plan.Event, error) {
	next, records, err := w.tail.extend(w.run, events, &w.db.packer)
	if err != nil {
		return nil, err
	}
	e.writer, e.next, e.records = w, next, records
	if w.mirror != nil {
		if err := w.keepMirrored(ctx, &e, events); err != nil {
			return nil, err
		}
	}
	if err := w.db.commits.submit(ctx, &e); err != nil {
		return nil, err
	}
	w.tail = e.next
	w.db.feeds.publish(w.run, records)
	out := make([]plan.Event, len(records))
	for i, r := range records {
		out[i] = r.event
	}
	return out, nil
}

// write implements pending.
func (e *appendEntry) write(ctx context.Context, tx *txn) error {
	w := e.writer
	err := requireRead(ctx, tx.tx, w.run, e.unread)
	if err != nil {
		return err
	}
	if e.next.key, err = w.saveRun(ctx, tx, e.next); err != nil {
		return err
	}
	if err := w.insert(ctx, tx, e.next.key, e.records); err != nil {
		return err
	}
	if e.imported > 0 {
		if err := w.noteImported(ctx, tx, e.imported); err != nil {
			return err
		}
	}
	for _, id := range e.letters {
		res, err := tx.exec(ctx, w.db.stmt.takeLetter, e.next.info.Head, id, e.next.key)
		if err != nil {
			return fmt.Errorf("take letter %d: %w", id, err)
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(ruleError(fmt.Sprintf("letter %d is not waiting in this run's inbox", id)), err)
		}
	}
	return nil
}

// extend gives events their place after t and returns the tail that they make.
func (t journalTail) extend(
	run plan.RunID,
	events []plan.Event,
	pack *packer,
) (journalTail, []record, error) {
	records := make([]record, len(events))
	var line []byte
	for i, e := range events {
		e.Seq = t.info.Head + 1
		if err := t.checkNext(run, e); err != nil {
			return journalTail{}, nil, err
		}
		var err error
		if line, err = e.AppendJSON(line[:0]); err != nil {
			return journalTail{}, nil, ruleError(err.Error())
		}
		event := e
		if projected(e.Type()) { // what the row says must follow from the bytes that are stored
			if err := event.UnmarshalJSON(line); err != nil {
				return journalTail{}, nil, ruleError(err.Error())
			}
		}
		if err := checkRunEnd(event); err != nil {
			return journalTail{}, nil, err
		}
		t.chain = chainHash(t.chain, line)
		t.info = t.info.fold(event)
		records[i] = record{ // packed here, while no other writer waits for it
			event:  e,
			line:   string(line),
			packed: pack.pack(line),
			blobs:  pack.blobs(e.Blobs),
			sha:    t.chain,
		}
	}
	return t, records, nil
}

// saveRun writes the row of the run, if it is still this writer's to write,
// and returns the row's key.
func (w *Writer) saveRun(ctx context.Context, tx *txn, next journalTail) (int64, error) {
	var res sql.Result
	var err error
	values := next.info.values(next.chain)
	switch {
	case w.tail.key != 0:
		values = append(values, w.tail.key, w.tail.token, w.tail.info.Head)
		res, err = tx.exec(ctx, w.db.stmt.updateRun, values...)
	case next.info.Head != 0:
		values = append(values, string(w.run), next.token, next.info.Created.UnixNano(),
			next.info.Repo, next.info.Job, next.info.Title, next.info.Request)
		res, err = tx.exec(ctx, w.db.stmt.insertRun, values...)
	default:
		return 0, ruleError("the run has not started, so it has no letters to take")
	}
	if err != nil {
		return 0, fmt.Errorf("write the run: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("write the run: %w", err)
	}
	if n == 0 {
		return 0, ErrFenced
	}
	if w.tail.key != 0 {
		return w.tail.key, nil
	}
	key, err := res.LastInsertId()
	if err != nil {
		return 0, fmt.Errorf("write the run: %w", err)
	}
	return key, nil
}

func (w *Writer) insert(ctx context.Context, tx *txn, key int64, records []record) error {
	for _, r := range records {
		line, packed := r.stored()
		_, err := tx.exec(
			ctx,
			w.db.stmt.insertEvent,
			key,
			r.event.Seq,
			string(r.event.Type()),
			r.event.Conv,
			line,
			packed,
			r.sha,
		)
		if err != nil {
			return fmt.Errorf("write event %d: %w", r.event.Seq, err)
		}
		for _, b := range r.blobs {
			if err := w.insertBlob(ctx, tx, key, b); err != nil {
				return fmt.Errorf("write a blob of event %d: %w", r.event.Seq, err)
			}
		}
	}
	return nil
}

func (w *Writer) insertBlob(ctx context.Context, tx *txn, key int64, b storedBlob) error {
	data := b.Data
	if data == nil || b.packed != nil {
		data = []byte{} // nil would be stored as NULL
	}
	if _, err := tx.exec(ctx, w.db.stmt.insertBlob, b.Hash, len(b.Data), data, b.packed); err != nil {
		return err
	}
	_, err := tx.exec(ctx, w.db.stmt.insertRef, key, b.Hash)
	return err
}

// Close gives the run up. Nothing can be appended after it.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lock == nil {
		return nil
	}
	if w.err == nil {
		w.err = fmt.Errorf("append to run %s: %w", w.run, ErrClosed)
	}
	path := w.lock.Path()
	err := errors.Join(os.Truncate(path, 0), w.lock.Close())
	w.lock = nil
	return wrapError(fmt.Sprintf("release run %s with", w.run), path, err)
}

func (w *Writer) appendError(err error) error {
	var r ruleError
	if errors.As(err, &r) || errors.Is(err, ErrFenced) || errors.Is(err, ErrEnded) {
		return fmt.Errorf("append to run %s: %w", w.run, err)
	}
	return w.db.runError("append to", w.run, err)
}
