package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// Rescue writes a backup of a database that cannot be opened, because it is damaged where
// it says what is in it. What stands in its pages is looked through, and what proves
// itself is taken: the events of a journal by their hashes, from the first one on,
// contents by theirs, and other rows by their sums.
func Rescue(ctx context.Context, cfg Config, path string, opts BackupOptions) (BackupFile, error) {
	db := &DB{path: cfg.Path, announce: cfg.Announce}
	if db.announce == nil {
		db.announce = noAnnounce
	}
	return db.backup(ctx, path, opts, db.writeRescue)
}

// writeRescue writes what proves itself to an empty file, and says what is left out.
func (db *DB) writeRescue(ctx context.Context, to string) (skipped []SkippedRun, err error) {
	from, err := openPages(db.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	locks, err := os.MkdirTemp("", "plan-rescue-")
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the directory
	}
	defer func() { err = errors.Join(err, os.RemoveAll(locks)) }()
	out, err := Open(ctx, Config{Path: to, Locks: locks, Rollback: true})
	if err != nil {
		return nil, err
	}
	r := &rescue{
		from:   from,
		to:     out,
		blobs:  map[string]place{},
		events: map[int64][]foundEvent{},
		refs:   map[int64][]string{},
		runs:   map[int64]int64{},
	}
	err = r.copyAll(ctx)
	if err == nil && len(r.runs) == 0 {
		err = &Error{
			Op:   "look through",
			Path: db.path,
			Err:  errors.New("no run in it proves itself"),
			Hint: "restore a backup",
		}
	}
	return r.skipped, errors.Join(err, out.Close())
}

// place is where a row stands.
type place struct {
	page   uint32
	offset int
}

// foundEvent is what may be an event.
type foundEvent struct {
	place
	seq int64
}

// rescue takes what proves itself out of the pages of a database.
type rescue struct {
	from    *pageFile
	to      *DB
	blobs   map[string]place       // by their hashes, which are not proven yet
	events  map[int64][]foundEvent // by the keys of their runs
	refs    map[int64][]string     // the contents that they need
	runs    map[int64]int64        // the keys of runs in the new database
	skipped []SkippedRun
}

func (r *rescue) copyAll(ctx context.Context) error {
	tables, err := summedTables(ctx, r.to.read)
	if err != nil {
		return err
	}
	var rows []provenRow
	r.from.each(func(row storedRow) {
		switch event, ok := r.eventOf(row); {
		case ok:
			key := event.key
			r.events[key] = append(r.events[key], foundEvent{place{row.page, row.offset}, event.seq})
		case isBlob(row):
			r.blobs[row.values[0].(string)] = place{row.page, row.offset}
		case r.addRef(row):
		default:
			if copied, ok := proven(tables, row); ok {
				rows = append(rows, copied)
			}
		}
	})
	for _, key := range sortedKeys(r.events) {
		if err := r.run(ctx, key); err != nil {
			return err
		}
	}
	for _, key := range sortedKeys(r.refs) {
		if len(r.events[key]) == 0 {
			r.skipped = append(r.skipped, SkippedRun{
				Err: fmt.Errorf("nothing is left of the events of a run that needed %d contents", len(r.refs[key])),
			})
		}
	}
	return r.store(ctx, rows)
}

func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// rawEvent is an event as its row has it.
type rawEvent struct {
	key, seq  int64
	line, sha []byte
}

// eventOf reads a row of events.
func (r *rescue) eventOf(row storedRow) (e rawEvent, ok bool) {
	if len(row.values) < 7 || len(row.values) > 8 || !row.hasID {
		return e, false
	}
	v := row.values
	key, ok1 := v[1].(int64)
	seq, ok2 := v[2].(int64)
	line, ok3 := v[5].(string)
	sha, ok4 := v[6].([]byte)
	if !ok1 || !ok2 || !ok3 || !ok4 || len(sha) != 32 {
		return e, false
	}
	return rawEvent{
		key:  key,
		seq:  seq,
		line: []byte(line),
		sha:  sha,
	}, true
}

// lineOf is the line of an event, unpacked.
func (r *rescue) lineOf(at place) (e rawEvent, ok bool) {
	row, ok := r.from.again(at.page, at.offset)
	if !ok {
		return e, false
	}
	if e, ok = r.eventOf(row); !ok || len(row.values) < 8 {
		return e, ok
	}
	if packed, is := row.values[7].([]byte); is {
		line, err := r.to.packer.unpack(packed)
		e.line, ok = line, err == nil
	}
	return e, ok
}

// isBlob reports whether a row may be one of contents.
func isBlob(row storedRow) bool {
	if len(row.values) < 3 || len(row.values) > 4 || !row.hasID {
		return false
	}
	hash, ok := row.values[0].(string)
	_, data := row.values[2].([]byte)
	return ok && data && isHash(hash)
}

// addRef takes a row that says which content a run needs.
func (r *rescue) addRef(row storedRow) bool {
	if len(row.values) != 2 || row.hasID {
		return false
	}
	key, ok := row.values[0].(int64)
	hash, is := row.values[1].(string)
	if !ok || !is || !isHash(hash) {
		return false
	}
	r.refs[key] = append(r.refs[key], hash)
	return true
}

func isHash(s string) bool { return len(s) == 64 && strings.Trim(s, hexDigits) == "" }

const hexDigits = "0123456789abcdef"

