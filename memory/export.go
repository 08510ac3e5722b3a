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
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// exportVersion is the version of the files that Export writes: one JSON object
// a line, a header, then blobs, then events, then the end.
const exportVersion = 1

// exportHeader is the first line of an exported run.
type exportHeader struct {
	Version int        `json:"plan_export"`
	Run     plan.RunID `json:"run"`
	Created time.Time  `json:"created"` // of the file
}

// exportLine is one of the other lines.
type exportLine struct {
	Blob  *exportedBlob   `json:"blob,omitempty"`
	Event json.RawMessage `json:"event,omitempty"`
	End   *exportEnd      `json:"end,omitempty"`
}

type exportedBlob struct {
	Hash string `json:"hash"`
	Data []byte `json:"data"` // in base64
}

// exportEnd is the last line: it tells a whole file from one that was cut.
type exportEnd struct {
	Events int64  `json:"events"`
	Blobs  int    `json:"blobs"`
	Chain  string `json:"chain"` // hex sha of the last event
}

// Transfer is a run on its way from one database to another.
type Transfer struct {
	Run      plan.RunID
	Events   int64
	Blobs    int
	Replaced int  // texts in which Export has replaced something
	Existed  bool // Import has found it there, and changed nothing
}

// Export writes a run, as it stands at one moment, as lines that [DB.Import]
// reads. Every text in it goes through redact first (nil for none). Where that
// changes something the hashes are made anew, so the result is a whole journal,
// but another one.
//
// Of a damaged run it writes all that stands before the damage, as a whole journal
// that is shorter, and fails with a [*PartError]; with nothing before it, it fails with
// what is wrong.
func (db *DB) Export(
	ctx context.Context,
	run plan.RunID,
	to io.Writer,
	redact func(string) string,
) (Transfer, error) {
	out := bufio.NewWriterSize(to, 64<<10)
	x := &exporter{
		out:     out,
		cleaner: cleaner{redact: redact},
		sum:     Transfer{Run: run},
	}
	now, err := db.readJournalState(ctx, run)
	if err != nil {
		return x.sum, db.runError("export", run, err)
	}
	if err := x.write(exportHeader{
		Version: exportVersion,
		Run:     run,
		Created: db.now().UTC(),
	}); err != nil {
		return x.sum, err
	}
	if err := db.exportBlobs(ctx, now, x); err != nil {
		return x.sum, fmt.Errorf("export run %s: %w", run, err)
	}
	damage, err := db.exportEvents(ctx, run, now, x)
	if err != nil || damage != nil && x.sum.Events == 0 {
		return x.sum, errors.Join(err, damage)
	}
	end := exportEnd{
		Events: x.sum.Events,
		Blobs:  x.sum.Blobs,
		Chain:  hex.EncodeToString(x.chain),
	}
	if err := x.write(exportLine{End: &end}); err != nil {
		return x.sum, err
	}
	x.sum.Replaced = x.replaced
	if err := out.Flush(); err != nil {
		return x.sum, fmt.Errorf("export run %s: %w", run, err)
	}
	if damage != nil {
		return x.sum, &PartError{
			Run:    run,
			Events: x.sum.Events,
			Of:     now.head,
			Err:    damage,
		}
	}
	return x.sum, nil
}

// exportEvents writes events until the end or the first damage, which may be one of
// a blob that the event refers to.
func (db *DB) exportEvents(
	ctx context.Context,
	run plan.RunID,
	now journalState,
	x *exporter,
) (damage, err error) {
	for s, err := range db.storedLines(ctx, run, Query{}) {
		if IsDamage(err) {
			return err, nil
		}
		if err != nil {
			return nil, err
		}
		if s.seq > now.head { // appended since, perhaps with blobs that are not here
			return nil, nil
		}
		if damage := x.missing(s.line); damage != nil {
			return fmt.Errorf("event %d refers to a blob: %w", s.seq, damage), nil
		}
		if err := x.event(s.bytes()); err != nil {
			return nil, fmt.Errorf("export event %d of run %s: %w", s.seq, run, err)
		}
	}
	return nil, nil
}

// exportBlobs writes all that the run refers to, before what refers to it.
func (db *DB) exportBlobs(ctx context.Context, now journalState, x *exporter) error {
	hashes, err := db.blobsOf(ctx, now.key)
	if err != nil {
		return err
	}
	for _, hash := range hashes {
		data, err := db.Blob(ctx, hash)
		if IsDamage(err) {
			x.lost = append(x.lost, lostBlob{hash: hash, why: err})
			continue
		}
		if err != nil {
			return err
		}
		if err := x.blob(hash, data); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) blobsOf(ctx context.Context, key int64) ([]string, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT hash FROM blob_refs WHERE run = ? ORDER BY hash", key)
	if err != nil {
		return nil, db.wrapError("list blobs in", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var hashes []string
	for rows.Next() {
		var hash string
		if err := rows.Scan(&hash); err != nil {
			return nil, db.wrapError("list blobs in", err)
		}
		hashes = append(hashes, hash)
	}
	return hashes, db.wrapError("list blobs in", rows.Err())
}

// exporter writes one file.
type exporter struct {
	out *bufio.Writer
	cleaner
	chain []byte
	sum   Transfer
	lost  []lostBlob
}

// lostBlob is a content that cannot be read any more.
type lostBlob struct {
	hash string
	why  error
}

// missing says why an event cannot be exported: it refers to a content that is lost.
func (x *exporter) missing(line string) error {
	for _, b := range x.lost {
		if strings.Contains(line, b.hash) {
			return b.why
		}
	}
	return nil
}

func (x *exporter) write(v any) error {
	line, err := plan.MarshalCompact(v)
	if err != nil {
		return fmt.Errorf("export run %s: %w", x.sum.Run, err)
	}
	return x.line(line)
}

// line writes parts as one line.
func (x *exporter) line(parts ...[]byte) error {
	for _, part := range append(parts, []byte("\n")) {
		if _, err := x.out.Write(part); err != nil {
			return fmt.Errorf("export run %s: %w", x.sum.Run, err)
		}
	}
	return nil
}

func (x *exporter) blob(hash string, data []byte) error {
	clean := plan.NewBlob(x.data(data))
	if clean.Hash != hash {
		x.newHash(hash, clean.Hash)
	}
	x.sum.Blobs++
	return x.write(exportLine{Blob: &exportedBlob{Hash: clean.Hash, Data: clean.Data}})
}

func (x *exporter) event(line Line) error {
	clean := x.json(line.JSON)
	if !bytes.Equal(clean, line.JSON) { // else it is what was committed, which was readable
		var e plan.Event
		if err := e.UnmarshalJSON(clean); err != nil {
			return fmt.Errorf(
				"a redaction rule has made it unreadable; take back what was added in redact.patterns: %w",
				err,
			)
		}
	}
	x.chain = chainHash(x.chain, clean)
	x.sum.Events++
	return x.line([]byte(`{"event":`), clean, []byte("}")) // the very bytes: they are what the chain is about
}
