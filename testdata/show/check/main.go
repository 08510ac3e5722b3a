// Command check reads the event stream of one run, one JSON object a line, on
// standard input and verifies what the contract promises any reader: a valid
// envelope, a seq without gaps from 1, an end for every start, an end of the
// stream that says why it ended, and an exit code that fits it. It prints what
// it counted and fails if anything does not hold.
//
// It reads events as an outside program does: it must not know the packages
// that write them.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	code := flag.Int("exit", -1, "the exit code that the process ended with; -1 is not compared")
	flag.Parse()
	c := checker{open: map[string]int{}, types: map[string]int{}}
	if err := c.read(os.Stdin); err != nil {
		c.fault("line %d: %v", c.lines+1, err)
	}
	c.finish(*code)
	fmt.Println(c.counts())
	for _, f := range c.faults {
		fmt.Fprintln(os.Stderr, "check:", f)
	}
	if len(c.faults) > 0 {
		os.Exit(1)
	}
}

// event is an envelope and the few fields of its data that pairing needs.
type event struct {
	V       int             `json:"v"`
	Run     string          `json:"run"`
	Seq     int64           `json:"seq"`
	Time    time.Time       `json:"time"`
	Conv    string          `json:"conv"`
	Phase   string          `json:"phase"`
	Attempt int             `json:"attempt"`
	Turn    *int            `json:"turn"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`

	body body
}

type body struct {
	Role     string `json:"role"`
	Call     string `json:"call"`
	Name     string `json:"name"`
	Command  string `json:"command"`
	Baseline bool   `json:"baseline"`
	Reason   string `json:"reason"`
	Outcome  string `json:"outcome"`
	ExitCode int    `json:"exit_code"`
}

// checker holds what was seen so far.
type checker struct {
	lines, live int
	run         string
	seq         int64
	open        map[string]int // what has started and not ended
	types       map[string]int
	last        event // durable
	faults      []string
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		c.lines++
		var ev event
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			c.fault("line %d: not an event: %v", c.lines, err)
			continue
		}
		c.envelope(&ev)
		c.pair(&ev)
	}
	return lines.Err()
}

// envelope checks the fields that every event has.
func (c *checker) envelope(ev *event) {
	if c.run == "" {
		c.run = ev.Run
	}
	c.types[ev.Type]++
	switch {
	case ev.V != 1:
		c.fault("line %d: v is %d", c.lines, ev.V)
	case len(ev.Run) != 26 || ev.Run != c.run:
		c.fault("line %d: run is %q, want %q, a ULID", c.lines, ev.Run, c.run)
	case ev.Time.IsZero():
		c.fault("line %d: no time", c.lines)
	case ev.Type == "":
		c.fault("line %d: no type", c.lines)
	}
	if err := json.Unmarshal(ev.Data, &ev.body); err != nil {
		c.fault("line %d: the data of %s: %v", c.lines, ev.Type, err)
	}
	isLive := ev.Type == "message_update" || ev.Type == "tool_update" || ev.Type == "progress"
	switch {
	case isLive && ev.Seq != 0:
		c.fault("line %d: a live %s has seq %d", c.lines, ev.Type, ev.Seq)
	case isLive:
		c.live++
	case ev.Seq != c.seq+1:
		c.fault("line %d: %s has seq %d after %d", c.lines, ev.Type, ev.Seq, c.seq)
		c.seq = ev.Seq
	default:
		c.seq++
	}
	if !isLive {
		if c.last.Type == "run_end" {
			c.fault("line %d: %s comes after run_end", c.lines, ev.Type)
		}
		c.last = *ev
	}
}

// pair opens what starts and closes what ends. A thing is open at most once.
func (c *checker) pair(ev *event) {
	i := strings.LastIndexByte(ev.Type, '_')
	if i < 0 {
		return
	}
	what, edge := ev.Type[:i], ev.Type[i+1:]
	key := what + " " + name(what, ev)
	switch edge {
	case "start":
		c.open[key]++
	case "end":
		c.open[key]--
	case "update":
		if c.open[key] != 1 {
			c.fault("line %d: %s outside of its start and end: %s", c.lines, ev.Type, key)
		}
		return
	default:
		return
	}
	if n := c.open[key]; n != 0 && n != 1 {
		c.fault("line %d: after %s, %s is open %d times", c.lines, ev.Type, key, n)
		c.open[key] = 0
	}
}

// name tells apart things of one kind that may be open at the same time.
func name(what string, ev *event) string {
	turn := "-"
	if ev.Turn != nil {
		turn = fmt.Sprint(*ev.Turn)
	}
	switch what {
	case "run":
		return ev.Run
	case "phase":
		return fmt.Sprint(ev.Phase, " ", ev.Attempt)
	case "turn", "message":
		return ev.Conv + " " + turn
	case "tool":
		return ev.Conv + " " + turn + " " + ev.body.Call + " " + ev.body.Name
	case "check":
		return fmt.Sprint(ev.body.Command, " ", ev.body.Baseline)
	}
	return ev.Conv
}

// finish checks how the stream ends.
func (c *checker) finish(code int) {
	if c.types["run_start"] != 1 {
		c.fault("%d run_start events, want one", c.types["run_start"])
	}
	want := c.last.body.ExitCode
	switch c.last.Type {
	case "run_end":
	case "parked":
		delete(c.open, "run "+c.run) // a parked run has not ended
		want = exitOfPark(c.last.body.Reason)
	default:
		c.fault("the stream ends with %q, want run_end or parked", c.last.Type)
		return
	}
	if code >= 0 && code != want {
		c.fault(
			"the process exited with %d, but %s %s stands for %d",
			code,
			c.last.Type,
			c.last.body.Reason+c.last.body.Outcome,
			want,
		)
	}
	for _, key := range slices.Sorted(maps.Keys(c.open)) {
		if c.open[key] != 0 {
			c.fault("%s never ends", key)
		}
	}
}

// exitOfPark is the exit code of a process whose run parked.
func exitOfPark(reason string) int {
	switch reason {
	case "approval", "question":
		return 4
	case "limit", "rate_limit", "refused", "drift":
		return 5
	case "interrupted":
		return 130
	}
	return -1
}

// counts is one line for people.
func (c *checker) counts() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events; %d live", c.lines, c.live)
	for _, what := range []string{"phase", "turn", "message", "tool", "check", "retry"} {
		n := c.types[what+"_start"] + c.types[what]
		if n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, what)
		}
	}
	fmt.Fprintf(&b, "; %s %s", c.last.Type, c.last.body.Outcome+c.last.body.Reason)
	return b.String()
}
