// Package plan holds the words that every other package of this module
// shares: runs, phases, states, events, messages, briefs, outcomes, verdicts.
//
// A run is a journal: an append-only list of [Event] values. The state of a
// run is a fold over its journal, so everything that can be known about a run
// is said by an event body in this package, and nothing important happens
// beside it.
//
// This package is the ground floor. It imports nothing of the module but the
// scanner of its JSON, holds no behaviour beyond encoding and small predicates,
// and must not learn about databases, models, git or terminals.
package plan
