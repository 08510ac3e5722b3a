package render_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan/face/render"
)

// A diff has colours where they are asked for, and what acts on a terminal is not passed.
func TestWriteDiff(t *testing.T) {
	t.Parallel()
	const diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@ f\n-old\n+new\x1b[2J\n same\n\n"
	var plain, coloured strings.Builder
	for out, color := range map[*strings.Builder]bool{&plain: false, &coloured: true} {
		if err := render.WriteDiff(out, diff, render.Options{Color: color}); err != nil {
			t.Fatal(err)
		}
	}
	if plain.String() != render.SafeText(diff) {
		t.Errorf("without colours: %q", plain.String())
	}
	for _, line := range []string{
		"\x1b[1m+++ b/a\x1b[0m\n", "\x1b[36m@@ -1 +1 @@ f\x1b[0m\n", "\x1b[31m-old\x1b[0m\n", "\n same\n\n",
	} {
		if !strings.Contains(coloured.String(), line) {
			t.Errorf("no %q in %q", line, coloured.String())
		}
	}
	if strings.Contains(coloured.String(), "\x1b[2J") {
		t.Errorf("it clears the screen: %q", coloured.String())
	}
}
