package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

func TestListSaysWhenARunIsDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := now.Add(5 * time.Minute)
	tests := map[string]struct {
		parked plan.ParkReason
		wake   *time.Time
		left   time.Duration // from now; 0: it waits for a person
		words  string
	}{
		"a rate limit":             {plan.ParkRateLimit, &at, 5 * time.Minute, "parked: rate_limit, due in 5m00s"},
		"one without a time":       {plan.ParkRateLimit, nil, time.Minute, "parked: rate_limit, due in 1m00s"},
		"a server that went away":  {plan.ParkUnreachable, &at, 5 * time.Minute, "parked: unreachable, due in 5m00s"},
		"one that never was there": {plan.ParkUnreachable, nil, 0, "parked: unreachable"},
		"a limit":                  {plan.ParkLimit, nil, 0, "parked: limit"},
		"a refusal":                {plan.ParkRefused, &at, 0, "parked: refused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := memory.RunInfo{Parked: tt.parked, WakeAt: tt.wake, Updated: now}
			wake, ok := host.WakeTime(run)
			if ok != (tt.left > 0) || ok && wake.Sub(now) != tt.left {
				t.Errorf("due at %v, %v; want %v from now", wake, ok, tt.left)
			}
			if got := statusWords(run, now); got != tt.words {
				t.Errorf("listed as %q, want %q", got, tt.words)
			}
		})
	}
}

// TestAThreadIsOneLine: runs that go on from each other are one in a list, named by the
// end of the newest id, and each of them in what is shown of one.
func TestAThreadIsOneLine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	run := func(id plan.RunID, request string, state plan.State) memory.RunInfo {
		return memory.RunInfo{ID: id, Request: request, State: state, Repo: "/src/shop", Created: now.Add(-time.Minute)}
	}
	first := run("01JD3Q8Z7K4X2V5T9M0RAAAAAA", "Add a --json flag to the report command", plan.Approved)
	last := run("01JD3Q8Z7K4X2V5T9M0RBBBBBB", "Also say it in the README", plan.Implementing)
	var out strings.Builder
	opts := Options{Now: func() time.Time { return now }}
	err := Runs(&out, []host.Listed{
		{RunInfo: last, First: first, Runs: 2, Waiting: 1},
		{RunInfo: first, First: first, Runs: 1},
	}, false, opts)
	if err == nil {
		err = WriteThread(&out, []host.Member{
			{RunInfo: first, Begun: true}, {RunInfo: last, Begun: true}, {RunInfo: run("01JD3Q8Z7K4X2V5T9M0RCCCCCC", "And more", "")},
		}, last.ID, opts)
	}
	if err == nil {
		err = WriteUnread(&out, []host.Letter{{Kind: host.Steer, Text: "mind it"}, {Kind: host.FollowUp, Text: "then"}}, false, opts)
	}
	if err == nil {
		err = WriteUnread(&out, []host.Letter{{Kind: host.Steer, Text: "late"}}, true, opts)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := `RUN     STATE         AGE    TOKENS  COST      REPOSITORY  TITLE
BBBBBB  implementing  1m00s  0       unpriced  shop        Add a --json flag to the re… → Also say it in the README (2 runs, 1 to begin: plan resume)
AAAAAA  approved      1m00s  0       unpriced  shop        Add a --json flag to the report command
  thread      AAAAAA  approved        Add a --json flag to the report command
            → BBBBBB  implementing    Also say it in the README
              CCCCCC  to begin        And more

           ○ you         guidance, waits: mind it
           ○ you         follow-up, waits: then
           ○ you         guidance, not heard: late
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
