package review

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// TestFenceRows: what another system finds by taking fences off is found here
// by its brackets, so that no fence can be in the way. JSON that is neither an
// object nor an array holds no verdict and is of no interest.
func TestFenceRows(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/dirge_verdict.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		var row struct {
			Name     string
			Input    struct{ Kind, Text string }
			Expected json.RawMessage
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Input.Kind != "vix_strip_fence" {
			continue
		}
		n++
		var want string
		if err := json.Unmarshal(row.Expected, &want); err != nil {
			t.Fatalf("%s: %v", row.Name, err)
		}
		regions, unclosed := scan(row.Input.Text)
		if !json.Valid([]byte(want)) || want[0] != '{' && want[0] != '[' {
			if len(regions) > 0 && regions[0].end-regions[0].start > len(want) {
				t.Errorf("%s: found %v where there is only %q", row.Name, regions, want)
			}
			continue
		}
		if len(regions) == 0 || unclosed >= 0 {
			t.Errorf("%s: nothing was found in %q", row.Name, row.Input.Text)
			continue
		}
		last := regions[len(regions)-1]
		if got := row.Input.Text[last.start:last.end]; got != want {
			t.Errorf("%s: found %q, want %q", row.Name, got, want)
		}
	}
	if n < 4 {
		t.Fatalf("%d rows", n)
	}
}
