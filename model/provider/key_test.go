package provider_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/provider"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// keysIn are the values of all headers of a request that hold a key.
func keysIn(h http.Header) string {
	var out []string
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
		if value := h.Get(name); value != "" {
			out = append(out, name+" "+value)
		}
	}
	return strings.Join(out, ", ")
}

// The key of one provider is never sent to another, whatever they share.
func TestKeysStayWithTheirProvider(t *testing.T) {
	t.Parallel()
	corp, other, usual := serve(t, nil), serve(t, nil), serve(t, nil)
	var told sync.Map
	set := open(t, config.Config{
		BaseURL: usual.at(),
		Providers: map[string]config.ProviderConfig{
			"corp":   {BaseURL: corp.at(), KeyEnv: "CORP_KEY", Auth: "api-key"},
			"claude": {BaseURL: other.at(), Wire: "anthropic", KeyCommand: "print claude"},
			"new":    {BaseURL: other.at(), Wire: "responses", KeyEnv: "NEW_KEY"},
			"free":   {BaseURL: other.at(), KeyEnv: "CORP_KEY", Auth: "none"},
			"empty":  {BaseURL: other.at()},
		},
	}, []string{"CORP_KEY= k-corp\n", "NEW_KEY=k-new", "OPENAI_API_KEY=k-openai"},
		command(func(line string) (string, error) { return "k-" + strings.TrimPrefix(line, "print ") + "\n", nil }),
		func(c *provider.Config) { c.Secret = func(key string) { told.Store(key, true) } })
	tests := []struct {
		model string
		at    *fake
		path  string
		want  string
	}{
		{"corp/m", corp, "/v1/chat/completions", "Api-Key k-corp"},
		{"claude/m", other, "/v1/messages", "X-Api-Key k-claude"},
		{"new/m", other, "/v1/responses", "Authorization Bearer k-new"},
		{"free/m", other, "/v1/chat/completions", ""},
		{"empty/m", other, "/v1/chat/completions", ""},
		{"m", usual, "/v1/chat/completions", "Authorization Bearer k-openai"},
	}
	for _, tt := range tests {
		before := len(tt.at.seen())
		ask(t, set, tt.model)
		all := tt.at.seen()[before:]
		if len(all) != 1 || all[0].path != tt.path || keysIn(all[0].header) != tt.want || all[0].model() != "m" {
			t.Errorf("%s: %+v, want %q at %s", tt.model, all, tt.want, tt.path)
		}
	}
	if _, ok := told.Load("k-claude"); !ok {
		t.Error("what a command printed is not known as a secret")
	}
}

// A base URL at the host of a provider that the settings have elsewhere is
// another server, with another key.
func TestTwoServersOfOneProvider(t *testing.T) {
	t.Parallel()
	asked := serve(t, nil)
	inside := &http.Client{Transport: wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("X-Asked-Host", r.URL.Host)
		r.URL.Scheme, r.URL.Host = "http", strings.TrimPrefix(asked.URL, "http://")
		return http.DefaultTransport.RoundTrip(r)
	})}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	set := open(t, config.Config{
		BaseURL:   "https://api.deepseek.com/v1",
		Providers: map[string]config.ProviderConfig{"deepseek": {BaseURL: "https://proxy.corp/v1", KeyEnv: "CORP"}},
	}, []string{"DEEPSEEK_API_KEY=k-own", "CORP=k-corp"}, func(c *provider.Config) { c.HTTP = inside })
	for _, model := range []string{"m", "deepseek/m", "m"} {
		ask(t, set, model)
	}
	var got []string
	for _, r := range asked.seen() {
		got = append(got, r.header.Get("X-Asked-Host")+" "+keysIn(r.header))
	}
	own, corp := "api.deepseek.com Authorization Bearer k-own", "proxy.corp Authorization Bearer k-corp"
	if !slices.Equal(got, []string{own, corp, own}) {
		t.Errorf("asked %q", got)
	}
}

