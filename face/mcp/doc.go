// Package mcp lets other agents drive runs: it is a server of the Model Context Protocol,
// over standard input and output or over HTTP on this machine.
//
// Its tools begin runs, look at them, wait for them, speak to them and bring their changes
// over; each answers with the same document about a run, which says what comes next. A
// call waits for a while and hands back the run's id where that is too short: the run goes
// on, and plan_wait asks again. What waits for a person is asked of the person behind the
// client, where that can be done (elicitation), and is left alone otherwise: an agent
// decides nothing, unless the person who started the server said that it may.
//
// The package has no rule of the domain in it. It must not know how a run is shown
// anywhere else.
package mcp
