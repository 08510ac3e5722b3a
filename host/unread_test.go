package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
)

// countsVerdicts is a hook that counts the verdicts it hears of.
const countsVerdicts = `
[[hooks]]
event = "verdict"
command = "echo once >> $HOME/verdicts"
outside = true
`

// TestWhatIsSaidDuringReview: a person's words that come while the work is reviewed
// keep it from being approved until they are heard, in real phases.
func TestWhatIsSaidDuringReview(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   host.Kind
		cycles int
		again  int // cycles when it is resumed
		parks  []plan.ParkReason
		moves  []plan.State // after the first review, that follow
		reads  string       // what the implementer is told, "" where it is told nothing
	}{
		"a follow-up": {host.FollowUp, 1, 1, nil, []plan.State{plan.Implementing, plan.Reviewing, plan.Approved}, "has said something more"},
		"guidance":    {host.Steer, 1, 1, nil, []plan.State{plan.Implementing, plan.Reviewing, plan.Approved}, "has said something more"},
		"a follow-up without a cycle": {
			host.FollowUp, 0, 1,
			[]plan.ParkReason{plan.ParkLimit},
			[]plan.State{plan.Implementing, plan.Reviewing, plan.Approved},
			"has said something more",
		},
		"a follow-up without a cycle, twice": {
			host.FollowUp, 0, 0, []plan.ParkReason{plan.ParkLimit, plan.ParkLimit}, nil, "",
		},
		"guidance without a cycle": {
			host.Steer, 0, 0, []plan.ParkReason{plan.ParkLimit}, []plan.State{plan.Approved}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := hosttest.New(t)
			home := filepath.Join(world.Dir, "home")
			if err := os.MkdirAll(home, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(countsVerdicts), 0o600); err != nil {
				t.Fatal(err)
			}
			h := host.New(world.Config)
			defer h.Close()

			var moves []plan.State
			var parks []plan.ParkReason
			var heard []string
			verdicts, said := 0, false
			show := func(ev plan.Event) {
				switch b := ev.Body.(type) {
				case plan.MessageEnd:
					// The reviewer has said its last word, and nothing is recorded of it yet.
					if last := b.Role == plan.RoleAssistant && len(b.Calls()) == 0; last && ev.Phase == plan.Review && !said {
						said = true
						if _, err := h.Tell(t.Context(), ev.Run, host.Letter{Kind: c.kind, Text: "And mind the gap"}); err != nil {
							t.Error(err)
						}
					}
					if b.Role == plan.RoleUser && ev.Phase == plan.Implement && ev.Attempt > 1 && b.Origin == "" {
						heard = append(heard, b.Text())
					}
				case plan.StateChange:
					if said {
						moves = append(moves, b.To)
					}
				case plan.Parked:
					parks = append(parks, b.Reason)
					if !strings.Contains(b.Detail, "no phase has read") || !strings.Contains(b.Detail, "--max-review-cycles 1") {
						t.Errorf("it says %q", b.Detail)
					}
				case plan.VerdictGiven:
					verdicts++
				}
			}
			r := host.Request{Dir: world.Repo, Text: "Make greet.sh say hello"}
			r.Settings.MaxReviewCycles = &c.cycles
			end, err := h.Run(t.Context(), r, host.Face{Show: show})
			if err == nil && end.Parked != nil {
				o := host.Options{}
				o.Settings.MaxReviewCycles = &c.again
				end, err = h.Resume(t.Context(), end.Run, o, host.Face{Show: show})
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.moves, moves) + cmp.Diff(c.parks, parks); diff != "" {
				t.Errorf("after the first review (-want +got):\n%s", diff)
			}
			if all := strings.Join(heard, "\n"); !strings.Contains(all, c.reads) || c.reads == "" && all != "" {
				t.Errorf("the implementer is told %q", all)
			}
			data, err := os.ReadFile(filepath.Join(world.Dir, "verdicts"))
			if got := strings.Count(string(data), "once"); got != verdicts {
				t.Errorf("%d verdicts, and hooks ran for %d, %v", verdicts, got, err)
			}
		})
	}
}
