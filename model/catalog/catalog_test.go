package catalog_test

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/catalog"
)

const (
	openAI     = "https://api.openai.com/v1"
	openRouter = "https://openrouter.ai/api/v1"
	gateway    = "https://llm.example.com/v1"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, model, baseURL  string
		window                int
		input, cached, output float64
		unpriced, structured  bool
		source                string // a part of it
	}{
		{
			name:       "the provider's own",
			model:      "gpt-5",
			baseURL:    openAI,
			window:     400000,
			input:      1.25,
			cached:     0.125,
			output:     10,
			structured: true,
			source:     "openai",
		},
		{
			name:       "no base URL is OpenAI",
			model:      "gpt-4.1",
			window:     1047576,
			input:      2,
			cached:     0.5,
			output:     8,
			structured: true,
			source:     "openai",
		},
		{
			name:       "a dated snapshot",
			model:      "gpt-5-2025-08-07",
			baseURL:    openAI,
			window:     400000,
			input:      1.25,
			cached:     0.125,
			output:     10,
			structured: true,
		},
		{
			name:       "case does not matter",
			model:      "GPT-5",
			baseURL:    "https://API.OpenAI.com/v1/",
			window:     400000,
			input:      1.25,
			cached:     0.125,
			output:     10,
			structured: true,
		},
		{
			name:       "a regional host",
			model:      "gpt-5",
			baseURL:    "https://eu.api.openai.com/v1",
			window:     400000,
			input:      1.25,
			cached:     0.125,
			output:     10,
			structured: true,
		},
		{
			name:    "a host that only looks like it",
			model:   "gpt-5",
			baseURL: "https://eu.api.openai.com.example.org/v1",
			window:  400000,
			input:   1.25,
			cached:  0.125,
			output:  10,
			source:  "no known provider",
		},
		{
			name:       "the corrected listing",
			model:      "gpt-5.4-mini",
			baseURL:    openAI,
			window:     400000,
			input:      0.75,
			cached:     0.075,
			output:     4.5,
			structured: true,
			source:     "corrected",
		},

		{
			name:    "a gateway's own name",
			model:   "openai/gpt-4.1",
			baseURL: openRouter,
			window:  1047576,
			input:   2,
			cached:  0.5,
			output:  8,
			source:  "openrouter",
		},
		{
			name:    "cache prices the other way round",
			model:   "openai/gpt-4.1",
			baseURL: "https://ai-gateway.vercel.sh/v1",
			window:  1047576,
			input:   2,
			cached:  0.5,
			output:  8,
			source:  "vercel",
		},
		{
			name:    "write price before read price",
			model:   "anthropic/claude-opus-4.5",
			baseURL: openRouter,
			window:  200000,
			input:   5,
			cached:  0.5,
			output:  25,
		},
		{
			name:    "a snapshot with a price of its own",
			model:   "openai/gpt-4o-2024-05-13",
			baseURL: openRouter,
			window:  128000,
			input:   5,
			cached:  5,
			output:  15,
		},
		{
			name:    "the plain name is not its snapshots",
			model:   "gpt-4o",
			baseURL: openRouter,
			window:  128000,
			input:   2.5,
			cached:  1.25,
			output:  10,
		},
		{name: "a free model", model: "openai/gpt-oss-120b:free", baseURL: openRouter, window: 131072},
		{
			name:     "a subscription has no price",
			model:    "gpt-5.2",
			baseURL:  "https://api.githubcopilot.com",
			window:   264000,
			unpriced: true,
			source:   "copilot",
		},
		{
			name:    "a dated listing under its plain name",
			model:   "claude-sonnet-4-5",
			baseURL: "https://api.anthropic.com/v1",
			window:  200000,
			input:   3,
			cached:  0.3,
			output:  15,
			source:  "anthropic",
		},
		{
			name:    "version dots",
			model:   "claude-sonnet-4.5",
			baseURL: "https://api.anthropic.com/v1",
			window:  200000,
			input:   3,
			cached:  0.3,
			output:  15,
		},
		{
			name:    "Gemini's prefix",
			model:   "models/gemini-2.5-pro",
			baseURL: "https://generativelanguage.googleapis.com/v1beta/openai",
			window:  1048576,
			input:   1.25,
			cached:  0.125,
			output:  10,
			source:  "gemini",
		},
		{
			name:       "Azure",
			model:      "gpt-4o",
			baseURL:    "https://mine.openai.azure.com/openai/v1",
			window:     128000,
			input:      2.5,
			cached:     1.25,
			output:     10,
			structured: true,
			source:     "azure",
		},
		{
			name:    "one host, one provider a path: zen",
			model:   "gpt-5",
			baseURL: "https://opencode.ai/zen/v1",
			window:  400000,
			input:   1.07,
			cached:  0.11,
			output:  8.5,
			source:  "opencode-zen",
		},
		{
			name:    "one host, one provider a path: go",
			model:   "glm-5",
			baseURL: "https://opencode.ai/zen/go/v1",
			window:  202752,
			input:   1,
			cached:  0.2,
			output:  3.2,
			source:  "opencode-go",
		},
		{
			name:    "another path on a known host",
			model:   "glm-4.6",
			baseURL: "https://api.z.ai/api/paas/v4",
			window:  204800,
			input:   0.6,
			cached:  0.11,
			output:  2.2,
			source:  "zai",
		},

		{
			name:    "the maker decides",
			model:   "gpt-4.1",
			baseURL: gateway,
			window:  1047576,
			input:   2,
			cached:  0.5,
			output:  8,
			source:  "openai, which makes the model; the base URL is no known provider's",
		},
		{
			name:    "the maker decides, dated",
			model:   "anthropic/claude-sonnet-4-5",
			baseURL: gateway,
			window:  200000,
			input:   3,
			cached:  0.3,
			output:  15,
			source:  "anthropic, which makes",
		},
		{
			name:     "nobody decides",
			model:    "llama-4-maverick",
			baseURL:  gateway,
			window:   1048576,
			unpriced: true,
			source:   "differently",
		},
		{
			name:     "a known host that does not list it",
			model:    "grok-4",
			baseURL:  openAI,
			window:   200000,
			unpriced: true,
			source:   "openai does not list it",
		},

		{
			name:     "a loopback server",
			model:    "gpt-4.1",
			baseURL:  "http://127.0.0.1:11434/v1",
			window:   1047576,
			unpriced: true,
			source:   "local",
		},
		{
			name:     "localhost",
			model:    "gpt-4.1",
			baseURL:  "http://localhost:1234/v1",
			window:   1047576,
			unpriced: true,
			source:   "local",
		},
		{
			name:     "IPv6 loopback",
			model:    "gpt-4.1",
			baseURL:  "http://[::1]:8000/v1",
			window:   1047576,
			unpriced: true,
			source:   "local",
		},
		{
			name:     "a private network",
			model:    "gpt-4.1",
			baseURL:  "http://10.0.0.7:8000/v1",
			window:   1047576,
			unpriced: true,
			source:   "local",
		},
	}
	c := catalog.New(nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, ok := c.Lookup(tt.model, tt.baseURL)
			if !ok {
				t.Fatalf("Lookup(%q, %q) found nothing", tt.model, tt.baseURL)
			}
			if e.Window != tt.window || e.Priced == tt.unpriced || e.StructuredOutput != tt.structured {
				t.Errorf("window, unpriced, structured = %d %v %v, want %d %v %v (%s)",
					e.Window, !e.Priced, e.StructuredOutput, tt.window, tt.unpriced, tt.structured, e.Source)
			}
			got := []float64{e.InputUSD, e.CachedUSD, e.OutputUSD}
			for i, want := range []float64{tt.input, tt.cached, tt.output} {
				if math.Abs(got[i]-want) > 1e-9 {
					t.Errorf("prices = %v, want %v %v %v (%s)", got, tt.input, tt.cached, tt.output, e.Source)
					break
				}
			}
			if !strings.Contains(e.Source, tt.source) {
				t.Errorf("source = %q, want it to contain %q", e.Source, tt.source)
			}
		})
	}
}

