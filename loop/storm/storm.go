// Package storm notices a model that makes the same tool calls over and over to
// no effect, and says what it reads instead.
//
// It must not know what a conversation is, how a tool runs, or where calls are
// recorded: it is told of calls and results in order, and answers.
package storm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Verdict is what the storm breaker says about one call.
type Verdict string

// The verdicts.
const (
	Pass          Verdict = "pass"
	Suppress      Verdict = "suppress"       // it was made too often, to no effect
	SuppressInert Verdict = "suppress_inert" // shell commands that do nothing, made too often
)

// Config sets up a storm breaker.
type Config struct {
	Window    int // recorded calls that are looked back on; default 6
	Threshold int // the call of a kind that is suppressed; default 3
	// Mutating names the tools that may change something. Default: none.
	Mutating func(name string) bool
	// Exempt names the tools whose calls are not counted, because repeating
	// them costs little. Progress is watched for them all the same. Default:
	// none.
	Exempt func(name string) bool
	// Shell names the tools that run a "command". Default: none.
	Shell func(name string) bool
}

// Breaker judges the calls of one conversation. The zero value is ready, with
// the defaults of [Config].
//
// Calls are the same if their name and their canonical arguments are. Two
// rules find them:
//
//   - Repetition. The third identical call within the window is suppressed,
//     the second if the call once ran into its timeout and has no more time now.
//     A change in between makes a repetition sensible, so it is forgotten: a read
//     after any mutating call; a shell command after an edit (a mutating call that
//     is no shell command). So does a result that the call has not had before,
//     unless it is an edit. Other mutating calls are allowed once more if a
//     mutation of a new kind came since they were last made; a shell command
//     is no reason to repeat an edit.
//   - Progress, for every call, exempt or not, and cycles of any length. A
//     result is news if this call has not had it before. A call that came
//     back with nothing new twice since the last news of any call is
//     suppressed until there is news again.
//
// Suppressed calls are not recorded and must not be observed. A storm breaker
// holds for one outer turn: reset it when a person speaks, and when a
// compaction has taken results out of the model's sight, because reading them
// again is no storm then. It is rebuilt by judging and observing the journal's
// calls again, in order.
type Breaker struct {
	Config

	calls   int // recorded so far
	window  []recorded
	known   map[string]bool // identities of mutating calls that were recorded
	newEdit int             // number of the latest edit that was made for the first time
	newRun  int             // the same for shell commands
	slow    map[string]int  // per identity: the longest timeout that it ran into, in seconds

	seen map[string]bool // identity and result
	// returned are the identities of calls that came back.
	returned map[string]bool
	stale    map[string]int // per identity: results without news since the last news
	open     map[string]int // per identity: judged and not observed, since the last mutation

	ids map[string]identity // by name and arguments as they are written

	// unreplayed is what earlier processes asked and observed, oldest first, where it
	// has not been taken in yet. It is taken in when the breaker is next asked:
	// a long conversation goes on at once, and is often not asked about any more.
	unreplayed []func()

	corrected bool // the model was asked to think again
	recovery  int  // pieces of news since then
	abandoned []string
}

// kindOfCall says what a call can do to the tree.
type kindOfCall int

const (
	looks kindOfCall = iota
	runs             // a shell command: looks, and may change something
	edits
)

// identity is a call as the breaker sees it.
type identity struct {
	key     string
	kind    kindOfCall
	inert   bool
	timeout int // in seconds, of a shell command; 0 for the usual one
}

type recorded struct {
	identity
	number int
}

// Reset begins a new outer turn.
func (s *Breaker) Reset() { *s = Breaker{Config: s.Config} }

