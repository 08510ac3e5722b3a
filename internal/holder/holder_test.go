package holder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/internal/holder"
)

type who struct{ Name string }

func TestTheLastSignatureCounts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var got who
	if holder.Read(path, &got) {
		t.Error("nobody signed a file that is not there")
	}
	if err := holder.Sign(path, who{"a"}); err == nil {
		t.Error("a lock that is not there was made by signing it")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if holder.Read(path, &got) {
		t.Error("nobody signed an empty file")
	}
	for _, name := range []string{strings.Repeat("long ", 100), "b"} {
		if err := holder.Sign(path, who{name}); err != nil {
			t.Fatal(err)
		}
		if !holder.Read(path, &got) || got.Name != name {
			t.Errorf("read %q, signed %q", got.Name, name)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "{\"Name\":\"b\"}\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// A process that was kept from running until its time was over takes a lock that is free.
func TestTakeTriesOnceMore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	first, free, err := holder.Take(late, path, time.Millisecond)
	if err != nil || !free {
		t.Errorf("the free one: %v, %v", free, err)
	}
	second, free, err := holder.Take(late, path, time.Millisecond)
	if !errors.Is(err, context.DeadlineExceeded) || free {
		t.Errorf("the one that is held: %v, %v", free, err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
}