func TestLookupFindsNothing(t *testing.T) {
	t.Parallel()
	for _, model := range []string{
		"", "no-such-model", "qwen3:8b", "hf:", "openai/", "a/\ngpt-5", "gpt-5\t\t\t\t400000", "128000", "@", "-latest",
	} {
		if e, ok := catalog.New(nil).Lookup(model, openAI); ok {
			t.Errorf("Lookup(%q) = %+v, want nothing", model, e)
		}
	}
	if _, ok := catalog.New(nil).Lookup("gpt-5", "http://%zz"); !ok {
		t.Error("a base URL that cannot be read hid the model")
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	c := catalog.New(map[string]catalog.Entry{
		"gpt-5":     {Window: 1000},
		"My-Local":  {Window: 32768, MaxOutput: 4096, Priced: true},
		"gpt-4.1":   {Priced: true, InputUSD: 1, OutputUSD: 3},
		"gpt-4o":    {StructuredOutput: true, Source: "config.toml"},
		"has-price": {Priced: true, InputUSD: 1, CachedUSD: 0.5, OutputUSD: 2},
	})
	tests := []struct {
		name, model, baseURL string
		want                 catalog.Entry
	}{
		{"a window keeps the prices", "gpt-5", openAI, catalog.Entry{
			Window: 1000, MaxOutput: 128000, InputUSD: 1.25, CachedUSD: 0.125, OutputUSD: 10, Priced: true,
			StructuredOutput: true, Reasoning: true, Source: "override over openai",
		}},
		{"prices come together", "gpt-4.1", openAI, catalog.Entry{
			Window:           1047576,
			MaxOutput:        16384,
			InputUSD:         1,
			OutputUSD:        3,
			Priced:           true,
			StructuredOutput: true,
			Source:           "override over openai",
		}},
		{"a local model that is said to be free", "my-local", "http://127.0.0.1:11434/v1", catalog.Entry{
			Window: 32768, MaxOutput: 4096, Priced: true, Source: "override",
		}},
		{"a local model with a window only stays without a price", "gpt-5", "http://127.0.0.1:1/v1", catalog.Entry{
			Window: 1000, MaxOutput: 128000, Reasoning: true, Source: "override over openai; a local server has no known price",
		}},
		{"an ability is added", "gpt-4o", "http://127.0.0.1:1/v1", catalog.Entry{
			Window: 128000, MaxOutput: 8192, StructuredOutput: true, Source: "config.toml",
		}},
		{"a model nobody knows", "has-price", gateway, catalog.Entry{
			InputUSD: 1, CachedUSD: 0.5, OutputUSD: 2, Priced: true, Source: "override",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := c.Lookup(tt.model, tt.baseURL)
			if diff := cmp.Diff(tt.want, got); diff != "" || !ok {
				t.Errorf("found %v, (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	priced := catalog.Entry{InputUSD: 2, CachedUSD: 0.5, OutputUSD: 8, Priced: true}
	tests := []struct {
		name   string
		entry  catalog.Entry
		usage  plan.Usage
		want   float64
		priced bool
	}{
		{"no price", catalog.Entry{InputUSD: 2}, plan.Usage{Input: 1e6}, 0, false},
		{"free", catalog.Entry{Priced: true}, plan.Usage{Input: 1e6, Output: 1e6}, 0, true},
		{"plain", priced, plan.Usage{Input: 1e6, Output: 500e3}, 6, true},
		{"cached input is part of input", priced, plan.Usage{Input: 1e6, Cached: 400e3}, 1.4, true},
		{"reasoning is part of output", priced, plan.Usage{Output: 1e6, Reasoning: 900e3}, 8, true},
		{
			"no cache price means no discount",
			catalog.Entry{InputUSD: 2, Priced: true},
			plan.Usage{Input: 1e6, Cached: 1e6},
			2,
			true,
		},
		{"more cached than sent", priced, plan.Usage{Input: 1e6, Cached: 9e6}, 0.5, true},
		{"nonsense does not pay back", priced, plan.Usage{Input: -5, Cached: -9, Output: -1}, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			usd, ok := tt.entry.Cost(tt.usage)
			if math.Abs(usd-tt.want) > 1e-9 || ok != tt.priced {
				t.Errorf("Cost = %v, %v; want %v, %v", usd, ok, tt.want, tt.priced)
			}
		})
	}
}

// TestLookupsAtOnce is for the race detector: the first questions come together.
func TestLookupsAtOnce(t *testing.T) {
	t.Parallel()
	c := catalog.New(nil)
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			if _, ok := c.Lookup("gpt-5", openAI); !ok {
				t.Error("gpt-5 is not known")
			}
		})
	}
	asking.Wait()
}

// BenchmarkLookup is what every later question costs.
func BenchmarkLookup(b *testing.B) {
	c := catalog.New(nil)
	c.Lookup("gpt-5", openAI)
	for b.Loop() {
		c.Lookup("gpt-5-2025-08-07", gateway)
	}
}

// BenchmarkNew is what a program that asks nothing pays.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		catalog.New(nil)
	}
}
