package phases_test

import (
	"testing"

	"github.com/plan-engine/plan"
)

// TestRequestsTellWhatTheyHold: each says what it adds, from the journal, also where
// another process goes on; what was handed over and is read all the same is told
// apart.
func TestRequestsTellWhatTheyHold(t *testing.T) {
	t.Parallel()
	const file = "package p\n\nfunc First() int {\n\treturn 1\n}\n\nfunc Second() int {\n\treturn 2\n}\n"
	b := setup(t, `
[[reply]]
turn = 0
  [[reply.call]]
  name = "read"
  args = { path = "a.go" }
[[reply]]
turn = 1
  [reply.fault]
  kind = "status"
  status = 429
  retry_after = "900"
  [[reply.call]]
  name = "read"
  args = { path = "b.txt" }
[[reply]]
turn = 2
text = "done"
`, map[string]string{"a.go": file, "b.txt": "what is new\n"})
	hashes, err := b.hashes(t.Context(), []string{"a.go"})
	if err != nil {
		t.Fatal(err)
	}
	brief := briefFor(plan.Implement, 1)
	brief.Plan.Text, brief.Plan.Files = "# Plan: x\n## Files\n- `a.go` — modified", hashes
	if out, err := b.run(brief); err != nil || out.Park == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	b.must(brief) // in a new process
	var requests []plan.Request
	for _, ev := range b.events() {
		if r, ok := ev.Body.(plan.Request); ok {
			requests = append(requests, r)
		}
	}
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	of := func(n int, kind, tool string) (sum plan.Part) {
		for _, p := range requests[n].Parts {
			if p.Kind == kind && p.Tool == tool {
				sum.Bytes += p.Bytes
				sum.Again += p.Again
			}
		}
		return sum
	}
	first := requests[0]
	text := b.of(plan.Implement, 1)[0].users()[0]
	told, found := of(0, plan.PartInstructions, "").Bytes, of(0, plan.PartHandedOver, "").Bytes
	const between = 1 // its two blocks, a line's end
	if !first.Whole || told+found+between != int64(len(text)) ||
		found < int64(len(file)+len(brief.Plan.Text)) || found > told {
		t.Errorf("of %d bytes the first prompt tells %d and hands over %d", len(text), told, found)
	}
	if of(0, plan.PartSchemas, "").Bytes < 2000 || of(0, plan.PartSystem, "").Bytes < 1000 {
		t.Errorf("the first request holds %+v", first.Parts)
	}
	if again := of(1, plan.PartResult, "read"); requests[1].Whole || again.Again < int64(len(file)) || again.Again > again.Bytes {
		t.Errorf("what was handed over and read again is told as %+v", again)
	}
	if len(requests[2].Parts) > 0 || requests[2].Whole {
		t.Errorf("the same request of another process adds %+v", requests[2])
	}
	if read := of(3, plan.PartResult, "read"); read.Bytes == 0 || read.Again != 0 || len(requests[3].Parts) != 2 {
		t.Errorf("another process adds %+v", requests[3].Parts)
	}
}
