// Package acp lets an editor drive runs: it is the agent's side of the Agent Client
// Protocol, over standard input and output.
//
// A session is a thread of runs in one repository. Its id is that of the thread's
// first run, so that whatever process is asked later finds it: all that a session
// holds is in the journal, but for the way that was chosen for the next run. A prompt
// begins the run, answers what it asks, guides it while it goes on, and after its end
// begins one that continues it. What waits for a person is asked as a permission, which
// names the call and the digest of what was shown.
//
// The package has no rule of the domain in it: what a prompt means to a run is the
// host's. It must not know how a run is shown anywhere else.
package acp