// blob is a content, if it is what its hash says.
func (r *rescue) blob(hash string) (plan.Blob, bool) {
	at, ok := r.blobs[hash]
	if !ok {
		return plan.Blob{}, false
	}
	row, ok := r.from.again(at.page, at.offset)
	if !ok || !isBlob(row) {
		return plan.Blob{}, false
	}
	data, packed := row.values[2].([]byte), []byte(nil)
	if len(row.values) > 3 {
		packed, _ = row.values[3].([]byte)
	}
	content, err := r.to.packer.content(hash, data, packed)
	return plan.Blob{Hash: hash, Data: content}, err == nil
}

// run stores the events that follow each other from the first one on, among those that
// are found of a key. Of two runs that had one key after the other, each is looked for.
func (r *rescue) run(ctx context.Context, key int64) error {
	events := r.events[key]
	slices.SortStableFunc(events, func(a, b foundEvent) int { return int(a.seq - b.seq) })
	begun := false
	for i := 0; i < len(events) && events[i].seq == 1; i++ {
		e, ok := r.lineOf(events[i].place)
		if !ok || !bytes.Equal(chainHash(nil, e.line), e.sha) {
			continue
		}
		if err := r.journal(ctx, key, e, events); err != nil {
			return err
		}
		begun = true
	}
	if !begun {
		r.skipped = append(r.skipped, SkippedRun{
			Err: fmt.Errorf("the first of the %d events that are there of a run is damaged", len(events)),
		})
	}
	return nil
}

// journal stores one run from its first event on.
func (r *rescue) journal(ctx context.Context, key int64, first rawEvent, events []foundEvent) (err error) {
	var start plan.Event
	if err := start.UnmarshalJSON(first.line); err != nil || start.Run == "" {
		return nil //nolint:nilerr // it is no event
	}
	w, err := r.to.Own(ctx, start.Run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if w.tail.key != 0 { // an earlier copy of the same page
		return nil
	}
	a := &rescuedRun{
		rescue: r,
		w:      w,
		first:  first,
		events: events,
		refs:   r.refs[key],
	}
	if err := r.to.commits.submit(ctx, a); err != nil {
		return fmt.Errorf("take run %s over: %w", start.Run, err)
	}
	if a.key == 0 {
		return nil
	}
	r.runs[key] = a.key
	last := events[len(events)-1].seq
	if a.damaged != "" {
		r.skipped = append(r.skipped, SkippedRun{
			Run: start.Run,
			Err: fmt.Errorf("it is kept without a content: %w", &BlobError{Hash: a.damaged}),
		})
	}
	if a.tail.info.Head < last {
		r.skipped = append(r.skipped, SkippedRun{
			Run: start.Run,
			Err: fmt.Errorf("only the first %d of %d events are whole, and are kept", a.tail.info.Head, last),
		})
	}
	return nil
}

// rescuedRun stores a run whose first event is given.
type rescuedRun struct {
	*rescue
	w       *Writer
	first   rawEvent
	events  []foundEvent // in the order of their seq
	refs    []string
	key     int64
	tail    journalTail
	damaged string // a content that it may need
}

// lines are those that follow each other, each proven by its hash.
func (a *rescuedRun) lines() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		e, chain := a.first, []byte(nil)
		for at := 0; ; {
			if chain = chainHash(chain, e.line); !bytes.Equal(chain, e.sha) || !yield(e.line) {
				return
			}
			next, ok := rawEvent{}, false
			for ; at < len(a.events) && a.events[at].seq <= e.seq+1 && !ok; at++ {
				if a.events[at].seq == e.seq+1 {
					next, ok = a.lineOf(a.events[at].place)
					ok = ok && bytes.Equal(chainHash(chain, next.line), next.sha)
				}
			}
			if !ok {
				return
			}
			e = next
		}
	}
}

// read reads the journal as far as it is whole.
func (a *rescuedRun) read(visit func(record) error) (journalTail, error) {
	p := &portable{}
	p.sum.Run = a.w.run
	var failed error
	for line := range a.lines() {
		err := p.event(line, portionVisitor{event: func(r record) error {
			failed = visit(r)
			return failed
		}})
		if err != nil {
			break // it proves itself, and is no event all the same
		}
	}
	return p.tail, failed
}

// write implements pending.
func (a *rescuedRun) write(ctx context.Context, tx *txn) (err error) {
	if a.tail, err = a.read(func(record) error { return nil }); err != nil || a.tail.info.Head == 0 {
		return err
	}
	if a.key, err = a.w.saveRun(ctx, tx, a.tail); err != nil {
		return err
	}
	_, err = a.read(func(r record) error {
		r.packed = a.to.packer.pack([]byte(r.line))
		if r.event.Seq == 1 {
			for _, hash := range a.refs {
				a.need(&r, hash)
			}
		}
		for hash := range hashesIn(r.line) {
			if _, there := a.blobs[hash]; there {
				a.need(&r, hash)
			}
		}
		return a.w.insert(ctx, tx, a.key, []record{r})
	})
	return err
}

// need adds a content to what is stored with an event, if it is whole.
func (a *rescuedRun) need(r *record, hash string) {
	if b, whole := a.blob(hash); whole {
		r.blobs = append(r.blobs, a.to.packer.blob(b))
	} else {
		a.damaged = hash
	}
}

// hashesIn are what may be names of contents in a line.
func hashesIn(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := 0
		for i := 0; i <= len(line); i++ {
			if i < len(line) && strings.IndexByte(hexDigits, line[i]) >= 0 {
				continue
			}
			if i-from == 64 && !yield(line[from:i]) {
				return
			}
			from = i + 1
		}
	}
}
