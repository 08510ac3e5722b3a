package checks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/checks"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		changed, setup string
		line, locks    string
	}{
		{changed: "main.go docs/go.sum.md"},
		{changed: "main.go docs/go.sum.md", setup: "make deps"},
		{
			changed: "a/go.sum a/go.mod main.go",
			line:    `(if command -v go >/dev/null && cd './a'; then go mod download; fi)`,
			locks:   "a/go.sum a/go.mod",
		},
		{
			changed: "package-lock.json dev/requirements-dev.txt",
			line: `(if command -v npm >/dev/null && cd './.'; then npm ci --ignore-scripts --no-audit --no-fund; fi) && ` +
				`(if command -v pip >/dev/null && cd './dev'; then ` +
				`pip download --quiet --only-binary :all: --dest "$(mktemp -d)" --requirement './requirements-dev.txt'; fi)`,
			locks: "package-lock.json dev/requirements-dev.txt",
		},
		{
			changed: "$(evil)'/Cargo.lock",
			line:    `(if command -v cargo >/dev/null && cd './$(evil)'\'''; then cargo fetch; fi)`,
			locks:   "$(evil)'/Cargo.lock",
		},
		{changed: "go.sum", setup: "make deps", line: "make deps", locks: "go.sum"},
		{changed: "mix.lock"},
		{changed: "mix.lock", setup: "mix deps.get", line: "mix deps.get", locks: "mix.lock"},
	} {
		line, locks := checks.Fetch(strings.Fields(test.changed), test.setup)
		if diff := cmp.Diff(test.line, line) + cmp.Diff(test.locks, strings.Join(locks, " ")); diff != "" {
			t.Errorf("%s, %q (-want +got)\n%s", test.changed, test.setup, diff)
		}
	}
}
