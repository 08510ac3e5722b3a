package story

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// untold are the types of events that a story has no use for by themselves.
var untold = map[plan.EventType]bool{
	plan.TypeConvStart: true, plan.TypeConvEnd: true, plan.TypeTurnEnd: true, plan.TypeMessageStart: true,
	plan.TypeSkillPick: true, plan.TypeRecall: true, plan.TypeSkillOutcome: true, plan.TypeSkillDraft: true,
	plan.TypeSnapshot: true,
}

// TestEveryEventIsTold: each type of event changes the story, or is named as one that
// others tell.
func TestEveryEventIsTold(t *testing.T) {
	t.Parallel()
	turn := 0
	bodies := map[plan.EventType]plan.Body{
		plan.TypeMessageUpdate: plan.MessageUpdate{Kind: plan.BlockText, Text: "x"},
		plan.TypeMessageEnd: plan.MessageEnd{Message: plan.Message{
			Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: "x"}},
		}},
		plan.TypeReport:          plan.Report{Text: "x"},
		plan.TypeProgress:        plan.Progress{Text: "x"},
		plan.TypeCompactionStart: plan.CompactionStart{Window: 5},
		plan.TypeCompactionEnd:   plan.CompactionEnd{Messages: []plan.Message{{}}},
		plan.TypePrune:           plan.Pruned{Messages: []plan.Message{{}}},
		plan.TypeRequest:         plan.Request{Model: "m"},
		plan.TypeState:           plan.StateChange{To: plan.Exploring},
		plan.TypeUsage:           plan.UsageReport{Usage: plan.Usage{Input: 3}},
	}
	for _, typ := range plan.EventTypes() {
		body := bodies[typ]
		if body == nil {
			var err error
			if body, err = plan.DecodeBody(typ, "{}"); err != nil {
				t.Fatal(err)
			}
		}
		fresh := func() *Story {
			s := New()
			s.Add(plan.Event{Run: "R", Seq: 1, Turn: &turn, Body: plan.ConvStart{}})
			switch typ {
			case plan.TypeToolUpdate:
				s.Add(plan.Event{Run: "R", Seq: 2, Turn: &turn, Body: plan.ToolStart{}})
			case plan.TypePhaseEnd:
				s.Add(plan.Event{Run: "R", Seq: 2, Phase: plan.Explore, Body: plan.PhaseStart{}})
			}
			return s
		}
		was, s := fresh(), fresh()
		ev := plan.Event{Run: "R", Seq: 9, Phase: plan.Explore, Attempt: 1, Turn: &turn, Body: body}
		if ev.Live() {
			ev.Seq = 0
		}
		s.Add(ev)
		was.Head, was.Last = s.Head, s.Last
		if changed := !reflect.DeepEqual(was, s); changed == untold[typ] {
			t.Errorf("%s: it changes the story: %v", typ, changed)
		}
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
