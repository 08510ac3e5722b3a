package batch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
)

func TestAddressInTakesTheLastOne(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "nothing here": "", "https://a.example/1\nSee (https://b.example/x/pull/2).": "https://b.example/x/pull/2",
		"javascript:alert(1) file:///etc/passwd": "",
		"<a href=\"http://c.example/\">":         "http://c.example/",
	} {
		if got := batch.LastURL(text); got != want {
			t.Errorf("in %q: %q, want %q", text, got, want)
		}
	}
}

func TestAPublicationThatWasCutOffIsUnknown(t *testing.T) {
	t.Parallel()
	p := &batch.Publication{State: batch.Publishing, Began: time.Unix(0, 0)}
	if p.Problem() != "" {
		t.Errorf("one that runs: %q", p.Problem())
	}
	p.MarkInterrupted()
	if p.Label() != "unknown" || !strings.Contains(p.Problem(), "--retry") {
		t.Errorf("%s: %s", p.Label(), p.Problem())
	}
	done := &batch.Publication{State: batch.Published, URL: "https://a.example/1"}
	done.MarkInterrupted()
	if done.State != batch.Published || done.Label() != done.URL || done.Problem() != "" {
		t.Errorf("%+v", done)
	}
}

func TestPublishBodyKeepsTheRequestInItsFence(t *testing.T) {
	t.Parallel()
	body := batch.PublishBody("x\n```\n@everyone", []plan.CheckResult{{Check: plan.Check{Command: "a|b"}}}, "DONE", "R1")
	if !strings.HasPrefix(body, "````text\nx\n```\n@everyone\n````\n") || !strings.Contains(body, `| a\|b | passed |`) {
		t.Error(body)
	}
}
