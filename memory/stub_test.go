//go:build !cgo

package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/plan-engine/plan/memory"
)

func TestStubSaysHowToBuild(t *testing.T) {
	t.Parallel()
	_, err := memory.Open(context.Background(), config(t.TempDir()))
	var e *memory.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "C compiler") {
		t.Errorf("got %v", err)
	}
}
