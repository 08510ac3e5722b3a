package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// What a generated run is made of: about what a run of ten turns leaves.
const (
	turns       = 10
	writers     = 32
	answerBytes = 1 << 10
	resultBytes = 6 << 10
	blobBytes   = 32 << 10
	kitBytes    = 24 << 10
	// Every longEvery-th run is a long one: a compaction has rewritten what was said.
	longEvery = 20
	longBytes = 256 << 10
)

// runID is the id of the n-th run of a generated home: a ULID to look at.
func runID(n int) plan.RunID { return plan.RunID(fmt.Sprintf("01K%023d", n)) }

// makeHome writes a home of so many runs that have ended.
func makeHome(ctx context.Context, dir string, runs int) (err error) {
	db, err := memory.Open(ctx, memory.Config{Path: filepath.Join(dir, "plan.db")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(writers)
	for n := range runs {
		writing.Go(func() error { return makeRun(ctx, db, n, began.Add(time.Duration(n)*time.Minute)) })
	}
	return writing.Wait() //nolint:wrapcheck // makeRun's
}

// makeRun writes one run, in a commit a turn.
func makeRun(ctx context.Context, db *memory.DB, n int, at time.Time) error {
	w, err := db.Own(ctx, runID(n))
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck // what was committed stays
	text := newProse(uint64(n))
	kit := plan.NewBlob([]byte(newProse(1 << 32).text(kitBytes))) // all runs share it
	first := plan.Event{
		Blobs: []plan.Blob{kit},
		Body: plan.RunStart{
			Request: text.text(120),
			Repo:    fmt.Sprintf("/src/app-%d", n%7),
			Config:  []byte("{}"),
			Kit:     kit.Hash,
		},
	}
	events := []plan.Event{first}
	for turn := range turns {
		events = append(events, text.turn(turn)...)
		if turn == turns-1 && n%longEvery == 0 {
			events = append(events, plan.Event{Body: plan.Report{Text: text.text(longBytes)}})
		}
		if turn == turns-1 {
			events = append(events, plan.Event{Body: plan.RunEnd{Outcome: plan.Approved}})
		}
		for i := range events {
			events[i].Run, events[i].Time = runID(n), at.Add(time.Duration(turn)*time.Second)
		}
		if _, err := w.Append(ctx, events...); err != nil {
			return err
		}
		events = nil
	}
	return nil
}

// prose makes texts that are the same each time and compress about as code does.
type prose struct{ rand *rand.Rand }

func newProse(seed uint64) *prose {
	return &prose{rand.New(rand.NewPCG(seed, 7))} //nolint:gosec // the same each time is what is wanted
}

func (p *prose) turn(turn int) []plan.Event {
	call := fmt.Sprintf("call_%d", turn)
	end := plan.Event{Body: plan.ToolEnd{Call: call, Name: "read", Output: p.text(resultBytes)}}
	if turn == 3 { // one output was too long for its event
		whole := plan.NewBlob([]byte(p.text(blobBytes)))
		end.Body = plan.ToolEnd{
			Call:   call,
			Name:   "bash",
			Output: p.text(resultBytes),
			Blob:   whole.Hash,
		}
		end.Blobs = []plan.Blob{whole}
	}
	events := []plan.Event{
		{Body: plan.MessageEnd{Message: plan.Message{
			Role:   plan.RoleAssistant,
			Blocks: []plan.Block{{Type: plan.BlockText, Text: p.text(answerBytes)}},
		}}},
		{Body: plan.UsageReport{Model: "scripted", Usage: plan.Usage{Requests: 1, Input: 9000, Output: 300}}},
		{Body: plan.ToolStart{Call: call, Name: "read", Args: fmt.Appendf(nil, `{"path":%q}`, p.text(30))}},
		end,
	}
	for i := range events {
		events[i].Conv, events[i].Phase, events[i].Attempt, events[i].Turn = "c1", plan.Implement, 1, &turn
	}
	return events
}

// text are so many bytes of text: phrases of a few hundred, with numbers and ends of lines between them.
func (p *prose) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		switch p.rand.IntN(6) {
		case 0:
			fmt.Fprintf(&b, "%d ", p.rand.IntN(100_000))
		case 1:
			b.WriteString("\n\t")
		default:
			w := min(p.rand.IntN(400), p.rand.IntN(400)) // some are said more often
			fmt.Fprintf(&b, "%c%cturn%s%d(", 'a'+w%26, 'a'+w/39, "ering"[:w%6], w)
			fmt.Fprintf(&b, "%c%cx, value%d) ", 'a'+w%7, 'b'+w%3, w/7)
		}
	}
	return b.String()[:n]
}
