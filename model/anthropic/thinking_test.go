package anthropic_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestEfforts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		model, effort string
		limit         int
		most          int64
		want          string
	}{
		{"claude-opus-4-7", "", 0, 0, `"max_tokens":16384,"model"`},
		{"claude-opus-4-7", "High", 100, 0, `"max_tokens":100,"model":"claude-opus-4-7",` +
			`"cache_control":{"type":"ephemeral"},` + effortHigh + `,` + adaptive},
		{"claude-opus-4-7", "high", 0, 0, `"max_tokens":32768,"model"`},
		{"claude-opus-4-7", "max", 0, 64000, `"max_tokens":64000,"model"`},
		{"claude-opus-4-7", "minimal", 0, 0, `"output_config":{"effort":"low"},` + adaptive},
		{"claude-opus-4-7", "max", 0, 0, `"output_config":{"effort":"max"},` + adaptive},
		{"claude-opus-4-7", "off", 0, 0, `"thinking":{"type":"disabled"}`},
		{"claude-mythos-preview", "low", 0, 0, adaptive},
		{"us.anthropic.claude-sonnet-5-v1:0", "low", 0, 0, adaptive},
		{"claude-sonnet-4.6", "low", 0, 0, adaptive},
		{"claude-haiku-4-5-20251001", "high", 0, 0, budgeted},
		{"anthropic/claude-opus-4.5", "high", 0, 0, budgeted},
		{"anthropic.claude-opus-4-20250514-v1:0", "high", 0, 0, budgeted},
		{"claude-3-7-sonnet-20250219", "high", 0, 64000, budgeted},
		{"MiniMax-M2.5", "high", 0, 0, budgeted},
		{"claude-opus-4-1", "high", 0, 32000, `"max_tokens":32000`},
		{"claude-opus-4-1", "xhigh", 0, 32000, `"budget_tokens":24000`},
		{"claude-opus-4-1", "high", 1000, 0, `"max_tokens":17384`},
		{"claude-opus-4-1", "minimal", 0, 0, `"budget_tokens":1024`},
		{
			"claude-opus-4-1",
			"high",
			0,
			1500,
			`"max_tokens":1500,"model":"claude-opus-4-1","cache_control":{"type":"ephemeral"},"stream"`,
		},
		{"claude-opus-4-1", "strange", 0, 0, `"budget_tokens":8192`},
	}
	for _, tt := range tests {
		t.Run(tt.model+" "+tt.effort, func(t *testing.T) {
			t.Parallel()
			f := wiretest.ServeText(t, wiretest.EventStream, answered)
			client := clientOf(t, f, func(c *anthropic.Config) { c.MaxOutput = func(string) int64 { return tt.most } })
			req := call("hi")
			half := 0.5
			req.Model, req.Settings = tt.model, loop.Settings{Effort: tt.effort, MaxOutputTokens: tt.limit}
			if strings.Contains(tt.want, `"thinking"`) {
				req.Settings.Temperature = &half
			}
			if _, err := client.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			if body := f.Body(t, 0); !strings.Contains(body, tt.want) || strings.Contains(body, "temperature") {
				t.Errorf("body is %s, want %s in it and no temperature", body, tt.want)
			}
		})
	}
}
