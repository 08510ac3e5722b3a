package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/watch"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/memory"
)

// slow is how long a client may take in an event before it is given up.
const slow = 15 * time.Second

// streaming is one answer with the events of a run.
type streaming struct {
	a     *API
	id    plan.RunID
	after int64 // seq of the last event that was sent
	until string
	live  bool
	sse   bool
	idle  int // seconds in which nothing came

	out     http.ResponseWriter
	control *http.ResponseController
}

// When a stream ends before its run does.
const (
	untilNow    = "now"    // with the last event that is there
	untilParked = "parked" // when no process goes on with the run
	untilEnd    = "end"    // with the run alone
)

// events sends the events of a run behind a seq: as JSON lines, which end when no process
// goes on with the run, or as a stream that waits for the run's end.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	s, err := a.stream(w, r)
	if err != nil {
		return err
	}
	if s.id, err = a.id(r); err != nil {
		return err
	}
	if s.live, err = yes(r, "live", false); err != nil {
		return err
	}
	db, err := a.service.Host.DB(r.Context())
	if err != nil {
		return err
	}
	info, err := db.Run(r.Context(), s.id)
	if err != nil {
		return err
	}
	if s.sse && info.Ended() && s.after >= info.Head {
		w.WriteHeader(http.StatusNoContent) // a browser does not come back then
		return nil
	}
	s.begin()
	s.send(r.Context(), db)
	return nil
}

// jobEvents sends the events of the run of a job in the queue, as events does those of a run, until
// the run is final or its job is over.
func (a *API) jobEvents(w http.ResponseWriter, r *http.Request) error {
	s, err := a.stream(w, r)
	if err != nil {
		return err
	}
	d, _, err := a.service.JobDocument(r.Context(), r.PathValue("id"), r.PathValue("job"))
	if err != nil {
		return err
	}
	s.id = d.ID
	s.begin()
	lines := a.service.Queue.Events(r.Context(), string(d.ID), s.after, s.until != untilNow)
	for item, err := range watch.Of(r.Context(), lines) {
		if err != nil || s.sendItem(item) != nil {
			break
		}
	}
	return nil
}

// stream reads how events are asked for.
func (a *API) stream(w http.ResponseWriter, r *http.Request) (s *streaming, err error) {
	s = &streaming{
		a:       a,
		out:     w,
		control: http.NewResponseController(w),
		sse:     strings.Contains(r.Header.Get("Accept"), "text/event-stream"),
		until:   untilParked,
	}
	if s.after, err = number(r, "after"); err != nil {
		return nil, err
	}
	if s.sse {
		s.until = untilEnd
		if last, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil && last > s.after {
			s.after = last
		}
	}
	switch until := r.FormValue("until"); until {
	case "":
	case untilNow, untilParked, untilEnd:
		s.until = until
	default:
		return nil, hint.Usage("until is %q: write now, parked or end", until)
	}
	return s, nil
}

// begin sends what stands before the events.
func (s *streaming) begin() {
	kind := "application/x-ndjson"
	if s.sse {
		kind = "text/event-stream"
	}
	s.out.Header().Set("Content-Type", kind)
	s.out.Header().Set("X-Accel-Buffering", "no") // a proxy is to hand events on as they come
	s.out.WriteHeader(http.StatusOK)
	first := ""
	if s.sse {
		first = "retry: 1000\n\n"
	}
	_ = s.write(first) // sends the head, too
}

// write sends a text, for which the client has a while.
func (s *streaming) write(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(slow)) // a server without deadlines has none
	if _, err := s.out.Write([]byte(text)); err != nil { //nolint:gosec // no browser takes it for a page
		return fmt.Errorf("send an event: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	return nil
}

// send sends events until the stream ends, or its client has left.
func (s *streaming) send(ctx context.Context, db *memory.DB) {
	if s.until == untilNow || s.until == untilParked && s.rests(ctx, db) {
		for line, err := range db.Lines(ctx, s.id, s.after) {
			if err != nil || s.sendItem(watch.Item{Seq: line.Seq, JSON: line.JSON}) != nil {
				return
			}
		}
		return
	}
	for item, err := range s.a.hub.Watch(ctx, s.id, s.after, s.live) {
		if errors.Is(err, watch.ErrBehind) {
			s.tellReplay()
		}
		if err != nil || s.sendItem(item) != nil {
			return
		}
		if s.until == untilParked && mayRest(item) && s.rests(ctx, db) {
			return
		}
	}
}

// mayRest reports whether a run may rest behind an item: where it parks, and where nothing
// came for a while.
func mayRest(item watch.Item) bool {
	return item.JSON == nil || strings.Contains(string(item.JSON[:min(len(item.JSON), 400)]), `"type":"parked"`)
}

// rests reports whether no process goes on with the run. One that has just parked it holds
// it for a moment longer.
func (s *streaming) rests(ctx context.Context, db *memory.DB) bool {
	info, err := db.Run(ctx, s.id)
	if err != nil {
		return true
	}
	_, held := db.Holder(s.id)
	return !held || info.Ended() || info.Parked != "" && info.Head <= s.after
}

// sendItem sends an event, or a sign of life where none came for a while.
func (s *streaming) sendItem(item watch.Item) error {
	if item.JSON == nil {
		if s.idle++; s.sse && s.idle%15 == 0 {
			return s.write(": \n\n")
		}
		return nil
	}
	line := string(sanitize.JSON(item.JSON))
	s.after = max(s.after, item.Seq)
	switch {
	case !s.sse:
		return s.write(line + "\n")
	case item.Seq == 0:
		return s.write("data: " + line + "\n\n")
	}
	return s.write("id: " + strconv.FormatInt(item.Seq, 10) + "\ndata: " + line + "\n\n")
}

// tellReplay tells a client that reads too slowly where to read on. Its connection ends.
func (s *streaming) tellReplay() {
	if s.sse {
		_ = s.write(fmt.Sprintf("event: replay\ndata: {\"after\":%d}\n\n", s.after))
	} else {
		_ = s.write(fmt.Sprintf("{\"v\":1,\"run\":%q,\"type\":\"replay\",\"data\":{\"after\":%d}}\n", s.id, s.after))
	}
}
