package phases

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// fenceTag is a line that opens or closes what is fenced in a prompt.
var fenceTag = lazy.Regexp(`^<(/?)([a-z]+(?:-[a-z]+)*(?:-\d+)?)(?: [^>]*)?>$`)

// ownWords are the fences around what a person or a repository asks for; all others
// hold what was found.
func ownWords() []string {
	return []string{"request", "said-since", "repository-instructions", "commit-messages"}
}

// partsOf tells what prompts are made of, in a conversation with this advice.
func partsOf(advice string) func(plan.Message) []plan.Part {
	return func(m plan.Message) []plan.Part {
		var instructions, material int
		for _, b := range m.Blocks {
			if b.Type == plan.BlockExtension && b.Kind == plan.KindAdvice {
				material += len(advice)
			}
			in := inFences(b.Text)
			instructions, material = instructions+len(b.Text)-in, material+in
		}
		return []plan.Part{
			{Kind: plan.PartInstructions, Bytes: int64(instructions)},
			{Kind: plan.PartHandedOver, Bytes: int64(material)},
		}
	}
}

// inFences is how many bytes of a prompt stand in fences that hold what was found.
func inFences(text string) int {
	var sum int
	open, own := "", false
	for line := range strings.Lines(text) {
		tag := fenceTag().FindStringSubmatch(strings.TrimRight(line, "\n"))
		if open == "" {
			if tag == nil || tag[1] != "" {
				continue
			}
			open, own = tag[2], slices.Contains(ownWords(), tag[2])
		}
		if !own {
			sum += len(line)
		}
		if tag != nil && tag[1] != "" && tag[2] == open {
			open = ""
		}
	}
	return sum
}
