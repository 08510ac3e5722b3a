package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/model/scripted"
)

// usualRequests is how many requests the usual work takes.
const usualRequests = 7

// countedCase is a server that reports usage in a way of its own.
type countedCase struct {
	name  string
	wire  string
	ways  scripted.Gateway
	usage scripted.Usage // of each answer
	set   string         // the model's prices
	want  plan.Usage     // of each answer
	usd   float64        // of each answer
}

func countedCases() []countedCase {
	return []countedCase{
		{
			name: "reasoning that xAI leaves out", wire: "chat",
			ways:  scripted.Gateway{UsageWithoutReasoning: true},
			usage: scripted.Usage{Input: 1000, Output: 640, Reasoning: 540},
			set:   "input = 1\noutput = 10\n",
			want:  plan.Usage{Requests: 1, Input: 1000, Output: 640, Reasoning: 540},
			usd:   0.0074,
		},
		{
			name: "the gateway's own cost over chat", wire: "chat",
			ways:  scripted.Gateway{Cost: at(0.0123)},
			usage: scripted.Usage{Input: 1000, Output: 10},
			set:   "input = 1\noutput = 10\n",
			want:  plan.Usage{Requests: 1, Input: 1000, Output: 10},
			usd:   0.0123,
		},
		{
			name: "the gateway's own cost, and no price is known", wire: "responses",
			ways:  scripted.Gateway{Cost: at(0.0123)},
			usage: scripted.Usage{Input: 1000, Output: 10},
			want:  plan.Usage{Requests: 1, Input: 1000, Output: 10},
			usd:   0.0123,
		},
		{
			name: "what is written to caches", wire: "anthropic",
			usage: scripted.Usage{Input: 1000, Cached: 500, Written: 200, WrittenHour: 100, Output: 10},
			set:   "input = 4\noutput = 20\ncached_input = 0.4\ncache_write = 5\ncache_write_hour = 8\n",
			want:  plan.Usage{Requests: 1, Input: 1000, Cached: 500, Written: 200, WrittenHour: 100, Output: 10},
			usd:   (200*4 + 500*0.4 + 200*5 + 100*8 + 10*20) / 1e6,
		},
		{
			name: "a cache whose prices are not known", wire: "chat",
			usage: scripted.Usage{Input: 1000, Cached: 900, Output: 10},
			set:   "input = 4\noutput = 20\n",
			want:  plan.Usage{Requests: 1, Input: 1000, Cached: 900, Output: 10},
			usd:   (1000*4 + 10*20) / 1e6,
		},
	}
}

