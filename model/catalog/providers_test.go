package catalog_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/wire"
)

// usual is every provider with its key, wire, way of sending the key ("-": as its
// wire has it) and address.
const usual = `
aihubmix AIHUBMIX_API_KEY chat - https://aihubmix.com/v1
alibaba DASHSCOPE_API_KEY chat - https://dashscope-intl.aliyuncs.com/compatible-mode/v1
anthropic ANTHROPIC_API_KEY anthropic - https://api.anthropic.com
avian AVIAN_API_KEY chat - https://api.avian.io/v1
azure AZURE_OPENAI_API_KEY responses api-key 
cerebras CEREBRAS_API_KEY chat - https://api.cerebras.ai/v1
chutes CHUTES_API_KEY chat - https://llm.chutes.ai/v1
cortecs CORTECS_API_KEY chat - https://api.cortecs.ai/v1
deepseek DEEPSEEK_API_KEY chat - https://api.deepseek.com/v1
fireworks FIREWORKS_API_KEY chat - https://api.fireworks.ai/inference/v1
gemini GEMINI_API_KEY chat - https://generativelanguage.googleapis.com/v1beta/openai
groq GROQ_API_KEY chat - https://api.groq.com/openai/v1
huggingface HF_TOKEN chat - https://router.huggingface.co/v1
ionet IONET_API_KEY chat - https://api.intelligence.io.solutions/api/v1
kimi-coding KIMI_CODING_API_KEY anthropic - https://api.kimi.com/coding
lmstudio  chat none http://127.0.0.1:1234/v1
minimax MINIMAX_API_KEY anthropic - https://api.minimax.io/anthropic
minimax-china MINIMAX_API_KEY anthropic - https://api.minimaxi.com/anthropic
mistral MISTRAL_API_KEY chat - https://api.mistral.ai/v1
moonshot MOONSHOT_API_KEY chat - https://api.moonshot.ai/v1
nebius NEBIUS_API_KEY chat - https://api.tokenfactory.nebius.com/v1
neuralwatt NEURALWATT_API_KEY chat - https://api.neuralwatt.com/v1
ollama  chat none http://127.0.0.1:11434/v1
openai OPENAI_API_KEY responses - https://api.openai.com/v1
opencode-go OPENCODE_API_KEY chat - https://opencode.ai/zen/go/v1
opencode-zen OPENCODE_API_KEY chat - https://opencode.ai/zen/v1
openrouter OPENROUTER_API_KEY chat - https://openrouter.ai/api/v1
qiniucloud QINIUCLOUD_API_KEY chat - https://api.qnaigc.com/v1
synthetic SYNTHETIC_API_KEY chat - https://api.synthetic.new/openai/v1
together TOGETHER_API_KEY chat - https://api.together.xyz/v1
venice VENICE_API_KEY chat - https://api.venice.ai/api/v1
vercel AI_GATEWAY_API_KEY chat - https://ai-gateway.vercel.sh/v1
xai XAI_API_KEY responses - https://api.x.ai/v1
zai ZAI_API_KEY chat - https://api.z.ai/api/paas/v4
zhipu ZHIPU_API_KEY chat - https://open.bigmodel.cn/api/paas/v4
zhipu-coding ZHIPU_API_KEY chat - https://open.bigmodel.cn/api/coding/paas/v4
`

