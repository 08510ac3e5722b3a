package checks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/checks"
)

func TestPrograms(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"make test": {"make"},
		"cd sub && GOFLAGS=-x go test ./... | tee l": {"cd", "go", "tee"},
		"timeout 5 npm test; npm run x":              {"timeout", "npm"},
		`"$TOOL" x && (./run.sh)`:                    {"./run.sh"},
		"if (":                                       nil,
	} {
		if diff := cmp.Diff(want, checks.Programs(line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}
