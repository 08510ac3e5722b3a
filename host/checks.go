package host

import (
	"context"
	"encoding/json"

	"github.com/plan-engine/plan"
)

// answerAboutChecks is what a person has said to a question about checks that cannot
// start, nil as long as it waits. Where no person is to be waited for, the run does
// without them, as no command runs that was not chosen; but not without those that
// must pass: nothing could be approved, and all that is spent would be for nothing.
func (s *session) answerAboutChecks(ctx context.Context, call plan.WaitingCall) (*plan.Answered, error) {
	letters, err := s.writer.Letters(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range letters {
		var text Letter
		if Kind(l.Kind) != Answer || json.Unmarshal(l.Data, &text) != nil ||
			text.Call != call.Call || text.Digest != call.Digest {
			continue
		}
		return &plan.Answered{
			Call:   call.Call,
			Text:   text.Text,
			By:     "person",
			Letter: l.ID,
		}, nil
	}
	if s.autoApprove && len(s.proof.Required) == 0 {
		without := call.Options[len(call.Options)-1]
		return &plan.Answered{
			Call: call.Call,
			Text: without,
			By:   "policy",
		}, nil
	}
	return nil, nil
}
