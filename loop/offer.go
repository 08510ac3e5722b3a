package loop

import (
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/arguments"
)

// offer is a tool as a conversation may use it.
type offer struct {
	tool Tool
	info Info
	args *arguments.Checker
}

func newOffer(t Tool) *offer {
	info := t.Info()
	safe := !info.Writes && info.Effect == plan.EffectReplay
	return &offer{
		tool: t,
		info: info,
		args: arguments.New(info.Name, info.Schema, safe),
	}
}

// offerOf is a tool that is offered by name, or that a dispatcher has led to.
func (l *Loop) offerOf(name string) (*offer, bool) {
	if o, ok := l.offered[name]; ok {
		return o, true
	}
	o, ok := l.inner[name]
	return o, ok
}

// mutating says whether a tool may change something.
func (l *Loop) mutating(name string) bool {
	o, ok := l.offerOf(name)
	return !ok || o.info.Writes
}

// repeatable says whether running a tool again does no harm.
func (l *Loop) repeatable(name string) bool {
	o, ok := l.offerOf(name)
	return ok && !o.info.Writes && o.info.Effect == plan.EffectReplay
}

// runsCommands says whether a tool runs commands, by its category: tools are named as
// a program likes.
func (l *Loop) runsCommands(name string) bool {
	o, ok := l.offerOf(name)
	return ok && o.info.Category == CategoryExec
}

// shows says whether the results of a tool show what is there, rather than what the
// call has made of it.
func (l *Loop) shows(name string) bool { return !l.mutating(name) || l.runsCommands(name) }

// looksOnly says whether a tool may run by mistake: it changes nothing, asks
// no person and leaves the conversation as it is.
func (l *Loop) looksOnly(name string) bool {
	if !l.repeatable(name) {
		return false
	}
	o, _ := l.offerOf(name)
	i := o.info
	return !i.Asks && !i.Prunes && !i.External && i.Delegate == nil
}

// asks says whether a tool's results are a person's words.
func (l *Loop) asks(name string) bool {
	o, ok := l.offerOf(name)
	return ok && o.info.Asks
}
