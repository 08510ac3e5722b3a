package memory_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// testdata/wayland_wal.jsonl is about a file of lines beside a snapshot, which
// another system merges when a session is loaded. Here one database is both, so
// the rows are driven like this:
//
//   - The snapshot's messages and the records are events. Every record comes
//     from a letter, which is taken with the commit that holds its event.
//   - A record that the snapshot has already (its cursor lies before the
//     snapshot's end, or it has none and says the same) is the letter of that
//     message, taken once more, as by a process that died in between.
//   - A torn tail is one of SQLite's write-ahead log, in a copy that is made
//     while the log is in use, which is what a killed process leaves.
//   - A bad record that was committed is one that stands in the place of an
//     event. Which of its fields is bad does not matter: it is not what was
//     committed.
//   - "wal_deleted" is what is left when all processes have closed: no log if all
//     went well, and every byte of the bad record if not.

type walMessage struct {
	Role    plan.Role `json:"role"`
	Text    string    `json:"text,omitempty"`
	Content []struct {
		Type             plan.BlockType
		Text, MIME, Data string
	} `json:"content,omitempty"`
}

func (m walMessage) event(run plan.RunID) plan.Event {
	out := plan.Message{Role: m.Role, Blocks: []plan.Block{}}
	if m.Content == nil {
		out.Blocks = append(out.Blocks, plan.Block{Type: plan.BlockText, Text: m.Text})
	}
	for _, c := range m.Content {
		out.Blocks = append(out.Blocks, plan.Block{Type: c.Type, Text: c.Text, MIME: c.MIME, Data: c.Data})
	}
	return event(run, plan.MessageEnd{Message: out})
}

type walRecord struct {
	Message *walMessage
	Content string
	Cursor  *float64 `json:"base_message_count"`
}

type walRow struct {
	Name  string
	Input struct {
		Snapshot []walMessage
		Records  []json.RawMessage `json:"wal_records"`
		Raw      string
		RawHex   string            `json:"raw_hex"`
		TailHex  string            `json:"tail_bytes_hex"`
		Then     []json.RawMessage `json:"then_append"`
	}
	Expected walWant
}

type walWant struct {
	Messages []walMessage
	Appended int
	Last     []plan.BlockType `json:"last_blocks"`
	Deleted  *bool            `json:"wal_deleted"`
	Error    string
	Ours     *walWant
}

func TestWALRows(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/wayland_wal.jsonl")
	must(t, err)
	defer func() { _ = f.Close() }()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); n++ {
		var r walRow
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, in.Bytes())
		}
		if r.Expected.Ours != nil {
			r.Expected = *r.Expected.Ours
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			if r.Expected.Error != "" {
				badRecord(t, r)
				return
			}
			goodRecords(t, r)
		})
	}
	if n < 13 {
		t.Fatalf("%d rows", n)
	}
}

// session is a run with a letter for every message that was sent.
type session struct {
	db      *memory.DB
	w       *memory.Writer
	letters map[string]int64 // by the text that they brought, the last of them
}

func (s *session) say(t *testing.T, m walMessage) {
	t.Helper()
	ctx := context.Background()
	e := m.event("R1")
	if m.Role != plan.RoleUser {
		appendAll(t, s.w, e)
		return
	}
	id, err := s.db.Post(ctx, "R1", "steer", nil)
	must(t, err)
	_, err = s.w.AppendTaking(ctx, []int64{id}, e)
	must(t, err)
	s.letters[e.Body.(plan.MessageEnd).Text()] = id
}

// again takes the letter of a message that is there already, and reports
// whether it was one. It must have no effect.
func (s *session) again(t *testing.T, m walMessage) {
	t.Helper()
	text := m.event("R1").Body.(plan.MessageEnd).Text()
	id, ok := s.letters[text]
	if !ok {
		t.Fatalf("nobody has sent %q", text)
	}
	if _, err := s.w.AppendTaking(context.Background(), []int64{id}, m.event("R1")); err == nil {
		t.Errorf("%q was taken twice", text)
	}
	must(t, s.w.Close()) // it is of no use after a failure, so the next process comes
	s.w = own(t, s.db, "R1")
}

