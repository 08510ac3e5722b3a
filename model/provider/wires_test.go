package provider_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wires"
)

// Keywords that a server does not take in a schema are left out, on each wire,
// whether they stand in a tool, in the format of the answer, or in both.
func TestSchemaKeywords(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	tools := []loop.Spec{{Name: "read", Description: "d", Schema: schema}}
	format := &loop.Format{Name: "verdict", Schema: schema}
	calls := map[string]func(*loop.Call){
		"in a tool":   func(c *loop.Call) { c.Tools = tools },
		"in a format": func(c *loop.Call) { c.Format = format },
		"in both":     func(c *loop.Call) { c.Tools, c.Format = tools, format },
	}
	for _, spoken := range wires.Names() {
		for _, structured := range []string{"auto", "schema", "tool", "text"} {
			for name, change := range calls {
				t.Run(spoken+", "+structured+", "+name, func(t *testing.T) {
					t.Parallel()
					server, err := scripted.Start(context.WithoutCancel(t.Context()), &scripted.Scenario{
						Server:  scripted.Gateway{Refuses: []string{"schema:additionalProperties"}},
						Replies: []scripted.Reply{{Text: "hello"}},
					}, scripted.Config{})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = server.Close() })
					set := open(t, config.Config{Providers: map[string]config.ProviderConfig{
						"corp": {BaseURL: server.URL(), Wire: spoken, Structured: structured, KeyEnv: "KEY"},
					}}, []string{"KEY=" + server.Key()})
					c := call("corp/m")
					change(&c)
					for range 2 {
						if answer, err := set.Generate(t.Context(), c, nil); err != nil || answer.Message.Text() != "hello" {
							t.Fatalf("%+v, %v", answer, err)
						}
					}
				})
			}
		}
	}
}