// Judge says whether a call should run, and records it if so.
func (s *Breaker) Judge(name string, args json.RawMessage) Verdict {
	s.Prepare()
	id := s.identify(name, args)
	limit := s.Threshold
	if before, ok := s.slow[id.key]; ok && id.timeout <= before {
		limit = min(limit, 2)
	}
	counted := !s.Exempt(name)
	repeated := counted && s.repeats(id)+1 >= limit && !s.forgive(id)
	stuck := s.stale[id.key]+s.open[id.key]+1 >= limit
	if repeated || stuck {
		if id.inert {
			return SuppressInert
		}
		return Suppress
	}
	s.open[id.key]++
	if counted {
		s.record(id)
	}
	return Pass
}

// JudgeRejected says what becomes of a call that cannot run as it is, and counts
// it. What it comes back with is never news, so it is given up like any other
// call that brings none.
func (s *Breaker) JudgeRejected(name string, args json.RawMessage) Verdict {
	s.Prepare()
	key := digest("rejected\x00"+name+"\x00", canonical(args))
	if s.stale[key]+1 >= s.Threshold {
		return Suppress
	}
	s.stale[key]++
	return Pass
}

// Outcome is how a call ended.
type Outcome struct {
	// Result is the [Fingerprint] of what the model read; "" if it is not
	// known, which counts as news.
	Result  string
	Timeout bool
}

// Observe takes in how a call ended that was judged to pass.
func (s *Breaker) Observe(name string, args json.RawMessage, o Outcome) {
	s.Prepare()
	id := s.identify(name, args)
	if s.open[id.key]--; s.open[id.key] <= 0 {
		delete(s.open, id.key)
	}
	if o.Timeout {
		s.slow[id.key] = max(s.slow[id.key], id.timeout)
	}
	result := id.key + o.Result
	if o.Result != "" && s.seen[result] {
		s.stale[id.key]++
		return
	}
	if o.Result != "" && s.returned[id.key] && id.kind != edits && !id.inert {
		s.forget(func(r recorded) bool { return r.key == id.key })
	}
	s.seen[result], s.returned[id.key] = true, true
	clear(s.stale)
	// A model that found its way out gets the benefit of the doubt again.
	if s.recovery++; s.corrected && s.recovery >= s.Window {
		s.corrected, s.abandoned = false, nil
	}
}

// identify finds the identity of a call. A call is asked about twice, before and
// after it runs, and working it out takes longer than running some: those of
// small calls are remembered.
func (s *Breaker) identify(name string, args json.RawMessage) identity {
	const small = 256
	if len(args) > small {
		return s.identity(name, args)
	}
	call := name + "\x00" + string(args)
	id, ok := s.ids[call]
	if !ok {
		id = s.identity(name, args)
		s.ids[call] = id
	}
	return id
}

func (s *Breaker) identity(name string, args json.RawMessage) identity {
	timeout := 0
	if s.Shell(name) {
		var a struct {
			Command  string `json:"command"`
			TimeoutS int    `json:"timeout_s"`
		}
		if json.Unmarshal(args, &a) == nil && inert(a.Command) {
			return identity{key: "inert", inert: true}
		}
		timeout = a.TimeoutS
		args = without(args, "timeout_s")
	}
	id := identity{
		key:     digest(name+"\x00", canonical(args)),
		timeout: timeout,
	}
	switch {
	case !s.Mutating(name):
	case s.Shell(name):
		id.kind = runs
	default:
		id.kind = edits
	}
	return id
}

// repeats counts the recorded calls in the window that were the same.
func (s *Breaker) repeats(id identity) int {
	n := 0
	for _, r := range s.window {
		if r.key == id.key {
			n++
		}
	}
	return n
}

// forgive forgets earlier calls like this one if a mutation that had not been
// made before came after them.
func (s *Breaker) forgive(id identity) bool {
	changed := 0
	switch id.kind {
	case runs:
		changed = max(s.newEdit, s.newRun)
	case edits:
		changed = s.newEdit
	}
	last := 0
	for _, r := range s.window {
		if r.key == id.key {
			last = r.number
		}
	}
	if changed <= last {
		return false
	}
	s.forget(func(r recorded) bool { return r.key == id.key })
	return true
}

func (s *Breaker) forget(which func(recorded) bool) {
	s.window = slices.DeleteFunc(s.window, which)
}