func (s *session) records(t *testing.T, r walRow, records []json.RawMessage) {
	t.Helper()
	for _, raw := range records {
		var rec walRecord
		must(t, json.Unmarshal(raw, &rec))
		m := walMessage{Role: plan.RoleUser, Text: rec.Content}
		if rec.Message != nil {
			m = *rec.Message
		}
		_, said := s.letters[m.Text]
		if rec.Cursor == nil && said || rec.Cursor != nil && int(*rec.Cursor) < len(r.Input.Snapshot) {
			s.again(t, m)
		} else {
			s.say(t, m)
		}
	}
}

func begin(t *testing.T, dir string, r walRow) *session {
	t.Helper()
	db := open(t, dir)
	s := &session{db: db, w: own(t, db, "R1"), letters: map[string]int64{}}
	appendAll(t, s.w, runStart("R1"))
	for _, m := range r.Input.Snapshot {
		s.say(t, m)
	}
	return s
}

func goodRecords(t *testing.T, r walRow) {
	ctx := context.Background()
	used := t.TempDir()
	s := begin(t, used, r)
	s.records(t, r, r.Input.Records)

	dir := t.TempDir()
	files := contents(t, used)
	tail, err := hex.DecodeString(r.Input.TailHex)
	must(t, err)
	log := files["plan.db-wal"] + r.Input.Raw + string(tail)
	restore(t, dir, map[string]string{"plan.db": files["plan.db"], "plan.db-wal": log})
	db, err := memory.Open(ctx, config(dir))
	must(t, err)
	w, err := db.Own(ctx, "R1")
	must(t, err)
	next := &session{db: db, w: w, letters: map[string]int64{}}
	next.records(t, r, r.Input.Then)
	var got []plan.Message
	for e, err := range db.Events(ctx, "R1", memory.Query{Types: []plan.EventType{plan.TypeMessageEnd}}) {
		must(t, err)
		got = append(got, e.Body.(plan.MessageEnd).Message)
	}
	must(t, db.VerifyChain(ctx, "R1"))
	must(t, errors.Join(next.w.Close(), db.Close()))

	want := r.Expected
	if want.Messages != nil {
		said := []walMessage{}
		for _, m := range got {
			said = append(said, walMessage{Role: m.Role, Text: m.Text()})
		}
		if diff := cmp.Diff(want.Messages, said); diff != "" {
			t.Error(diff)
		}
	}
	if n := len(got) - len(r.Input.Snapshot); want.Appended > 0 && n != want.Appended {
		t.Errorf("%d messages are new, want %d", n, want.Appended)
	}
	if want.Last != nil {
		var last []plan.BlockType
		for _, b := range got[len(got)-1].Blocks {
			last = append(last, b.Type)
		}
		if diff := cmp.Diff(want.Last, last); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "plan.db-wal")); want.Deleted != nil && errors.Is(err, os.ErrNotExist) != *want.Deleted {
		t.Errorf("the log: %v", err)
	}
}

func badRecord(t *testing.T, r walRow) {
	ctx := context.Background()
	dir := t.TempDir()
	s := begin(t, dir, r)
	s.say(t, walMessage{Role: plan.RoleUser, Text: "in its place"})
	raw, err := hex.DecodeString(r.Input.RawHex)
	must(t, err)
	bad := r.Input.Raw + string(raw)
	if len(r.Input.Records) > 0 {
		bad = string(r.Input.Records[0])
	}
	n := len(lines(t, s.db, "R1"))
	must(t, s.db.Exec(ctx, "UPDATE events SET line = CAST(? AS TEXT) WHERE seq = ?", []byte(bad), n))
	for range 2 { // also the second time: nothing is repaired without a word
		var broken *memory.ChainError
		var last error
		for _, err := range s.db.Events(ctx, "R1", memory.Query{}) {
			last = err
		}
		if !errors.As(last, &broken) || broken.Seq != int64(n) {
			t.Errorf("reading ends with %v, want event %d", last, n)
		}
	}
	kept, err := s.db.Count(ctx, "SELECT count(*) FROM events WHERE seq = ? AND CAST(line AS BLOB) = ?", n, []byte(bad))
	must(t, err)
	if kept != 1 {
		t.Error("the record was changed or is gone")
	}
}
