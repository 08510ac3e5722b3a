// Package phases gives each phase of the workflow its prompt, its tools and
// its exit.
//
// A phase is a conversation: the shared system prompt, the phase's own tools
// in a fixed order, and a first user message made from the [plan.Brief]. What
// is not in the brief, the phase does not know. Its exit turns the last
// message into what the workflow passes on: a report, a plan, a summary, a
// judgement.
//
// The package must not know the order of the phases or where events are kept.
package phases
