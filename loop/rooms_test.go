package loop_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRoomsBelowKnowNothingOfTheLoop: what stands below loop can be read, tested
// and used without it. looptest is for authors of a model, and needs it.
func TestRoomsBelowKnowNothingOfTheLoop(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasPrefix(file, "looptest") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range parsed.Imports {
			if path, _ := strconv.Unquote(imp.Path.Value); path == "github.com/plan-engine/plan/loop" {
				t.Errorf("%s imports loop", file)
			}
		}
	}
}
