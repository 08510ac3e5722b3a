package story

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/eventcases"
)

// TestEveryEventIsTold: what a story neither tells in a way of its own nor leaves to
// others, it tells by its headline.
func TestEveryEventIsTold(t *testing.T) {
	t.Parallel()
	show := func(e plan.Event) string {
		s := New()
		s.Add(e)
		var text []string
		for _, b := range s.Blocks {
			text = append(text, b.Label, b.Title)
		}
		return strings.Join(text, " ")
	}
	for _, name := range eventcases.Unshown(t, eventcases.Named(t, "Story.addWork", "Story.addMoment"), show) {
		t.Errorf("the story forgets %s", name)
	}
}

// TestLetters: what a person says waits until the conversation hears it, and is lost
// where the run ends before.
func TestLetters(t *testing.T) {
	t.Parallel()
	s := New()
	s.Sent("first", false)
	s.Sent("after", true)
	s.Sent("second", false)
	turn := 6
	s.Add(plan.Event{Run: "R", Seq: 1, Turn: &turn, Body: plan.Steering{Text: "first"}})
	s.Add(plan.Event{Run: "R", Seq: 2, Turn: &turn, Body: plan.Steering{Text: "a key in it is replaced"}})
	if got := s.Letters; got[0].Heard != 7 || got[1].Heard != 0 || got[2].Heard != 7 || len(s.Unheard()) != 1 {
		t.Errorf("%+v", got)
	}
	s.Add(plan.Event{Run: "R", Seq: 3, Body: plan.RunEnd{Outcome: plan.Approved}})
	if !s.Letters[1].Lost || len(s.Unheard()) != 0 {
		t.Errorf("%+v", s.Letters)
	}
}

// TestStreamed: what was streamed is replaced by what was said, and marked where it is no
// part of the conversation.
func TestStreamed(t *testing.T) {
	t.Parallel()
	turn := 0
	piece := func(kind plan.BlockType, text string) plan.Event {
		return plan.Event{Run: "R", Conv: "c", Turn: &turn, Time: time.Unix(1, 0), Body: plan.MessageUpdate{Kind: kind, Text: text}}
	}
	said := func(text string, discarded bool) plan.Event {
		return plan.Event{Run: "R", Conv: "c", Seq: 5, Turn: &turn, Body: plan.MessageEnd{Discarded: discarded, Message: plan.Message{
			Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: text}},
		}}}
	}
	s := New()
	s.Add(piece(plan.BlockReasoning, "hm\x1b]0;x\x07"))
	s.Add(piece(plan.BlockText, "an an"))
	s.Add(piece(plan.BlockText, "swer, cut"))
	s.Add(said("an answer", false))
	if b := s.Blocks; len(b) != 2 || b[0].Kind != Thought || b[1].Text != "an answer" || !b[1].Done() {
		t.Errorf("%+v %+v", b[0], b[1])
	}
	s = New()
	s.Add(piece(plan.BlockText, "no"))
	s.Add(said("", true))
	if b := s.Blocks; len(b) != 1 || b[0].Mood != Odd || b[0].Note == "" {
		t.Errorf("%+v", b[0])
	}
}

// TestDiffOfAPiece: what a call changes is shown without line numbers of the file, which
// its arguments do not tell.
func TestDiffOfAPiece(t *testing.T) {
	t.Parallel()
	same := strings.Repeat("same\n", 9)
	args, err := json.Marshal(map[string]string{"path": "a.go", "old_string": "one\n" + same + "two", "new_string": "1\n" + same + "2"})
	if err != nil {
		t.Fatal(err)
	}
	want := "-one\n+1\n same\n same\n same\n…\n same\n same\n same\n-two\n+2\n"
	if diff := cmp.Diff(want, diffOf(args)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
