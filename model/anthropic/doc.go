// Package anthropic speaks Anthropic's Messages wire, as Anthropic and the
// gateways and other houses that imitate it serve it: [New] makes a
// [github.com/plan-engine/plan/model/wire.Client] of it.
//
// It is the only package that knows the Anthropic SDK. It uses the SDK's types and
// its splitting of streams; requests are sent by package wire. It must not know
// about phases, tools, journals or prices, and reads no environment variables.
//
// What it relies on, by the names of the API's documentation:
//
//   - Messages: one role after the other is not demanded; messages of one role
//     that follow each other are one, and become one for servers that do demand
//     it. The first and the last have to be the user's, for newer models do not
//     go on with an assistant's text (prefill). No text may be blank, no message
//     empty or end in thinking, and a result that is an error has to say
//     something. Results of calls stand before what else the user says. Ids and
//     names are letters, digits, _ and -.
//   - Tool use: the input of a call is an object. What a model wrote and is none
//     is sent as {"_invalid_arguments": "..."}; white space between the parts of
//     one that is an object is left out, and nothing else of it changes. A tool's
//     schema is that of an object and has no oneOf, anyOf or allOf at its top.
//   - Thinking: models before Claude 4.6, and other houses' models, take a budget
//     (thinking.type enabled, at least 1,024 tokens and less than max_tokens);
//     later ones decide themselves (adaptive) and take output_config.effort. Some
//     think although nothing is said about it. Temperature is not sent beside it.
//   - Preserved thinking: what a model thought goes back to the provider it came
//     from with its signature, unchanged, in its order, whether thinking is
//     asked for now or not. The server passes over what it cannot use: thinking of
//     another model, of earlier turns, or where it is switched off. What it does
//     refuse is a signature that does not fit, which on newer models is also that
//     of thinking before which anything has changed (after a compaction). They
//     are asked to leave such thinking out (thinking.block_binding, a beta that is
//     switched on by the refusal); where that is not known none is sent, for that
//     request.
//   - Prompt caching: tools and system prompt end in a mark, for five minutes or,
//     if asked, an hour. The conversation has one mark for all of it (automatic
//     caching), so no byte of it moves. Gateways that do not take that get marks
//     on the last blocks of the last two messages of the user instead. The server
//     looks back over 20 blocks for what it has: a turn of more than that, such
//     as eleven calls and their results, is written anew once.
//   - Stop reasons: see assembly.stop. A turn that was paused (pause_turn) is none
//     that has ended: it counts as cut off, so that it is not taken for the whole
//     answer. Server tools, which are what such turns are made of, are never asked
//     for, and their blocks are passed over.
//   - Usage: input_tokens leaves out what was read from the cache or written to
//     it. Numbers count up, from message_start to message_delta.
package anthropic
