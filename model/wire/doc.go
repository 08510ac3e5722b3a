// Package wire is what the clients of all model servers have in common: the HTTP
// exchange and its clocks, what failures mean, what is sent again without the
// part that a server refused, and the marks on what only one server may see.
//
// [Client] turns a [Protocol] into a [loop.Model]. A protocol, such as Chat
// Completions, writes requests and reads answers; it is in a package of its own,
// with the SDK that it uses. A client makes one attempt per call (retrying is the
// loop's), keeps no conversation, and must not know about phases, tools, journals
// or prices. It reads no environment variables.
package wire
