// Package loop runs one conversation with a language model to its end.
//
// A [Loop] sends messages to a [Model], runs the [Tool] calls that come back,
// and goes on until an answer holds no call, or closes beside calls that end well. It
// is made from a [Config] with [New], and entered in one of five ways:
//
//   - [Loop.Run] takes prompts and goes on to the end.
//   - [Loop.RunTurn] makes one turn, for a scheduler that owns the loop.
//   - [Loop.Continue] goes on from history, without a prompt.
//   - [Loop.Resume] takes rulings on calls that wait for a person.
//   - [Loop.Submit] takes the results of calls that were run elsewhere.
//
// Each says in an [End] why it handed back. An error means that the run cannot
// go on as it is; a tool's failure is no error but a result that the model
// reads.
//
// # Everything is an event
//
// Whatever the loop does it gives to Config.Emit first: the user's message is
// recorded before the model is called, a tool's intent before the tool runs, a
// result before the model sees it. Events that are known together are recorded
// together, so a turn with one tool costs two commits. What was started ends
// exactly once, also when the run is cancelled, fails or reaches a limit. Once
// a commit has failed nothing more is recorded or done.
//
// [plan.ConvStart] and [plan.ConvEnd] bracket what an entry point records, in the commits
// of what they bracket; the latter has what the conversation used in between. RunTurn ends
// it only where there is no other turn to run.
//
// A loop is rebuilt from its own events: [New] takes what the conversation has
// journalled so far and goes on in the same turn, with the same bytes. A call
// that was in flight is made again. A tool that was started goes by its effect
// class: it is run again, or its intent is carried out ([Verifiable]), or the model
// reads that the outcome is unknown.
//
// # Servers as they are
//
// What a server refuses, cuts or leaves out ends no conversation that could go
// on. A request that is too long is made shorter and sent again, three times in
// a row at most, and the window that this taught is kept (see Config.WindowOf
// and LearnWindow). An answer that says nothing is asked again. A call that
// failed is paid if the server reported usage, and its own word about the cost
// is the truth. With Limits.CostUSD no call is made whose answer could break the
// bound: it is sent with less room for the answer, or not at all. What was
// changed about a request is in the journal as [plan.Adjusted], and another
// model than the conversation's as [plan.Route].
//
// # Taking part
//
// [Hooks] are moments at which a program can look in or take a hand; they can
// veto, block, change and ask for a person. A [Mailbox] brings guidance and
// further requests to a conversation that is going on. A [Filter] looks at what
// comes from outside. [SubAgent] makes a tool that hands a task to a fresh loop. A
// [Compactor] makes history smaller in a way of its own.
//
// The package must not know what a phase is, where events are kept, or how a
// model is reached. Of this module it imports the words in package plan,
// and rooms of its own.
package loop
