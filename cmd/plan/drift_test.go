package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
)

// chooser remembers what was chosen.
type chooser struct {
	on     engine.OnDrift
	replan string
}

func (c *chooser) Choose(on engine.OnDrift, replan string) { c.on, c.replan = on, replan }

// TestAskDrift: only a clear word goes on; a closed terminal never does.
func TestAskDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed string
		state plan.State
		again bool
		want  chooser
	}{
		{"c\n", plan.Implementing, true, chooser{engine.DriftGoesOn, ""}},
		{"r\n", plan.Implementing, true, chooser{engine.DriftReplans, personReplans}},
		{"r use  maps\n", plan.Reviewing, true, chooser{engine.DriftReplans, "use  maps"}},
		{"r\n", plan.Exploring, false, chooser{}},
		{"\n", plan.Implementing, false, chooser{}},
		{"yes\n", plan.Implementing, false, chooser{}},
		{"", plan.Implementing, false, chooser{}},
	} {
		t.Run(c.typed, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := &app{in: strings.NewReader(c.typed), out: &out}
			end := engine.End{State: c.state, Parked: &plan.Parked{Reason: plan.ParkDrift, Drift: &plan.Drift{Files: []string{"a\x1b[2J.go"}, Total: 1}}}
			var got chooser
			if again := a.askDrift(context.Background(), &got, end); again != c.again || got != c.want {
				t.Errorf("again=%t with %+v", again, got)
			}
			if !strings.Contains(out.String(), "1 file") || strings.Contains(out.String(), "\x1b") {
				t.Errorf("the person reads %q", out.String())
			}
		})
	}
}

// TestOnDrift: what a person says goes before what the settings say.
func TestOnDrift(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		said engine.OnDrift
		cfg  *bool
		want engine.OnDrift
	}{
		{"", nil, engine.DriftParks},
		{"", &no, engine.DriftParks},
		{"", &yes, engine.DriftReplans},
		{engine.DriftGoesOn, &yes, engine.DriftGoesOn},
	} {
		if got := onDrift(said{onDrift: c.said}, config.Config{ReplanOnDrift: c.cfg}); got != c.want {
			t.Errorf("%q and %v make %q, want %q", c.said, c.cfg, got, c.want)
		}
	}
}

// TestSettingsChanged says what is different and keeps no key.
func TestSettingsChanged(t *testing.T) {
	t.Parallel()
	was := stored{Config: config.Default()}
	if got, err := settingsChanged(was, was); got != nil || err != nil {
		t.Errorf("nothing changed: %+v, %v", got, err)
	}
	now := was
	now.MaxTurns, now.MaxCost, now.BaseURL = 7, 1.5, "https://me:hunter2@example.com/v1?key=hunter2"
	got, err := settingsChanged(was, now)
	if err != nil {
		t.Fatal(err)
	}
	want := "base_url: https://example.com/v1, max_cost: 1.5, max_turns: 100 → 7"
	if words := strings.Join(got.Changed, ", "); words != want || strings.Contains(string(got.Config), "hunter2") {
		t.Errorf("got %s, and %s", words, got.Config)
	}
}

// TestWorse orders exit codes by how much went wrong.
func TestWorse(t *testing.T) {
	t.Parallel()
	order := []int{0, 5, 4, 3, 2, 1, 130}
	for i, a := range order {
		for j, b := range order {
			if got := worse(a, b); got != order[max(i, j)] {
				t.Errorf("the worse of %d and %d is %d", a, b, got)
			}
		}
	}
}