func TestProviders(t *testing.T) {
	t.Parallel()
	c := catalog.New(nil)
	var got strings.Builder
	for _, p := range c.Providers() {
		auth := p.Auth
		if auth == "" {
			auth = "-"
		}
		fmt.Fprintln(&got, "\n"+p.Name, p.KeyEnv, p.Wire, auth, p.BaseURL)
		if again, ok := c.Provider(p.Name); !ok || again != p {
			t.Errorf("Provider(%q) = %+v, %v; want %+v", p.Name, again, ok, p)
		}
	}
	if diff := cmp.Diff(usual, "\n"+strings.ReplaceAll(got.String()[1:], "\n\n", "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p, ok := c.Provider("kimi"); !ok || p.Name != "moonshot" {
		t.Errorf("kimi is %+v, %v", p, ok)
	}
	if p, _ := c.Provider("anthropic"); p.Models < 5 {
		t.Errorf("anthropic has %d models", p.Models)
	}
	for _, name := range []string{"", "bedrock", "vertexai", "copilot", "OpenAI", "corp", "openai\t"} {
		if p, ok := c.Provider(name); ok {
			t.Errorf("Provider(%q) = %+v, want none", name, p)
		}
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	c := catalog.New(nil)
	for _, p := range c.Providers() {
		want := p.Name
		if p.Auth == wire.AuthNone || p.BaseURL == "" {
			continue
		}
		if got, ok := c.At(p.BaseURL); got != want || !ok {
			t.Errorf("At(%q) = %q, %v; want %q", p.BaseURL, got, ok, want)
		}
	}
	tests := map[string]string{
		"":                                "openai",
		"https://mine.openai.azure.com/":  "azure",
		"https://API.Mistral.ai/v1/":      "mistral",
		"https://api.mistral.ai.evil.com": "",
		"http://127.0.0.1:11434/v1":       "",
		gateway:                           "",
		"http://%zz":                      "",
	}
	for baseURL, want := range tests {
		if got, ok := c.At(baseURL); got != want || ok != (want != "") {
			t.Errorf("At(%q) = %q, %v; want %q", baseURL, got, ok, want)
		}
	}
}

func TestWire(t *testing.T) {
	t.Parallel()
	c := catalog.New(map[string]catalog.Entry{
		"old":           {Wire: wire.Chat},
		"anthropic/old": {Wire: wire.Responses},
		"corp/new":      {Wire: wire.Anthropic},
	})
	tests := []struct{ provider, model, baseURL, want string }{
		{"openai", "gpt-5.5", "", "responses"},
		{"", "gpt-5.5", "", "responses"},
		{"", "gpt-5.5", openAI, "responses"},
		{"", "gpt-5.5", gateway, "chat"},
		{"", "gpt-5.5", "http://127.0.0.1:1/v1", "chat"},
		{"xai", "grok-4", "", "responses"},
		{"azure", "gpt-5.5", "", "responses"},
		{"azure", "gpt-5.5", "https://mine.openai.azure.com/openai/v1", "responses"},
		{"azure", "gpt-4o", "https://mine.openai.azure.com/openai/deployments/gpt-4o", "chat"},
		{"", "gpt-4o", "https://mine.openai.azure.com/openai/deployments/gpt-4o", "chat"},
		{"anthropic", "claude-opus-4-7", "", "anthropic"},
		{"anthropic", "claude-opus-4-7", gateway, "anthropic"},
		{"minimax", "minimax-m2.7", "", "anthropic"},
		{"minimax", "minimax-m2.7", "https://api.minimax.io/anthropic", "anthropic"},
		{"minimax", "minimax-m2.7", "https://api.minimax.io/v1", "chat"},
		{"kimi-coding", "kimi", "", "anthropic"},
		{"kimi-coding", "kimi", "https://api.kimi.com/coding/v1", "chat"},
		{"deepseek", "deepseek-chat", "", "chat"},
		{"deepseek", "deepseek-chat", "https://api.deepseek.com/anthropic", "anthropic"},
		{"openrouter", "anthropic/claude-opus-4.5", "", "chat"},
		{"opencode-zen", "claude-opus-4-7", "", "anthropic"},
		{"opencode-zen", "gpt-5.2", "", "responses"},
		{"opencode-zen", "kimi-k2", "", "chat"},
		{"mistral", "codestral", "", "chat"},
		{"corp", "gpt-5.5", "", "chat"},
		{"corp", "gpt-5.5", gateway, "chat"},
		{"corp", "gpt-5.5", "https://eu.api.openai.com/v1", "responses"},
		{"openai", "old", "", "chat"},
		{"anthropic", "Old", "", "responses"},
		{"corp", "new", "", "anthropic"},
		{"openai", "gpt-5.5", "http://%zz", "responses"},
	}
	for _, tt := range tests {
		if got := c.WireAt(tt.provider, tt.model, tt.baseURL); got != tt.want {
			t.Errorf("WireAt(%q, %q, %q) = %q, want %q", tt.provider, tt.model, tt.baseURL, got, tt.want)
		}
		if got := c.Wire(tt.provider, tt.model); tt.baseURL == "" && got != tt.want {
			t.Errorf("Wire(%q, %q) = %q, want %q", tt.provider, tt.model, got, tt.want)
		}
	}
}

func TestLookupAt(t *testing.T) {
	t.Parallel()
	c := catalog.New(nil)
	tests := []struct {
		name, provider, model, baseURL string
		input                          float64 // -1: no price
		source                         string
	}{
		{"a name is enough", "anthropic", "claude-opus-4-7", "", 5, "anthropic"},
		{"behind a gateway of one's own", "anthropic", "claude-opus-4-7", gateway, 5, "anthropic"},
		{"a provider's own price", "aihubmix", "claude-haiku-4-5", "", 1.1, "aihubmix"},
		{"the host goes before the name", "anthropic", "claude-haiku-4-5", "https://aihubmix.com/v1", 1.1, "aihubmix"},
		{"on this machine", "openai", "gpt-5", "http://127.0.0.1:1/v1", -1, "local"},
		{"an own name, a known host", "corp", "gpt-5", openAI, 1.25, "openai"},
		{"an own name, an unknown host", "corp", "gpt-5", gateway, 1.25, "openai, which makes"},
		{"an own name without a host", "corp", "gpt-5", "", 1.25, "openai, which makes"},
		{"a provider without a list", "together", "deepseek-chat", "", -1, "together does not list it"},
		{"its host", "", "deepseek-chat", "https://api.together.xyz/v1", -1, "together does not list it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, ok := c.LookupAt(tt.provider, tt.model, tt.baseURL)
			if !ok || e.Priced != (tt.input >= 0) || e.Priced && math.Abs(e.InputUSD-tt.input) > 1e-9 ||
				!strings.Contains(e.Source, tt.source) {
				t.Errorf("found %v, %+v; want %v from %q", ok, e, tt.input, tt.source)
			}
		})
	}
}

func TestCacheWrites(t *testing.T) {
	t.Parallel()
	c := catalog.New(map[string]catalog.Entry{
		"claude-haiku-4-5":        {Priced: true, InputUSD: 2, CachedUSD: 0.2, OutputUSD: 10},
		"claude-opus-4-7":         {WriteUSD: 9, WriteHourUSD: 11},
		"openai/gpt-5":            {WriteUSD: 3},
		"corp/house":              {Priced: true, InputUSD: 1, WriteUSD: 4},
		"house":                   {Window: 7, Priced: true, InputUSD: 2},
		"openrouter/openai/gpt-5": {WriteUSD: 8},
	})
	tests := []struct {
		name, provider, model, baseURL string
		input, write, hour             float64
	}{
		{"Anthropic's", "anthropic", "claude-sonnet-4-6", "", 3, 3.75, 6},
		{"by the maker's name", "", "claude-sonnet-4-6", gateway, 3, 3.75, 6},
		{"resold", "openrouter", "anthropic/claude-opus-4.5", "", 5, 6.25, 10},
		{"resold at another price", "aihubmix", "claude-sonnet-4-5", "", 3.3, 4.125, 6.6},
		{"as the list says", "minimax", "minimax-m2.7", "", 0.3, 0.375, 0},
		{"no price of its own", "deepseek", "deepseek-v4-pro", "", -1, 0, 0},
		{"an override keeps the proportion", "anthropic", "claude-haiku-4-5", "", 2, 2.5, 4},
		{"an override of writes alone", "anthropic", "claude-opus-4-7", "", 5, 9, 11},
		{"by provider", "openai", "gpt-5", "", 1.25, 3, 0},
		{"by the host's provider", "", "gpt-5", openAI, 1.25, 3, 0},
		{"not another provider's", "azure", "gpt-5", "", 1.25, 0, 0},
		{"a name with a slash", "openrouter", "openai/gpt-5", "", 1.25, 8, 0},
		{"the more exact one wins", "corp", "House", gateway, 1, 4, 0},
		{"no price, no writes", "", "claude-sonnet-4-6", "http://127.0.0.1:1/v1", 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, ok := c.LookupAt(tt.provider, tt.model, tt.baseURL)
			got, want := []float64{e.InputUSD, e.WriteUSD, e.WriteHourUSD}, []float64{tt.input, tt.write, tt.hour}
			for i := range want {
				if !ok || want[i] >= 0 && math.Abs(got[i]-want[i]) > 1e-9 {
					t.Errorf("found %v, input and writes %v, want %v (%s)", ok, got, want, e.Source)
				}
			}
		})
	}
	if e, _ := c.LookupAt("corp", "house", gateway); e.Window != 7 || e.Source != "override" {
		t.Errorf("the less exact override does not hold where the other says nothing: %+v", e)
	}
}

