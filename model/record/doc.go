// Package record keeps what a model was asked and what it answered in a file,
// and answers from that file later, offline and to the byte.
//
// A [Recorder] stands in front of a model and appends every call to the file; a
// [Player] is a model that the file speaks for.
//
// # The file
//
// It is JSON, one object a line. The first line names the format:
//
//	{"plan_recording":1}
//
// Every other line is a call that has ended, in the order in which they ended:
//
//	{"request":{…},"pieces":[…],"answer":{…}}
//	{"request":{…},"pieces":[…],"error":{"kind":"rate_limit","status":429,…}}
//	{"request":{…},"pieces":[…],"cancelled":"context canceled"}
//	{"request":{…},"pieces":[…],"failed":"…"}
//
// The request is the whole call; pieces are what was shown while the answer
// arrived; cancelled is a call that its own caller ended; failed is an error
// that is no model error. A line is on disk before the call returns. A last
// line that was cut off by a crash is no call.
//
// # What is left out
//
// The header X-Plan-Run is left out, because it differs from run to run, and
// so are all headers whose names speak of keys, tokens, cookies or
// authorization. What the caller's own function finds, the values of the
// headers that were left out, and text in the shape of well-known keys is
// replaced wherever it stands, also where a secret is spread over several
// pieces or stands in JSON within text.
//
// # How a call is answered
//
// By the first recorded call that was not played yet and has the same request,
// headers included. Requests hold all that was said before, so a conversation
// can only be played in its order; repetitions of one request (retries) are
// played in the order in which they were recorded. Conversations may interleave
// in other ways than they did, and a run that was killed and resumed finds its
// place again. A request that was not recorded is a [*MismatchError].
//
// The package must not know what a phase is, how a model is reached, or where
// secrets come from.
package record
