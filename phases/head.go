package phases

import (
	"maps"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// headPrompt is the file of what the first message of every phase begins with: what
// the repository says of itself, and the request. The kit of an earlier program has none:
// its phases have that among their own words.
const headPrompt = "head"

// workPrompt is the file of what a review is shown of the work, behind what every review of a
// run is told. The kit of an earlier program has all of it in one.
const workPrompt = "work"

// opening is the first message of a phase: the head that all phases of the run have, so that
// a server that keeps beginnings of requests has read it, and then what is the phase's own.
func (ph *Phases) opening(b plan.Brief, name string, own map[string]string) plan.Message {
	values := map[string]string{"INSTRUCTIONS": ph.instructions(), "REQUEST": request(b)}
	maps.Copy(values, own)
	message := plan.UserText(compose(ph.cfg.Kit.Prompts[name], values))
	if head := ph.cfg.Kit.Prompts[headPrompt]; head != "" {
		message.Blocks = slices.Insert(message.Blocks, 0, plan.UserText(compose(head, values)).Blocks...)
	}
	return message
}

// shared is how much a conversation of a phase begins with as others do: with the tools and
// the head that all phases have, which only those with the same tools have where others do,
// and a review with what every review of the run is told.
func (k Kit) shared(p plan.Phase) loop.Shared {
	var out loop.Shared
	if k.Prompts[headPrompt] != "" {
		out.Blocks = 1
		if p == plan.Review && k.Prompts[workPrompt] != "" {
			out.Blocks++
		}
	}
	order := plan.Phases()
	first := k.offer(order[0])
	for out.Tools = range len(first) + 1 {
		differs := func(other plan.Phase) bool {
			names := k.offer(other)
			return len(names) <= out.Tools || names[out.Tools] != first[out.Tools]
		}
		if out.Tools == len(first) || slices.ContainsFunc(order[1:], differs) {
			break
		}
	}
	return out
}

// settings are those of a phase's calls. What a phase has read is kept for one with the same
// tools that comes only after the work, which can take long.
func (ph *Phases) settings(p plan.Phase) loop.Settings {
	own := ph.cfg.Settings[p]
	sameTools := func(later plan.Phase) bool {
		return ph.cfg.Settings[later].LongCache && slices.Equal(ph.cfg.Kit.offer(p), ph.cfg.Kit.offer(later))
	}
	if ph.cfg.Kit.Prompts[headPrompt] != "" && slices.ContainsFunc(plan.Phases(), sameTools) {
		own.LongCache = true
	}
	return own
}