// TestCounted: what a run consumed and what it cost is what its servers say, in
// its last event, in `plan show` and in `plan list`.
func TestCounted(t *testing.T) {
	t.Parallel()
	for _, c := range sampledHalf(t, countedCases()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			work := usual(c.ways)
			for i := range work.Replies {
				work.Replies[i].Usage = &c.usage
			}
			h := newModelHome(t)
			h.serve("x", work)
			h.settings("model = \"x/m\"\n" + providerTable("x", c.wire) + "[models.\"x/m\"]\n" + c.set)
			p := h.run()
			p.approved()
			want := plan.Usage{}
			for range usualRequests {
				want = want.Add(c.want)
			}
			end := bodiesOf[plan.RunEnd](p)[0]
			if diff := cmp.Diff(want, end.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			var doc render.RunDocument
			decode(t, h.plan("show", "--json", string(p.events[0].Run)).out, &doc)
			var runs []struct {
				CostUSD float64 `json:"cost_usd"`
			}
			decode(t, h.plan("list", "--json").out, &runs)
			phases := 0.0
			for _, ph := range doc.Phases {
				phases += ph.CostUSD
			}
			for where, usd := range map[string]float64{
				"the last event": end.CostUSD, "show": doc.CostUSD, "the phases of show": phases, "list": runs[0].CostUSD,
			} {
				if math.Abs(usd-usualRequests*c.usd) > 1e-9 {
					t.Errorf("%s says $%g, want $%g", where, usd, usualRequests*c.usd)
				}
			}
			if diff := cmp.Diff(want, doc.Usage); diff != "" || !doc.Priced || !end.Priced {
				t.Errorf("show: priced: %v, usage (-want +got):\n%s", doc.Priced, diff)
			}
		})
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// TestFailedStreamIsBilled: an answer that fails after its usage was reported is
// paid for.
func TestFailedStreamIsBilled(t *testing.T) {
	t.Parallel()
	for _, wire := range sampledWires(t) {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			work := usual(scripted.Gateway{}, scripted.Reply{
				Phase: "plan", Text: "# Plan\n## Files\n- greet.sh\n", Fault: &scripted.Fault{Kind: scripted.FaultFailed},
			})
			for i := range work.Replies {
				work.Replies[i].Usage = &scripted.Usage{Input: 1000, Output: 10}
			}
			h := newModelHome(t)
			h.serve("x", work)
			h.settings("model = \"x/m\"\n" + providerTable("x", wire) + "[models.\"x/m\"]\ninput = 1\noutput = 10\n")
			p := h.run("--plan-only")
			p.planned()
			end := bodiesOf[plan.RunEnd](p)[0]
			if len(bodiesOf[plan.Retry](p)) != 1 || end.Usage.Input != 4000 || end.Usage.Output != 40 || math.Abs(end.CostUSD-0.0044) > 1e-9 {
				t.Errorf("$%g, %+v", end.CostUSD, end.Usage)
			}
		})
	}
}

// TestBudgetBeforeTheRequest: a request that could break the budget is not made,
// and what a cache saves does not count where its price is not known.
func TestBudgetBeforeTheRequest(t *testing.T) {
	t.Parallel()
	for _, wire := range sampledWires(t) {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			s := h.serve("x", usual(scripted.Gateway{}))
			h.settings("model = \"x/m\"\nmax_output_tokens = 100\n" + providerTable("x", wire) +
				"[models.\"x/m\"]\ninput = 1000\noutput = 1000\n")
			p := h.run("--max-cost", "4") // one request is about $2.50
			p.parked(plan.ParkLimit, "cost")
			var doc render.RunDocument
			decode(t, h.plan("show", "--json", string(p.events[0].Run)).out, &doc)
			if len(s.Requests()) != 1 || doc.CostUSD == 0 || doc.CostUSD > 4 {
				t.Errorf("$%g for %d requests", doc.CostUSD, len(s.Requests()))
			}
		})
	}
}

// TestBudgetWithoutPrices: a budget that could not be kept is refused before
// anything is sent.
func TestBudgetWithoutPrices(t *testing.T) {
	t.Parallel()
	h := newModelHome(t)
	s := h.serve("x", usual(scripted.Gateway{}))
	h.settings("model = \"x/m\"\n" + providerTable("x", "chat") +
		"[phase.review]\nmodel = \"x/other\"\n[models.\"x/m\"]\ninput = 1\noutput = 1\n")
	p := h.run("--max-cost", "4")
	if p.code != plan.ExitFailed || len(s.Requests()) > 0 || !strings.Contains(p.shown, "the price of model x/other (review) is not known") {
		t.Errorf("exit %d, %d requests\n%s", p.code, len(s.Requests()), p.shown)
	}
	if runs := h.runs(); len(runs) > 0 {
		t.Errorf("a run was begun: %+v", runs)
	}
}

// runs are those of the home.
func (h *modelHome) runs() []memory.RunInfo {
	h.t.Helper()
	var runs []memory.RunInfo
	db, err := memory.Open(h.t.Context(), memory.Config{Path: h.dir + "/home/plan.db"})
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	if runs, err = db.Runs(h.t.Context(), memory.Filter{}); err != nil {
		h.t.Fatal(err)
	}
	return runs
}
