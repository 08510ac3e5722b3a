// Package plan holds the words that every other package of this module
// shares: runs, phases, states, events, messages, briefs, outcomes, verdicts.
//
// A run is a journal: an append-only list of [Event] values. The state of a
// run is a fold over its journal, so everything that can be known about a run
// is said by an event body in this package, and nothing important happens
// beside it.
//
// This package is the ground floor. Of the module it imports helpers for its JSON
// and for its lines of text alone. It holds no behaviour beyond encoding, small
// predicates and what each event says of itself in a line, and must not learn about
// databases, models, git or terminals.
package plan