func TestCostOfWrites(t *testing.T) {
	t.Parallel()
	claude := catalog.Entry{InputUSD: 4, CachedUSD: 0.4, WriteUSD: 5, WriteHourUSD: 8, OutputUSD: 20, Priced: true}
	plain := catalog.Entry{InputUSD: 4, CachedUSD: 0.4, OutputUSD: 20, Priced: true}
	tests := []struct {
		name  string
		entry catalog.Entry
		usage plan.Usage
		want  float64
	}{
		{
			"parts of the input",
			claude,
			plan.Usage{Input: 1e6, Cached: 500e3, Written: 200e3, WrittenHour: 100e3},
			0.2 + 1 + 0.8 + 0.8,
		},
		{"all of it", claude, plan.Usage{Input: 1e6, Written: 1e6}, 5},
		{"without a price of writes", plain, plan.Usage{Input: 1e6, Written: 300e3, WrittenHour: 300e3}, 4},
		{
			"an hour is not cheaper than minutes",
			catalog.Entry{InputUSD: 4, WriteUSD: 5, Priced: true},
			plan.Usage{Input: 1e6, WrittenHour: 1e6},
			5,
		},
		{
			"a write is not cheaper than input",
			catalog.Entry{InputUSD: 4, WriteUSD: 1, Priced: true},
			plan.Usage{Input: 1e6, Written: 1e6},
			4,
		},
		{
			"more parts than there is",
			claude,
			plan.Usage{Input: 1e6, Cached: 600e3, Written: 9e6, WrittenHour: 100e3},
			0.24 + 0.8 + 1.5,
		},
		{"nonsense does not pay back", claude, plan.Usage{Input: 1e6, Written: -9e6, WrittenHour: -9e6}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if usd, ok := tt.entry.Cost(tt.usage); !ok || math.Abs(usd-tt.want) > 1e-9 {
				t.Errorf("Cost = %v, %v; want %v", usd, ok, tt.want)
			}
		})
	}
}

