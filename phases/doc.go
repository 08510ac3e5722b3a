// Package phases gives each phase of the workflow its prompt, its tools and
// its exit.
//
// A phase is a conversation: the shared system prompt, the phase's own tools
// in a fixed order, and a first user message made from the [plan.Brief]. What
// is not in the brief, the phase does not know. Its exit turns the last
// message into what the workflow passes on: a report, a plan, a summary, a
// judgement.
//
// Which model holds a conversation is said by Config.Models, or by a hint
// ([Route]); one that has begun stays with its server. A model that cannot be
// reached, refuses or has been used up parks the phase, with the server's words
// and what to change.
//
// The package must not know the order of the phases or where events are kept.
package phases
