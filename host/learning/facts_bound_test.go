package learning_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/host/learning"
)

// spaces is an input without an end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, strings.Repeat(" ", len(p))), nil }

func TestFactsHaveAnEnd(t *testing.T) {
	t.Parallel()
	_, err := learning.ReadFacts(spaces{}, "facts.jsonl")
	if err == nil || err.Error() != "facts.jsonl is larger than 64 MiB; nothing was added" {
		t.Errorf("got %v", err)
	}
}