// BenchmarkProviders is what asking for a provider costs.
func BenchmarkProviders(b *testing.B) {
	c := catalog.New(nil)
	for b.Loop() {
		c.Provider("openrouter")
	}
}

// TestTakesFound: what the providers' pages say of their models.
func TestTakesFound(t *testing.T) {
	t.Parallel()
	for at, want := range map[[2]string]bool{
		{"openai", "gpt-5.4"}:                      true,
		{"openai", "gpt-5.4-mini"}:                 true,
		{"openai", "gpt-5.5-pro"}:                  true,
		{"openai", "gpt-5.2"}:                      false,
		{"openai", "gpt-4o"}:                       false,
		{"openrouter", "gpt-5.4"}:                  false,
		{"anthropic", "claude-opus-4-6"}:           true,
		{"anthropic", "claude-haiku-4-5-20251001"}: true,
		{"anthropic", "claude-opus-4-1-20250805"}:  false,
		{"anthropic", "claude-sonnet-4-20250514"}:  false,
	} {
		e, _ := catalog.New(nil).LookupAt(at[0], at[1], "")
		if e.TakesFound != want {
			t.Errorf("%s/%s: %v", at[0], at[1], e.TakesFound)
		}
	}
	over := catalog.New(map[string]catalog.Entry{"house": {TakesFound: true}})
	if e, _ := over.LookupAt("", "house", "http://127.0.0.1:1/v1"); !e.TakesFound {
		t.Error("the settings do not say it")
	}
}