func TestMissingKeys(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	at := func(p config.ProviderConfig) config.Config {
		p.BaseURL = server.at()
		return config.Config{Providers: map[string]config.ProviderConfig{"corp": p}}
	}
	prints := func(text string, err error) func(*provider.Config) {
		return command(func(string) (string, error) { return text, err })
	}
	tests := []struct {
		name     string
		settings config.ProviderConfig
		change   func(*provider.Config)
		want     string
	}{
		{"no variable", config.ProviderConfig{KeyEnv: "CORP_KEY"}, nil, "set CORP_KEY"},
		{"no commands here", config.ProviderConfig{KeyCommand: "x"}, nil, "cannot be run here"},
		{"a command that fails", config.ProviderConfig{KeyCommand: "x"}, prints("k-half", errors.New("exit "+
			"status 1")), "key_command of corp: exit status 1"},
		{"a command that says nothing", config.ProviderConfig{KeyCommand: "x"}, prints(" \n", nil), "printed nothing"},
		{"a command that says more", config.ProviderConfig{KeyCommand: "x"}, prints("k-secret\nand more", nil), "white space"},
	}
	for _, tt := range tests {
		change := tt.change
		if change == nil {
			change = func(*provider.Config) {}
		}
		_, err := open(t, at(tt.settings), nil, change).Generate(t.Context(), call("corp/m"), nil)
		me := failure(t, err, loop.ErrAuth)
		if !strings.Contains(me.Message, tt.want) || strings.Contains(err.Error(), "k-") {
			t.Errorf("%s: %v, want %q in it", tt.name, err, tt.want)
		}
	}
	if n := len(server.seen()); n > 0 {
		t.Errorf("%d requests without a key", n)
	}
}

// A command is run once however many calls need it, and again once the server
// does not take what it printed before.
func TestKeyCommandAgain(t *testing.T) {
	t.Parallel()
	var ran, good atomic.Int32
	good.Store(1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Header.Get("Authorization") == "Bearer k-"+string('0'+rune(good.Load())) {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	set := open(t, config.Config{Providers: map[string]config.ProviderConfig{"corp": {BaseURL: server.at(), KeyCommand: "x"}}}, nil,
		command(func(string) (string, error) { return "k-" + string('0'+rune(ran.Add(1))), nil }))
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if _, err := set.Generate(t.Context(), call("corp/m"), nil); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := ran.Load(); n != 1 {
		t.Errorf("the command was run %d times, want once", n)
	}
	good.Store(2) // the first key has expired
	ask(t, set, "corp/m")
	good.Store(9) // and no key is taken any more
	before := len(server.seen())
	_, err := set.Generate(t.Context(), call("corp/m"), nil)
	failure(t, err, loop.ErrAuth)
	if n := len(server.seen()) - before; n != 2 || ran.Load() != 3 {
		t.Errorf("%d requests, and the command was run %d times", n, ran.Load())
	}
}

// Headers, query and body of the settings go with each request; a header's secret
// stays out of errors.
func TestWhatGoesWithEachRequest(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n <= 0 {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte("bad token " + r.Header.Get("X-Token")))
		return true
	})
	var told []string
	set := open(t, config.Config{Providers: map[string]config.ProviderConfig{"corp": {
		BaseURL: server.at(),
		Headers: map[string]string{"X-Token": "$TOKEN", "X-Title": "plan"},
		Query:   map[string]string{"api-version": "2026-01-01"},
		Body:    map[string]any{"service_tier": "flex", "provider": map[string]any{"order": []string{"a"}}},
	}}}, []string{"TOKEN=t-secret-1\n"}, func(c *provider.Config) { c.Secret = func(key string) { told = append(told, key) } })
	ask(t, set, "corp/m")
	sent := server.seen()[0]
	if sent.header.Get("X-Token") != "t-secret-1" || sent.header.Get("X-Title") != "plan" ||
		sent.query != "api-version=2026-01-01" {
		t.Errorf("sent %+v", sent)
	}
	if !strings.Contains(sent.body, `"service_tier":"flex"`) || !strings.Contains(sent.body, `"provider":{"order":["a"]}`) {
		t.Errorf("sent %s", sent.body)
	}
	_, err := set.Generate(t.Context(), call("corp/m"), nil)
	if failure(t, err, loop.ErrRefused); strings.Contains(err.Error(), "t-secret") || !slices.Contains(told, "t-secret-1") {
		t.Errorf("error = %v, secrets %q", err, told)
	}
}
