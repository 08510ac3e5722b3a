package main

import (
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// TestSlowIsNotDead: a server may be silent before its first byte for longer than
// between two later ones.
func TestSlowIsNotDead(t *testing.T) {
	t.Parallel()
	for _, wire := range sampledWires(t) {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			h.serve("x", usual(scripted.Gateway{Silence: scripted.Duration(250 * time.Millisecond)}))
			h.settings("model = \"x/m\"\n[timeouts]\nidle = \"100ms\"\n" + providerTable("x", wire))
			p := h.run("--plan-only")
			p.planned()
			if retries := bodiesOf[plan.Retry](p); len(retries) > 0 {
				t.Errorf("asked again: %+v", retries)
			}
		})
	}
}

// silenceCase is a server that is silent for too long, and the setting that says
// so.
type silenceCase struct {
	name string
	set  string // of the timeouts
	hang *scripted.Fault
	told string
}

// TestSilence: a silence that is too long is told with the setting's name, and
// the next try waits longer.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, c := range []silenceCase{
		{
			name: "before the first byte",
			set:  "first_byte = \"400ms\"\n",
			told: "the model server sent nothing for 400ms (the setting is timeouts.first_byte)",
		},
		{
			name: "between two bytes",
			set:  "idle = \"200ms\"\n",
			hang: &scripted.Fault{Kind: scripted.FaultHang},
			told: "the model server was silent for 200ms (the setting is timeouts.idle)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			ways := scripted.Gateway{Silence: scripted.Duration(600 * time.Millisecond)} // more than once 400 ms, less than twice
			if c.hang != nil {
				ways.Silence = 0
			}
			h.serve("x", usual(ways, scripted.Reply{
				Phase: "explore", User: 1, Turn: at(0), Text: "It is greet.sh.", Fault: c.hang,
			}))
			h.settings("model = \"x/m\"\n[timeouts]\n" + c.set + providerTable("x", "chat"))
			p := h.run("--plan-only")
			p.planned()
			retries := bodiesOf[plan.Retry](p)
			if len(retries) == 0 || !strings.Contains(retries[0].Reason, c.told) {
				t.Errorf("%+v, want %q", retries, c.told)
			}
			for _, r := range retries {
				if r.Attempt > 1 {
					t.Errorf("the second try has not waited longer: %+v", r)
				}
			}
		})
	}
}
