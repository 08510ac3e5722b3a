package checks

import (
	"strings"
	"testing"
)

// Whatever a makefile holds, a target that its text does not name is not found,
// and a rule that is put in front is.
func FuzzHasTarget(f *testing.F) {
	f.Add("test: x\n\ttrue\n")
	f.Add("define a\ntest:\nendef\n$(X:a=b) ${y}: \\\n# z \\\nq ::= test: r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if hasTarget(text, "test") && !strings.Contains(text, "test") {
			t.Errorf("a target from nowhere in %q", text)
		}
		if !hasTarget("test:\n"+text, "test") {
			t.Errorf("the first rule is not found before %q", text)
		}
	})
}
