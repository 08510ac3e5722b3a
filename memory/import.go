package memory

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan"
)

// maxImportLine bounds a line of an exported run, in bytes: a blob or an event.
const maxImportLine = 1 << 30

// ErrOtherJournal says that a run of this id is there already, with another journal.
var ErrOtherJournal = errors.New("there is another run of this id")

// Import reads a run that [DB.Export] has written. It is checked from the first
// byte to the last before anything is stored, keeps its id, and is stored in
// one transaction, with a note that it is from elsewhere ([DB.Imported]). A run that
// is there already with the same journal is left as it is; one with another journal is
// [ErrOtherJournal].
func (db *DB) Import(ctx context.Context, from io.ReadSeeker) (Transfer, error) {
	p, err := readPortable(ctx, from, portionVisitor{})
	if err != nil {
		return p.sum, fmt.Errorf("import a run: %w", err)
	}
	run := p.sum.Run
	if now, err := db.readJournalState(ctx, run); err == nil {
		return p.compare(now)
	}
	w, err := db.Own(ctx, run)
	if err != nil {
		return p.sum, err
	}
	defer w.Close() //nolint:errcheck // what was committed stays
	if w.tail.key != 0 {
		return p.compare(journalState{head: w.tail.info.Head, chain: w.tail.chain})
	}
	if err := db.commits.submit(context.WithoutCancel(ctx), &importAppend{
		w:    w,
		from: from,
		end:  p.tail,
	}); err != nil {
		return p.sum, w.appendError(err)
	}
	return p.sum, nil
}

// compare says what it means that the run is there.
func (p *portable) compare(now journalState) (Transfer, error) {
	if now.head != p.tail.info.Head || !bytes.Equal(now.chain, p.tail.chain) {
		return p.sum, fmt.Errorf(
			"import run %s: %w: it has %d events here and %d in the file; the file was not imported",
			p.sum.Run,
			ErrOtherJournal,
			now.head,
			p.tail.info.Head,
		)
	}
	p.sum.Existed = true
	return p.sum, nil
}

// importAppend stores a run that was checked.
type importAppend struct {
	w    *Writer
	from io.ReadSeeker
	end  journalTail
}

// write implements pending.
func (a *importAppend) write(ctx context.Context, tx *txn) error {
	key, err := a.w.saveRun(ctx, tx, a.end)
	if err != nil {
		return err
	}
	again, err := readPortable(ctx, a.from, portionVisitor{
		blob: func(b plan.Blob) error { return a.w.insertBlob(ctx, tx, key, a.w.db.packer.blob(b)) },
		event: func(r record) error {
			r.packed = a.w.db.packer.pack([]byte(r.line))
			return a.w.insert(ctx, tx, key, []record{r})
		},
	})
	if err == nil && !bytes.Equal(again.tail.chain, a.end.chain) {
		err = errors.New("the file has changed while it was read")
	}
	if err == nil {
		err = a.w.noteImported(ctx, tx, a.end.info.Head)
	}
	return err
}

// portionVisitor hears what a file holds, in its order. Nil functions do not.
type portionVisitor struct {
	blob  func(plan.Blob) error
	event func(record) error
}

// portable is an exported run while it is read.
type portable struct {
	tail journalTail
	sum  Transfer
	done bool
}

// readPortable reads a file from its beginning, and checks all of it.
func readPortable(ctx context.Context, from io.ReadSeeker, visit portionVisitor) (*portable, error) {
	p := &portable{}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return p, fmt.Errorf("read it from the beginning: %w", err)
	}
	text := bufio.NewReader(from)
	if first, err := text.Peek(1); err == nil && first[0] != '{' { // its first line may have no end
		return p, fmt.Errorf("line 1: %w", errNotExported)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 64<<10), maxImportLine)
	for n := 1; lines.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return p, context.Cause(ctx)
		}
		if err := p.line(n, lines.Bytes(), visit); err != nil {
			return p, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return p, fmt.Errorf("read it: %w", err)
	}
	if !p.done {
		return p, errors.New("the file is empty or its end is missing: copy or export it again")
	}
	return p, nil
}

