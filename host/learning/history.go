package learning

import (
	"encoding/json"
	"strings"

	"github.com/plan-engine/plan"
)

// skillTool is the name of the tool that loads a skill.
const skillTool = "skill"

// history is what is worth knowing of a run's journal for learning.
type history struct {
	request    string
	repo       string // the path of it
	aim        plan.Aim
	continues  plan.RunID // the run before it in its thread
	messages   []string   // that the person sent while it ran
	reviews    int
	picks      map[plan.Phase]plan.SkillPick
	loaded     map[plan.Phase]map[string]bool // skills, by name
	skillCalls map[string]string              // name of the skill that a call of the tool asks for
	closedGaps []plan.Gap
}

// history folds what was observed of the run, and what is about to be recorded.
func (l *Learning) history(last []plan.Body) history {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := history{
		picks:      map[plan.Phase]plan.SkillPick{},
		loaded:     map[plan.Phase]map[string]bool{},
		skillCalls: map[string]string{},
	}
	for _, ev := range l.seen {
		h.add(ev)
	}
	for _, b := range last {
		h.add(l.closingEvent(b))
	}
	return h
}

// matters says whether [history.add] looks at an event with this body.
func matters(body plan.Body) bool {
	switch b := body.(type) {
	case plan.RunStart, plan.Steering, plan.FollowUp, plan.VerdictGiven, plan.SkillPick, plan.GapChange:
		return true
	case plan.ToolStart:
		return b.Name == skillTool
	case plan.ToolEnd:
		return b.Name == skillTool
	}
	return false
}

func (h *history) add(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.RunStart:
		h.request = b.Request
		h.repo = b.Repo
		h.aim = b.Aim
		h.continues = b.Continues
	case plan.Steering:
		h.messages = append(h.messages, b.Text)
	case plan.FollowUp:
		h.messages = append(h.messages, b.Text)
	case plan.VerdictGiven:
		h.reviews++
	case plan.SkillPick:
		h.picks[ev.Phase] = b
	case plan.GapChange:
		if !b.Open() {
			h.closedGaps = append(h.closedGaps, b.Gap)
		}
	case plan.ToolStart:
		if b.Name == skillTool {
			h.skillCalls[b.Call] = requestedSkill(b.Args)
		}
	case plan.ToolEnd:
		name := h.skillCalls[b.Call]
		if name == "" || b.Error {
			return
		}
		if h.loaded[ev.Phase] == nil {
			h.loaded[ev.Phase] = map[string]bool{}
		}
		h.loaded[ev.Phase][name] = true
	}
}

// requestedSkill is the skill that a call asks for, "" for arguments that name
// none.
func requestedSkill(args json.RawMessage) string {
	var a struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	name, _, _ := strings.Cut(a.Name, "/")
	return name
}
