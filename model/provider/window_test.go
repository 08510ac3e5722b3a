package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/provider"
)

// tooLong refuses every request for its length, and lists the model with a window.
func tooLong(words string, listed int) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprintf(w, `{"data":[{"id":"other","context_length":999},{"id":"m","context_length":%d}]}`, listed)
			return true
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":%q,"code":"context_length_exceeded"}}`, words)
		return true
	}
}

// The window is what the server names in a refusal, else what it lists, else what
// is known; a smaller one of the settings always counts.
func TestWindow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		words       string
		listed, own int
		want        int64
	}{
		{"its words", "the maximum context length is 8192 tokens", 32768, 0, 8192},
		{"its list", "too many tokens", 32768, 0, 32768},
		{"neither", "too many tokens", 0, 0, 0},
		{"a smaller one of the settings", "the maximum context length is 8192 tokens", 0, 4096, 4096},
		{"a larger one of the settings", "the maximum context length is 8192 tokens", 0, 100000, 8192},
		{"the settings alone", "too many tokens", 0, 50000, 50000},
		{"a hostile number", "the maximum context length is 100000000000000000000 tokens", 0, 50000, 50000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, tooLong(tt.words, tt.listed))
			settings := config.Config{Providers: map[string]config.ProviderConfig{"corp": {BaseURL: server.at()}}}
			known := map[string]catalog.Entry{}
			if tt.own > 0 {
				settings.Models = map[string]config.ModelConfig{"corp/m": {Window: tt.own}}
				known["corp/m"] = catalog.Entry{Window: tt.own}
			}
			set := open(t, settings, nil, func(c *provider.Config) { c.Catalog = catalog.New(known) })
			_, err := set.Generate(t.Context(), call("corp/m"), nil)
			failure(t, err, loop.ErrTooLong)
			if got := set.Window("corp/m"); got != tt.want {
				t.Errorf("window = %d, want %d", got, tt.want)
			}
		})
	}
}

// What the loop learns goes before the list, for this model alone.
func TestLearn(t *testing.T) {
	t.Parallel()
	set := open(t, config.Config{Providers: map[string]config.ProviderConfig{"corp": {BaseURL: "http://corp.invalid/v1"}}}, nil)
	for _, window := range []int64{0, -1} {
		set.Learn("corp/m", window)
	}
	set.Learn("nowhere/", 5)
	if got := set.Window("corp/m"); got != 0 {
		t.Errorf("window = %d, want none", got)
	}
	set.Learn("corp/m", 9000)
	if got, other := set.Window("corp/m"), set.Window("corp/n"); got != 9000 || other != 0 {
		t.Errorf("windows %d and %d", got, other)
	}
}

// What was adjusted is recorded under the name that the settings have, remembered
// for the model, and known to a later process.
func TestAdjusted(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) bool {
		if n != 0 {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"Unsupported parameter: 'temperature'"}}`)
		return true
	})
	settings := config.Config{Providers: map[string]config.ProviderConfig{
		"corp": {BaseURL: server.at()}, "twin": {BaseURL: server.at()},
	}}
	half := 0.5
	warm := func(model string) loop.Call {
		c := call(model)
		c.Settings.Temperature = &half
		return c
	}
	known := func(of ...plan.Adjusted) func(*provider.Config) {
		return func(c *provider.Config) {
			c.Known = of
			c.HTTP = server.Client()
		}
	}
	set := open(t, settings, nil, known())
	answer, err := set.Generate(t.Context(), warm("corp/m"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.Adjusted{{Model: "corp/m", Part: "temperature", From: "0.5", Why: "Unsupported parameter: 'temperature'"}}
	if diff := cmp.Diff(want, answer.Adjusted); diff != "" {
		t.Fatalf("adjusted (-want +got):\n%s", diff)
	}
	later := open(t, settings, nil, known(answer.Adjusted...))
	for set, models := range map[*provider.Set]map[string]bool{ // whether the temperature is sent
		set:   {"corp/m": false, "corp/n": true, "twin/m": true},
		later: {"corp/m": false, "corp/n": true, "twin/m": true},
	} {
		for model, sent := range models {
			if _, err := set.Generate(t.Context(), warm(model), nil); err != nil {
				t.Fatal(err)
			}
			all := server.seen()
			if got := strings.Contains(all[len(all)-1].body, "temperature"); got != sent {
				t.Errorf("%s: temperature is sent: %v, want %v", model, got, sent)
			}
		}
	}
}

// The question for a server's models goes on behind the first call, and ends with
// the set.
func TestQuestionBehindACall(t *testing.T) {
	t.Parallel()
	asked, gone := make(chan struct{}), make(chan struct{})
	server := serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if !strings.HasSuffix(r.URL.Path, "/models") {
			return false
		}
		close(asked)
		<-r.Context().Done()
		close(gone)
		return true
	})
	set := open(t, config.Config{Providers: map[string]config.ProviderConfig{"corp": {BaseURL: server.at()}}}, nil)
	for range 3 {
		ask(t, set, "corp/m")
	}
	<-asked
	if got := set.Window("corp/m"); got != 0 {
		t.Errorf("window = %d before there is an answer", got)
	}
	began := time.Now()
	set.Close()
	<-gone
	if took := time.Since(began); took > time.Second {
		t.Errorf("Close took %s", took)
	}
	ask(t, set, "corp/m") // and nothing is asked any more
}

// A call that is given up does not wait for the list of models.
func TestTooLongAndGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := serve(t, func(w http.ResponseWriter, r *http.Request, n int) bool {
		if strings.HasSuffix(r.URL.Path, "/models") {
			cancel()
			<-r.Context().Done()
			return true
		}
		return tooLong("too many tokens", 0)(w, r, n)
	})
	set := open(t, config.Config{Providers: map[string]config.ProviderConfig{"corp": {BaseURL: server.at()}}}, nil)
	began := time.Now()
	_, err := set.Generate(ctx, call("corp/m"), nil)
	if took := time.Since(began); err == nil || took > time.Second {
		t.Errorf("%v after %s", err, took)
	}
}
