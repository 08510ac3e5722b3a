// Package scripted is a model server that says what a scenario file tells it
// to, over loopback HTTP, so that tests and the demo go through the real wires,
// failures included. Below its URL it speaks, streamed or plain,
//
//   - /chat/completions: OpenAI's Chat Completions
//   - /responses: OpenAI's Responses
//   - /messages: Anthropic's Messages
//   - /models: the list of models, in Anthropic's shape for a request with the
//     header anthropic-version
//
// The same scenario is played over all of them. The key is taken as a bearer
// token, as x-api-key and as api-key; what stands in a URL's query is ignored.
//
// # How a reply is chosen
//
// A request is placed by its headers and its messages, and by nothing else:
//
//   - phase and attempt: the headers X-Plan-Phase and X-Plan-Attempt
//   - user: how many user messages the conversation holds, so 1 answers the
//     first of them. A retry that continues a conversation, a second question
//     in a review and steering each add one. By Messages, one that holds
//     results of tools and nothing else does not count.
//   - turn: how many assistant messages follow the last user message, from 0.
//     By Responses, the items of one answer are one message, and by Messages
//     what the model said in several messages in a row is.
//   - about: words in any of its user messages, which tell a sub-agent's
//     conversation from its parent's
//
// The first [Reply] in file order that fits is served. Because the place is
// counted from the request, a run that was killed and resumed gets the same
// answers, and so does a repeated request. All that the server remembers is
// how often a fault has struck, per run and place, and the prompts that it was
// told to keep. A request that no reply fits is answered 404 with its place in
// the message.
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
//	redacted  = false              # the reasoning comes encrypted only
//	text      = "I look."
//	finish    = "tool_calls"       # in the words of Chat Completions; see Reply
//	usage     = { input = 1200, cached = 800, written = 100, written_hour = 0, output = 90, reasoning = 20 }
//	  [[reply.call]]
//	  name = "read"
//	  args = { path = "calc.go" }  # or raw = '{"path": "ca'
//	  [reply.fault]
//	  kind        = "status"       # see FaultKind
//	  status      = 429
//	  retry_after = "1"
//	  headers     = { x-ratelimit-reset-requests = "4s" }
//	  times       = 2              # then the reply is served; 0 = always
//
// # A gateway's ways
//
// One table more, see [Gateway], makes the plain server one of the many that
// differ from it. What is left out is as on the plain server:
//
//	[server]
//	wires           = ["chat"]          # others are answered 404
//	window          = 32000             # tokens; a longer request is refused,
//	too_long        = { status = 400, words = "{sent} tokens are more than {window}" } # or body = "…"
//	window_field    = "max_model_len"   # the list of models says it under this name
//	truncates       = 4096              # tokens; more is cut in silence, as the usage shows
//	refuses         = ["max_tokens", "reasoning_effort=high", "reasoning.effort",
//	                   "schema:pattern", "developer", "null_content", "repeated_roles", "strict", "images"]
//	refuse_words    = "unknown parameter: {name}"
//	accepts         = ["chat_template_kwargs"] # taken and ignored
//	reasoning_field = "reasoning"       # reasoning_content, reasoning, think, reasoning_details
//	needs_reasoning = true              # 400 if calls come back without it
//	extra_content   = true              # Gemini's signature on a call, which must come back
//	no_finish       = true              # [DONE] without a finish_reason
//	usage_without_reasoning = true      # completion_tokens leaves it out
//	cost            = 0.0123            # usage.cost of each answer, in dollars
//	calls_as_text   = "tool_call"       # mistral, mistral_named, llama, harmony, kimi, functions
//	in_reasoning    = false             # and they stand in the reasoning
//	silence         = "2s"              # before the first byte
//	comments        = true              # between the events
//
// # Strictness
//
// The server takes only what a strict provider takes. Unknown parameters and
// fields, a tool call that is not answered exactly once before the
// conversation goes on, an assistant message that says nothing: each is
// answered 400 with a text that names the fault, so that every test that uses
// this server also checks that its conversations are valid.
//
// By Responses, reasoning has to come back right before the rest of its answer,
// with the encrypted content that was asked for. By Messages, thinking has to
// come back unchanged with the calls of its answer while thinking is enabled;
// messages of one role that follow each other are one, which has to begin with
// the results of tools; only an answer that stopped with pause_turn may come
// last, for the rest of it. cache_control has to keep to the rules: four blocks at most, an
// hour before minutes, nothing empty. What it marks is kept and counted in the
// usage as a server does it, however short, unless the reply has a usage of its
// own.
//
// Signatures and encrypted content follow from the answer, so that the server
// knows its own after a restart, too. The end of a call's id says what has to
// come back with it; calls with other ids are another server's, of which
// nothing is demanded. Both wires serve reasoning even to a request that does
// not ask for it.
//
// The package must not know what phases mean, how the client works, or
// anything of runs and journals.
package scripted
