package holder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