func (s *Breaker) record(id identity) {
	s.calls++
	if id.kind != looks {
		s.forget(func(r recorded) bool { return r.kind == looks || r.kind == runs && id.kind == edits })
		clear(s.open)
		if !s.known[id.key] {
			s.known[id.key] = true
			if id.kind == edits {
				s.newEdit = s.calls
			} else {
				s.newRun = s.calls
			}
		}
	}
	s.window = append(s.window, recorded{id, s.calls})
	if over := len(s.window) - s.Window; over > 0 {
		s.window = slices.Delete(s.window, 0, over)
	}
}

// Call is a call of a turn, with what was judged about it.
type Call struct {
	Name    string
	Args    json.RawMessage
	Verdict Verdict
}

// Ruling is what becomes of a turn.
type Ruling struct {
	// Results holds a text for each call: "" for one that is to run, and what
	// the model reads in its place for one that is not.
	Results []string
	// Action is "" if the loop goes on as usual, "reflect" if the model is
	// asked to think again, "stop" if the loop must end now.
	Action string
	// Notice says honestly why the loop ended, with Action "stop".
	Notice string
}

// The actions of a storm ruling, as they are recorded.
const (
	Reflect = "reflect"
	Stop    = "stop"
)

// Rule decides about a turn whose calls were judged. A turn of which nothing
// is left to run makes the model reflect once; the second one ends the loop.
func (s *Breaker) Rule(calls []Call) Ruling {
	s.Prepare()
	r := Ruling{Results: make([]string, len(calls))}
	left := 0
	for _, c := range calls {
		if c.Verdict == Pass {
			left++
			continue
		}
		text := brief(c.Name, c.Args)
		if !slices.Contains(s.abandoned, text) {
			s.abandoned = append(s.abandoned, text)
		}
	}
	switch {
	case left > 0 || len(calls) == 0:
	case s.corrected:
		r.Action, r.Notice = Stop, s.notice()
	default:
		r.Action, s.corrected, s.recovery = Reflect, true, 0
	}
	for i, c := range calls {
		switch {
		case c.Verdict == Pass:
		case r.Action == Stop:
			r.Results[i] = "Not run: the same calls came again after the request to change the approach. The " +
				"conversation ends here."
		case r.Action == Reflect:
			r.Results[i] = s.reflection(c)
		default:
			r.Results[i] = reason(c)
		}
	}
	return r
}

// reason is the short answer to a call that was not run.
func reason(c Call) string {
	if c.Verdict == SuppressInert {
		return "Not run: commands that only print or return a status do no work. Say what you want to say as " +
			"text, and call a tool only to find something out or to change something."
	}
	return "Not run: this very call was made several times, and nothing has changed since that could give it " +
		"another result. Use the result above, or do something different."
}

// reflection makes the model look for its mistake before it goes on.
func (s *Breaker) reflection(c Call) string {
	var b strings.Builder
	b.WriteString(reason(c))
	b.WriteString(`

Before any other call, write down:
1. The assumption behind these calls that must be wrong, in one sentence, and what shows that it is wrong.
2. Two or three ways forward that differ in kind from each other and from what was tried, not the same call with other words. Then choose one, say why, and take it.
3. If there is none, do not go on calling tools: say plainly that it cannot be done here, what is missing, and what you did achieve.

Given up, do not come back to these:
`)
	b.WriteString(s.list())
	return b.String()
}

func (s *Breaker) notice() string {
	return "[stopped: no progress] The same calls were repeated even after a request to change the approach, so " +
		"the work was ended unfinished. Repeated to no effect:\n" + s.list()
}

// shownApproaches bounds the list of abandoned approaches.
const shownApproaches = 12

func (s *Breaker) list() string {
	lines := s.abandoned
	if over := len(lines) - shownApproaches; over > 0 {
		lines = append([]string{fmt.Sprintf("(%d earlier ones)", over)}, lines[over:]...)
	}
	return "- " + strings.Join(lines, "\n- ")
}
