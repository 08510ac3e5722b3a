// Package engine decides which phase runs next, and writes it down first.
//
// A run is a state machine whose moves are events in a journal. The engine
// appends the move, then does the state's work: it asks its [Runner] to run a
// phase, its [Checker] to run the commands that decide, its [Snapshots] to
// name the tree. What a run has come to is [Run], a fold over its events, so a
// process that takes over after a crash stands exactly where the last one did.
//
// The state machine is a table (see [Mermaid]). It has no callbacks: phases
// work between moves, never inside one.
//
// The package must not know models, prompts, tools, git or SQLite; it declares
// the little it needs of each.
package engine
