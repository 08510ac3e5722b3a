package config_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/wire"
)

const providers = `
model = "corp/big"
provider = "corp"

[providers.corp]
wire = "responses"
base_url = "https://me:hunter22-pw@models.corp.example/v1?sig=url-signature-1"
key_env = "CORP_CREDIT"
auth = "api-key"
structured = "tool"
cache = "off"
[providers.corp.headers]
X-Team = "blue"
X-Api-Token = "literal-token-1"
Authorization = "Basic bGl0ZXJhbA=="
X-Trace = "$CORP_TRACE"
[providers.corp.query]
api-version = "2026-01-01"
api-key = "query-secret-1"
[providers.corp.body]
service_tier = "flex"
max_tokens = 4096
api_key = "body-secret-1"
tools_of = ["plain", "sk-aaaaaaaaaaaaaaaaaaaaaaaa"]
chat_template_kwargs = {enable_thinking = false}
credentials = {user = "body-user-77", more = [{pass = "body-pass-88"}]}
[[providers.corp.body.list]]
token = "body-list-99"

[providers.vault]
key_command = "printf command-secret-1"

[route]
cheap = "corp/small"
strong = "anthropic/claude-opus-4-7"
summary = "@cheap"
sub_agent = "corp/mid"

[phase.implement]
model = "@cheap"
escalate = "@strong"

[retry]
unreachable_for = "20s"
[timeouts]
first_byte = "20m"
answer = "2h"

[models."corp/big"]
cache_write = 4
cache_write_hour = 6
wire = "chat"
`

func TestProvidersAreRead(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(place(t, providers, ""))
	if err != nil {
		t.Fatal(err)
	}
	corp := cfg.Providers["corp"]
	want := config.ProviderConfig{
		Wire:       "responses",
		BaseURL:    "https://me:hunter22-pw@models.corp.example/v1?sig=url-signature-1",
		KeyEnv:     "CORP_CREDIT",
		Auth:       "api-key",
		Structured: "tool", Cache: "off",
		Headers: map[string]string{
			"X-Team":        "blue",
			"X-Api-Token":   "literal-token-1",
			"Authorization": "Basic bGl0ZXJhbA==",
			"X-Trace":       "$CORP_TRACE",
		},
		Query: map[string]string{"api-version": "2026-01-01", "api-key": "query-secret-1"},
	}
	body := corp.Body
	corp.Body = nil
	if diff := cmp.Diff(want, corp); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text, err := json.Marshal(body["chat_template_kwargs"]); err != nil || string(text) != `{"enable_thinking":false}` {
		t.Errorf("body: %s, %v", text, err)
	}
	route := config.RouteConfig{Cheap: "corp/small", Strong: "anthropic/claude-opus-4-7", Summary: "@cheap", SubAgent: "corp/mid"}
	if diff := cmp.Diff(route, cfg.Route); diff != "" || cfg.Provider != "corp" || cfg.Providers["vault"].KeyCommand == "" {
		t.Errorf("%s (-want +got):\n%s", cfg.Provider, diff)
	}
	if got := cfg.For(plan.Implement); got.Escalate != "@strong" || got.Model != "@cheap" {
		t.Errorf("implement: %+v", got)
	}
	if got := cfg.For(plan.Review); got.Escalate != "" || got.Model != "corp/big" {
		t.Errorf("review: %+v", got)
	}
	if m := cfg.Models["corp/big"]; m.CacheWrite != 4 || m.CacheWriteHour != 6 || m.Wire != "chat" {
		t.Errorf("model: %+v", m)
	}
}

func TestSettingsAreKeptWithoutKeys(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(place(t, providers, ""))
	if err != nil {
		t.Fatal(err)
	}
	text, err := cfg.TOML()
	if err != nil {
		t.Fatal(err)
	}
	kept := string(cfg.JSON()) + text
	secrets := []string{
		"hunter22", "url-signature", "literal-token", "bGl0ZXJhbA", "query-secret", "body-secret", "body-user", "body-pass", "body-list",
		"sk-aaaa", "command-secret", "blue",
	}
	for _, secret := range secrets {
		if strings.Contains(kept, secret) {
			t.Errorf("%s is kept in\n%s", secret, kept)
		}
	}
	for _, word := range []string{
		"https://models.corp.example/v1",
		"CORP_CREDIT",
		"$CORP_TRACE",
		"X-Api-Token",
		"2026-01-01",
		"flex",
		"4096",
		"enable_thinking",
		"plain",
	} {
		if !strings.Contains(string(cfg.JSON()), word) || !strings.Contains(text, word) {
			t.Errorf("%s is missing in\n%s\n%s", word, cfg.JSON(), text)
		}
	}
	again, _, err := config.Load(place(t, text, ""))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if diff := cmp.Diff(string(cfg.JSON()), string(again.JSON())); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	if cfg.Providers["corp"].Headers["X-Team"] != "blue" || cfg.Providers["vault"].KeyCommand != "printf command-secret-1" {
		t.Error("writing the settings changed them")
	}
}

