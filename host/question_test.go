package host_test

import (
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
)

func TestQuestionsAreKnown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"why does the retry test fail?":          true,
		"Where is the limit decided? ":           true,
		"Is Close called twice?":                 true,
		"what's the default of --way?":           true,
		"Fix the retry test":                     false,
		"why does it fail? fix it":               false,
		"Why does it fail?\nMend it, too. Okay?": false,
		"can you add a flag?":                    false,
		"could this be faster?":                  false,
		"how about a --json flag?":               false,
		"why not cache this?":                    false,
		"what":                                   false,
		"?":                                      false,
		"":                                       false,
	} {
		if got := host.IsQuestion(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	r := host.Request{Auto: true}
	r.Settings.Checks = config.ChecksConfig{Required: []string{"make test"}}
	r.AsQuestion()
	if r.Aim != plan.AimAsk || r.Auto || len(r.Settings.Checks.Required) > 0 {
		t.Errorf("as a question: %+v", r)
	}
}
