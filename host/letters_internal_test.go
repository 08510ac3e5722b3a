package host

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// waitingRun makes a run R whose journal, of which a part may be from elsewhere, ends
// with what is given.
func waitingRun(t *testing.T, imported int64, bodies ...plan.Body) (*Host, *memory.DB) {
	t.Helper()
	home := t.TempDir()
	h := New(Config{Environ: []string{"PLAN_HOME=" + home, "HOME=" + home}, Now: time.Now})
	t.Cleanup(func() { _ = h.Close() })
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Own(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	events := []plan.Event{
		{Body: plan.RunStart{Request: "x"}},
		{Body: plan.StateChange{From: plan.Unstarted, To: plan.Implementing, Event: "explore"}},
	}
	for _, b := range bodies {
		events = append(events, plan.Event{Body: b})
	}
	for i := range events {
		events[i].Run, events[i].Time = "R", time.Now().UTC()
	}
	_, err = w.AppendImported(t.Context(), imported, events...)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return h, db
}

// TestWhatAStorySaysThatWaits: a call that waits in a run from elsewhere is shown by
// its arguments, whatever was said of it there, and allows nothing but itself.
func TestWhatAStorySaysThatWaits(t *testing.T) {
	t.Parallel()
	const digest = "0000"
	args := json.RawMessage(`{"command":"rm -rf x"}`)
	every := plan.Grant{Tool: "bash"}
	said := plan.WaitingCall{
		Call:   "k",
		Name:   "bash",
		Args:   json.RawMessage(`{"command":"ls"}`),
		Effect: "$ ls",
		Grant:  every,
		Digest: digest,
	}
	bodies := []plan.Body{
		plan.ApprovalRequired{
			Call:   "k",
			Name:   "bash",
			Args:   args,
			Effect: "$ ls",
			Shown:  "$ ls",
			Grant:  every,
			Digest: digest,
		},
		plan.Parked{Reason: plan.ParkApproval, Waiting: []plan.WaitingCall{said}},
	}
	h, _ := waitingRun(t, 4, bodies...)
	calls, err := h.WaitingCalls(t.Context(), "R")
	if err != nil || len(calls) != 1 || calls[0].Shown() != "command: rm -rf x" ||
		calls[0].Digest == "" || calls[0].Grant != (plan.Grant{}) {
		t.Errorf("%+v, %v", calls, err)
	}
	_, err = h.Decide(t.Context(), "R", Decision{Approve: true, Scope: plan.ScopeAlways})
	if err == nil || !strings.Contains(err.Error(), "can only be allowed once") {
		t.Errorf("%v", err)
	}
	if files, err := filepath.Glob(filepath.Join(h.Getenv("PLAN_HOME"), "config.toml")); err != nil || len(files) > 0 {
		t.Errorf("the settings were written: %v", err)
	}
	for _, theirs := range []string{digest, plan.CallDigest("bash", args)} { // both can stand beside other words
		if _, err := h.Decide(t.Context(), "R", Decision{Approve: true, Digest: theirs}); err == nil {
			t.Error("a yes for what was said elsewhere is taken")
		}
	}
	if _, err := h.Decide(t.Context(), "R", Decision{Approve: true}); err != nil {
		t.Errorf("%v %s", err, hint.Of(err))
	}
	// Of a run of this machine all of it holds.
	h, _ = waitingRun(t, 0, bodies...)
	if calls, err := h.WaitingCalls(t.Context(), "R"); err != nil || len(calls) != 1 || calls[0].Digest != digest || calls[0].Grant != every {
		t.Errorf("%+v, %v", calls, err)
	}
}

// TestAnswersWithoutAName: what an earlier program took as an answer is one to the
// question that waited when the run goes on, if it was one, and to none afterwards.
func TestAnswersWithoutAName(t *testing.T) {
	t.Parallel()
	ask := func(call string) plan.Body { return plan.Question{Call: call, Question: "Which " + call + "?"} }
	parked := plan.Parked{Reason: plan.ParkQuestion}
	for name, c := range map[string]struct {
		journal []plan.Body
		before  []string // what the inbox has when the run goes on
		after   []string
		want    string // the calls that are answered, as the loop reads them
	}{
		"one waits":            {[]plan.Body{ask("q1"), parked}, []string{"a"}, nil, "q1"},
		"and it was answered":  {[]plan.Body{ask("q0"), plan.Answered{Call: "q0"}, ask("q1"), parked}, []string{"a"}, nil, "q1"},
		"two wait":             {[]plan.Body{ask("q1"), ask("q2"), parked}, []string{"a"}, nil, noCall},
		"none waits":           {[]plan.Body{ask("q1"), plan.Answered{Call: "q1"}, plan.Parked{Reason: plan.ParkLimit}}, []string{"a"}, nil, noCall},
		"none has been asked":  {[]plan.Body{plan.Parked{Reason: plan.ParkLimit}}, []string{"a"}, nil, noCall},
		"one comes afterwards": {[]plan.Body{ask("q1"), parked}, nil, []string{"b"}, noCall},
		"and after another":    {[]plan.Body{ask("q1"), parked}, []string{"a"}, []string{"b"}, "q1 " + noCall},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, db := waitingRun(t, 0, c.journal...)
			w, err := db.Own(t.Context(), "R")
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			post := func(texts []string) {
				for _, text := range texts {
					if _, err := db.Post(t.Context(), "R", string(Answer), []byte(`{"text":"`+text+`"}`)); err != nil {
						t.Fatal(err)
					}
				}
			}
			post(c.before)
			mail, err := h.openMailbox(t.Context(), db, w, "R")
			if err != nil {
				t.Fatal(err)
			}
			post(c.after)
			letters, err := mail.Waiting(t.Context())
			var got []string
			for _, l := range letters {
				got = append(got, l.Call)
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("they answer %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