func (p *portable) line(n int, line []byte, visit portionVisitor) error {
	if n == 1 {
		return p.begin(line)
	}
	var in exportLine
	if err := json.Unmarshal(line, &in); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	switch {
	case p.done:
		return errors.New("something follows the end")
	case in.Blob != nil && in.Event == nil:
		return p.blob(*in.Blob, visit)
	case len(in.Event) > 0:
		return p.event(in.Event, visit)
	case in.End != nil:
		return p.end(*in.End)
	}
	return errors.New("it is neither a blob nor an event: it may be from a newer plan")
}

var errNotExported = errors.New("this is not a run that `plan journal export` has written")

func (p *portable) begin(line []byte) error {
	var h exportHeader
	if err := json.Unmarshal(line, &h); err != nil || h.Version == 0 || h.Run == "" {
		return errNotExported
	}
	if h.Version > exportVersion {
		return fmt.Errorf(
			"it has version %d and this plan knows version %d; install a newer plan",
			h.Version,
			exportVersion,
		)
	}
	p.sum.Run = h.Run
	return nil
}

func (p *portable) blob(b exportedBlob, visit portionVisitor) error {
	blob := plan.NewBlob(b.Data)
	if blob.Hash != b.Hash {
		return fmt.Errorf("the content of blob %q has changed", b.Hash)
	}
	p.sum.Blobs++
	if visit.blob == nil {
		return nil
	}
	return visit.blob(blob)
}

// checkIDs refuses what git could take for something else than the id of a tree or a
// commit: it is what git is called with when the run is shown, forked or gone on with. Nor
// may where it works be another place for each who looks.
func checkIDs(e plan.Event) error {
	ids := map[string]string{}
	switch b := e.Body.(type) {
	case plan.RunStart:
		if !filepath.IsAbs(b.Repo) {
			return ruleError(fmt.Sprintf("repo of event %d (%s) is %.50q, which depends on where one stands: "+
				"export the run again", e.Seq, e.Type(), b.Repo))
		}
		ids["base"], ids["snapshot"] = b.Base, b.Snapshot
		if b.Against != nil {
			ids["against.commit"], ids["against.tree"] = b.Against.Commit, b.Against.Tree
		}
	case plan.Snapshot:
		ids["tree"] = b.Tree
	case plan.PlanMade:
		ids["base"] = b.Base
	case plan.Drift:
		ids["from"], ids["tree"], ids["origin"], ids["base"], ids["head"] = b.From, b.Tree, b.Origin, b.Base, b.Head
	}
	for field, id := range ids {
		if strings.Trim(id, "0123456789abcdef") != "" {
			return ruleError(fmt.Sprintf(
				"%s of event %d (%s) is %.50q, which is no id that git gives: export the run again",
				field, e.Seq, e.Type(), id,
			))
		}
	}
	return nil
}

// event takes the exact bytes: they are what the chain is about, and may hold
// fields that this version does not know.
func (p *portable) event(line []byte, visit portionVisitor) error {
	var e plan.Event
	if err := e.UnmarshalJSON(line); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	if want := p.tail.info.Head + 1; e.Seq != want {
		return fmt.Errorf("event %d stands where event %d should", e.Seq, want)
	}
	if err := errors.Join(p.tail.checkNext(p.sum.Run, e), checkRunEnd(e), checkIDs(e)); err != nil {
		return err
	}
	p.tail.chain = chainHash(p.tail.chain, line)
	p.tail.info = p.tail.info.fold(e)
	p.sum.Events++
	if visit.event == nil {
		return nil
	}
	return visit.event(record{
		event: e,
		line:  string(line),
		sha:   p.tail.chain,
	})
}

func (p *portable) end(e exportEnd) error {
	if e.Events != p.sum.Events || e.Blobs != p.sum.Blobs || e.Chain != hex.EncodeToString(p.tail.chain) ||
		e.Events == 0 {
		return errors.New(
			"the events are not those that were exported: the file has changed; copy or export it again",
		)
	}
	p.done = true
	return nil
}
