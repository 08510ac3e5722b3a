// Package scripted is a model server that says what a scenario file tells it
// to: it speaks Chat Completions over loopback HTTP, streamed or plain, so
// that tests and the demo go through the real wire, failures included.
//
// # How a reply is chosen
//
// A request is placed by its headers and its messages, and by nothing else:
//
//   - phase and attempt: the headers X-Plan-Phase and X-Plan-Attempt
//   - user: how many user messages the conversation holds, so 1 answers the
//     first of them. A retry that continues a conversation, a second question
//     in a review and steering each add one.
//   - turn: how many assistant messages follow the last user message, from 0
//   - about: words in any of its user messages, which tell a sub-agent's
//     conversation from its parent's
//
// The first [Reply] in file order that fits is served. Because the place is
// counted from the request, a run that was killed and resumed gets the same
// answers, and so does a repeated request. The one thing the server remembers
// is how often a fault has struck, per run and place. A request that no reply
// fits is answered 404 with its place in the message.
//
// # A scenario file
//
//	name  = "fix the off-by-one"
//	delay = "30ms"                 # before each streamed chunk
//
//	[[reply]]
//	phase     = "explore"          # phase, attempt, user, turn, about: any, if left out
//	turn      = 0
//	reasoning = "Where is it?"
//	text      = "I look."
//	usage     = { input = 1200, cached = 800, output = 90 }
//	  [[reply.call]]
//	  name = "read"
//	  args = { path = "calc.go" }  # or raw = '{"path": "ca'
//	  [reply.fault]
//	  kind        = "status"       # see FaultKind
//	  status      = 429
//	  retry_after = "1"
//	  times       = 2              # then the reply is served; 0 = always
//
// # Strictness
//
// The server takes only what a strict provider takes. Unknown parameters and
// fields, a tool call that is not answered exactly once and in order before
// the conversation goes on, an assistant message that says nothing: each is
// answered 400 with a text that names the fault, so that every test that uses
// this server also checks that its conversations are valid.
//
// The package must not know what phases mean, how the client works, or
// anything of runs and journals.
package scripted
