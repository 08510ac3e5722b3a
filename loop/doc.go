// Package loop runs one conversation to its end.
//
// A [Loop] sends messages to a [Model], runs the [Tool] calls that come back,
// and goes on until an answer holds no call. Everything it does is an event:
// the user's message is recorded before the model is called, a tool's intent
// before the tool runs, a result before the model sees it. Events that are
// known together are recorded together, so a turn with one tool costs two
// commits.
//
// A loop is rebuilt from its own events: [New] takes what the conversation has
// journalled so far and goes on in the same turn, with the same bytes. A call
// that was in flight is made again. A tool that was started goes by its effect
// class: it is run again, or its intent is settled ([Verifiable]), or the model
// reads that the outcome is unknown.
//
// The package must not know what a phase is, where events are kept, or how a
// model is reached.
package loop
