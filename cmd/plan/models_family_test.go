package main

import (
	"math"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// familyCase is a family of models as a person with a key and a model's name has
// it: the catalogue knows the rest, and only the address is the test's.
type familyCase struct {
	name     string
	model    string // with its provider
	keyEnv   string
	set      string // of the settings
	table    string // of the provider's settings
	ways     scripted.Gateway
	wire     string
	adjusted string // the parts that are mended
	back     string // in a later request
}

func familyCases() []familyCase {
	temperature := "temperature = 0.2\n"
	return []familyCase{
		{
			name: "OpenAI today", model: "openai/gpt-5.2", keyEnv: "OPENAI_API_KEY", wire: "responses",
			set:      "effort = \"high\"\n" + temperature,
			ways:     scripted.Gateway{Wires: []scripted.Wire{scripted.WireResponses}, Refuses: []string{"temperature"}},
			adjusted: "temperature",
			back:     `"encrypted_content":"`,
		},
		{
			name: "DeepSeek", model: "deepseek/deepseek-v4-pro", keyEnv: "DEEPSEEK_API_KEY", wire: "chat",
			ways: scripted.Gateway{
				Wires: []scripted.Wire{scripted.WireChat}, NeedsReasoning: true, Refuses: []string{"developer", "max_completion_tokens", "null_content"},
			},
			adjusted: "content null",
			back:     `"reasoning_content":"The word is hi."`,
		},
		{
			name: "Kimi", model: "kimi/kimi-k2-thinking", keyEnv: "MOONSHOT_API_KEY", wire: "chat",
			set: temperature,
			ways: scripted.Gateway{
				Wires: []scripted.Wire{scripted.WireChat}, NeedsReasoning: true, Refuses: []string{"temperature=0.2"},
				RefuseWords: "invalid {name}: only 1 is allowed for this model",
			},
			adjusted: "temperature",
			back:     `"reasoning_content":"The word is hi."`,
		},
		{
			name: "Gemini through OpenRouter", model: "openrouter/google/gemini-2.5-pro", keyEnv: "OPENROUTER_API_KEY", wire: "chat",
			table: "body = {provider = {order = [\"google\"]}}\n",
			ways: scripted.Gateway{
				Wires: []scripted.Wire{scripted.WireChat}, NeedsReasoning: true, ReasoningField: scripted.ReasoningDetails,
				ExtraContent: true, Comments: true, Cost: at(0.0123), Accepts: []string{"provider"}, Refuses: []string{"schema:minimum"},
			},
			adjusted: "schema keywords",
			back:     `"reasoning_details":[{`,
		},
		{
			name: "Claude", model: "anthropic/claude-sonnet-4-5", keyEnv: "ANTHROPIC_API_KEY", wire: "anthropic",
			set:  "effort = \"high\"\n",
			ways: scripted.Gateway{Wires: []scripted.Wire{scripted.WireAnthropic}},
			back: `"thinking":"The word is hi."`,
		},
	}
}

// home is a home with the family's server.
func (c familyCase) home(t *testing.T, more string) (*modelHome, *scripted.Server) {
	h := newModelHome(t)
	s := h.serve("x", usual(c.ways))
	h.env = append(h.env, c.keyEnv+"="+keyOf("x"))
	provider, _, _ := strings.Cut(c.model, "/")
	h.settings("model = \"" + c.model + "\"\n" + c.set + "[providers." + provider + "]\nbase_url = \"{x}\"\n" + c.table + more)
	return h, s
}

// TestFamilies: with a key and a name, the usual models end approved on servers
// that play their rules, and `plan doctor` finds nothing wrong.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for _, c := range sampledHalf(t, familyCases()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, s := c.home(t, "")
			p := h.run()
			p.approved()
			if got := strings.Join(p.parts(), ", "); got != c.adjusted {
				t.Errorf("adjusted: %q, want %q", got, c.adjusted)
			}
			if retries := bodiesOf[plan.Retry](p); len(retries) > 0 {
				t.Errorf("asked again: %+v", retries)
			}
			for _, r := range bodiesOf[plan.Request](p) {
				if r.Wire != c.wire {
					t.Errorf("a request over %s, want %s", r.Wire, c.wire)
				}
			}
			if work := bodies(s, "implement"); !strings.Contains(work[len(work)-1], c.back) {
				t.Errorf("the last of these has not %s:\n%s", c.back, strings.Join(work, "\n"))
			}
			provider, _, _ := strings.Cut(c.model, "/")
			if doctor := h.plan("doctor", "--provider", provider); doctor.code != plan.ExitOK || !strings.Contains(doctor.out, c.model) {
				t.Errorf("doctor ended with %d\n%s%s", doctor.code, doctor.out, doctor.shown)
			}
		})
	}
}

// TestClaudeKeepsPrompts: a run on Claude writes to both caches, reads most of its
// input from them, and costs less for it.
func TestClaudeKeepsPrompts(t *testing.T) {
	t.Parallel()
	cases := familyCases()
	claude := cases[len(cases)-1]
	var cost [2]float64
	const prices = "[models.\"anthropic/claude-sonnet-4-5\"]\ninput = 3\ncached_input = 0.3\noutput = 15\n" +
		"cache_write = 3.75\ncache_write_hour = 6\n"
	for i, more := range []string{"", "cache = \"off\"\n"} {
		h, s := claude.home(t, more+prices)
		p := h.run()
		p.approved()
		end := bodiesOf[plan.RunEnd](p)[0]
		u := end.Usage
		const in, hit, out = 3e-6, 0.3e-6, 15e-6 // USD a token
		want := float64(u.Input-u.Cached-u.Written-u.WrittenHour)*in + float64(u.Cached)*hit +
			float64(u.Written)*1.25*in + float64(u.WrittenHour)*2*in + float64(u.Output)*out
		if math.Abs(end.CostUSD-want) > 1e-9 || !end.Priced {
			t.Errorf("the run costs %g, its usage %g: %+v", end.CostUSD, want, u)
		}
		cost[i] = end.CostUSD
		marked := holds(bodies(s, ""), "cache_control")
		if kept := i == 0; kept != (marked == u.Requests) || kept != (u.Written > 0 && u.WrittenHour > 0 && u.Cached > 0) {
			t.Errorf("%d of %d requests are marked: %+v", marked, u.Requests, u)
		}
	}
	t.Logf("$%.4f with the caches, $%.4f without", cost[0], cost[1])
	if cost[0] >= cost[1] {
		t.Errorf("$%g with the caches, $%g without", cost[0], cost[1])
	}
}