func TestSecretsOfSettings(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(place(t, providers, ""))
	if err != nil {
		t.Fatal(err)
	}
	cfg.BaseURL = "https://u:general-pw-1@h/v1?key=general-query"
	environ := []string{
		"CORP_CREDIT=env-credit-1",
		"CORP_TRACE= env-trace-1 ",
		"CORP_OTHER=harmless-value",
		"GEMINI_API_KEY=gemini-key-1",
		"PATH=/bin",
	}
	redact := config.NewKnownSecrets(cfg.Secrets(environ)).Redact
	for _, secret := range []string{
		"env-credit-1",
		"env-trace-1",
		"gemini-key-1",
		"hunter22-pw",
		"url-signature-1",
		"literal-token-1",
		"Basic bGl0ZXJhbA==",
		"bGl0ZXJhbA==",
		"query-secret-1", "body-secret-1", "body-user-77", "body-pass-88", "body-list-99", "sk-aaaaaaaaaaaaaaaaaaaaaaaa",
		"general-pw-1", "general-query",
	} {
		if got := redact("<" + secret + ">"); !strings.HasPrefix(got, "<«secret ") {
			t.Errorf("%s is shown as %s", secret, got)
		}
	}
	for _, text := range []string{"harmless-value", "blue", "2026-01-01", "enable_thinking", "4096"} {
		if got := redact(text); got != text {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
	if diff := cmp.Diff([]string{"CORP_CREDIT", "CORP_TRACE"}, cfg.KeyNames()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(environ[2:], cfg.ForChildren(append(environ, "PLAN_QUEUE_TOKEN=a token"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKnownSecretsGrow(t *testing.T) {
	t.Parallel()
	known := config.NewKnownSecrets(nil)
	var adding sync.WaitGroup
	for _, value := range []string{"first-secret-1", " second-secret-2\n", "short", "password"} {
		adding.Go(func() {
			known.Add(config.Secret{Name: "k", Value: value})
			known.Redact(value)
		})
	}
	adding.Wait()
	if got := known.Redact("first-secret-1 second-secret-2 short password"); got != "«secret k» «secret k» short password" {
		t.Errorf("got %s", got)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	inCatalogue := func(p string) bool { return slices.Contains([]string{"openai", "anthropic", "openrouter"}, p) }
	alone := config.Config{Providers: map[string]config.ProviderConfig{"corp": {}}}
	gateway := alone
	gateway.BaseURL = "https://openrouter.ai/api/v1"
	tests := []struct {
		cfg                   config.Config
		name, provider, model string
	}{
		{alone, "gpt-5", "", "gpt-5"},
		{alone, "anthropic/claude-opus-4.5", "anthropic", "claude-opus-4.5"},
		{alone, "openrouter/anthropic/claude-opus-4.5", "openrouter", "anthropic/claude-opus-4.5"},
		{alone, "corp/a/b", "corp", "a/b"},
		{alone, "meta-llama/llama-4", "", "meta-llama/llama-4"},
		{alone, "Anthropic/claude", "", "Anthropic/claude"},
		{alone, "anthropic/", "", "anthropic/"},
		{alone, "/claude", "", "/claude"},
		{alone, "", "", ""},
		{gateway, "anthropic/claude-opus-4.5", "", "anthropic/claude-opus-4.5"},
		{gateway, "openrouter/anthropic/claude", "", "openrouter/anthropic/claude"},
		{gateway, "corp/a", "corp", "a"},
	}
	for _, tt := range tests {
		if provider, model := config.Split(tt.name, tt.cfg.Known(inCatalogue)); provider != tt.provider || model != tt.model {
			t.Errorf("Split(%q) with %q = %q, %q; want %q, %q", tt.name, tt.cfg.BaseURL, provider, model, tt.provider, tt.model)
		}
	}
	if provider, _ := config.Split("openai/gpt-5", config.Config{}.Known(nil)); provider != "" {
		t.Errorf("without a catalogue: %q", provider)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	both := config.Config{Route: config.RouteConfig{Cheap: "small", Strong: "corp/big"}}
	tests := []struct {
		cfg              config.Config
		name, model, why string
		err              string
	}{
		{both, "@cheap", "small", "route.cheap", ""},
		{both, "@strong", "corp/big", "route.strong", ""},
		{both, "plain", "plain", "", ""},
		{both, "", "", "", ""},
		{both, "@strongest", "", "", `"@strongest" is not a model: write @cheap, @strong`},
		{config.Config{}, "@cheap", "", "", "set route.cheap in config.toml, or name a model"},
		{config.Config{}, "@strong", "", "", "set route.strong in config.toml, or name a model"},
	}
	for _, tt := range tests {
		model, why, err := tt.cfg.Resolve(tt.name)
		if model != tt.model || why != tt.why || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Resolve(%q) = %q, %q, %v; want %q, %q, %q", tt.name, model, why, err, tt.model, tt.why, tt.err)
		}
	}
}

// TestCatalogueIsTaken: what the wires and the catalogue say of themselves can
// stand in the settings.
func TestCatalogueIsTaken(t *testing.T) {
	t.Parallel()
	var own strings.Builder
	for i, kind := range someWires() {
		own.WriteString("[providers.w" + string(rune('0'+i)) + "]\nwire = '" + kind.Name + "'\n")
	}
	for i, auth := range wire.Auths() {
		own.WriteString("[providers.a" + string(rune('0'+i)) + "]\nauth = '" + auth + "'\n")
	}
	for _, p := range catalog.New(nil).Providers() {
		own.WriteString("[providers." + p.Name + "]\n")
		if p.KeyEnv != "" {
			own.WriteString("key_env = '" + p.KeyEnv + "'\n")
			if found := config.Secrets([]string{p.KeyEnv + "=a-key-of-some-length"}); len(found) != 1 {
				t.Errorf("%s is not known to hold a secret", p.KeyEnv)
			}
		}
	}
	if _, _, err := config.Load(place(t, own.String(), "")); err != nil {
		t.Error(err)
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	const far, near = "https://api.openai.com/v1", "http://127.0.0.1:11434/v1"
	var unset config.TimeoutsConfig
	set := config.TimeoutsConfig{FirstByte: config.Of(time.Minute), Answer: config.Of(time.Hour)}
	tests := []struct {
		cfg          config.TimeoutsConfig
		baseURL      string
		first, whole time.Duration
	}{
		{unset, far, 15 * time.Minute, 30 * time.Minute},
		{unset, near, time.Hour, 75 * time.Minute},
		{unset, "http://localhost:1/v1", time.Hour, 75 * time.Minute},
		{unset, "http://[::1]:1/v1", time.Hour, 75 * time.Minute},
		{unset, "http://%zz", 15 * time.Minute, 30 * time.Minute},
		{unset, "", 15 * time.Minute, 30 * time.Minute},
		{set, near, time.Minute, time.Hour},
		{config.TimeoutsConfig{FirstByte: config.Of(2 * time.Hour)}, far, 2 * time.Hour, 135 * time.Minute},
	}
	for _, tt := range tests {
		if first, whole := tt.cfg.First(tt.baseURL), tt.cfg.Whole(tt.baseURL); first != tt.first || whole != tt.whole {
			t.Errorf("%+v at %q: %s and %s; want %s and %s", tt.cfg, tt.baseURL, first, whole, tt.first, tt.whole)
		}
	}
	retry := config.RetryConfig{UnreachableFor: config.Of(time.Second)}
	none := config.RetryConfig{}
	waits := []time.Duration{none.Unreachable(false), none.Unreachable(true), retry.Unreachable(false), retry.Unreachable(true)}
	if !slices.Equal(waits, []time.Duration{10 * time.Second, 2 * time.Minute, time.Second, time.Second}) {
		t.Errorf("unreachable: %v", waits)
	}
}

// TestOldSettingsAreStillRead: what a run of an earlier version kept.
func TestOldSettingsAreStillRead(t *testing.T) {
	t.Parallel()
	const old = `{"model":"m","base_url":"http://127.0.0.1:1/v1","max_review_cycles":2,"max_turns":100,"checks":{"detect":true},` +
		`"retry":{"served":2,"unserved_for":"5m0s","base":"500ms","max":"30s","retry_after_max":"1m0s"},` +
		`"timeouts":{"idle":"2m0s","bash":"2m0s"}}`
	var cfg config.Config
	if err := json.Unmarshal([]byte(old), &cfg); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(old, string(cfg.JSON())); diff != "" {
		t.Errorf("(-old +now):\n%s", diff)
	}
}
