package storm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plan-engine/plan/loop/internal/casetable"
)

// stormDiffers lists the rows where the breaker does something else than the
// table, once it knows the results, and why. The table has no results; here
// every call keeps coming back with the same one.
var stormDiffers = map[string]struct {
	want []Verdict
	why  string
}{
	"four_cycle_slips_through_window6": {
		slices.Concat(slices.Repeat([]Verdict{Pass}, 12), slices.Repeat([]Verdict{Suppress}, 4)),
		"a cycle of any length is no progress once two rounds of it brought no news",
	},
	"default_same_read_forever": {
		slices.Concat(slices.Repeat([]Verdict{Pass}, 3), slices.Repeat([]Verdict{Suppress}, 5)),
		"reading the same bytes again is no progress, whatever the tool is called",
	},
}

func TestStormTable(t *testing.T) {
	t.Parallel()
	differs := 0
	for _, row := range casetable.Read(t, "dirge_storm.jsonl") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			stormRow(t, row)
		})
		if _, ours := stormDiffers[row.Name]; ours != (row.Recommend != "") {
			t.Errorf("%s: recommend is %q, listed as ours: %v", row.Name, row.Recommend, ours)
		} else if ours {
			differs++
		}
	}
	if differs != len(stormDiffers) {
		t.Errorf("%d of the %d rows listed as ours are in the table", differs, len(stormDiffers))
	}
}

func stormRow(t *testing.T, row casetable.Row) {
	t.Helper()
	var in struct {
		Kind              string
		Window, Threshold int
		Mutating, Exempt  []string
		Calls             []json.RawMessage
		Command           string
		TurnCalls         int  `json:"turn_calls"`
		Suppressed        int  `json:"suppressed"`
		AlreadyCorrected  bool `json:"already_corrected"`
	}
	casetable.Parse(t, row.Input, &in)
	switch in.Kind {
	case "sequence":
		cfg := Config{
			Window: in.Window, Threshold: in.Threshold,
			Mutating: func(n string) bool { return slices.Contains(in.Mutating, n) },
			Exempt:   func(n string) bool { return slices.Contains(in.Exempt, n) },
		}
		var want []Verdict
		casetable.Parse(t, row.Expected, &want)
		if diff := cmp.Diff(want, playRow(t, cfg, in.Calls, "")); diff != "" {
			t.Errorf("results unknown (-want +got):\n%s", diff)
		}
		if d, ours := stormDiffers[row.Name]; ours {
			if diff := cmp.Diff(d.want, playRow(t, cfg, in.Calls, "same")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", d.why, diff)
			}
		}
	case "inert":
		var want bool
		casetable.Parse(t, row.Expected, &want)
		if got := inert(in.Command); got != want {
			t.Errorf("inert(%q) = %v", in.Command, got)
		}
	case "loop":
		var want struct {
			Action   string
			Continue *bool
		}
		casetable.Parse(t, row.Expected, &want)
		s := &Breaker{corrected: in.AlreadyCorrected}
		calls := make([]Call, in.TurnCalls)
		for i := range calls {
			calls[i] = Call{Name: "t", Verdict: Pass}
			if i < in.Suppressed {
				calls[i].Verdict = Suppress
			}
		}
		r := s.Rule(calls)
		answered := 0
		for _, text := range r.Results {
			if text != "" {
				answered++
			}
		}
		got := fmt.Sprintf("dispatch_%d_and_backfill_%d_error_result", len(calls)-answered, answered)
		switch r.Action {
		case Reflect:
			got = "reflect"
		case Stop:
			got = "exit_inner_loop"
		}
		asksAnew := r.Action == Reflect && !strings.HasPrefix(want.Action, "dispatch") && want.Continue != nil
		if got != want.Action && !asksAnew { // the table has a name of its own for reflecting
			t.Errorf("got %s, want %s", got, want.Action)
		}
		if want.Continue != nil && *want.Continue == (r.Action == Stop) {
			t.Errorf("got %q, want to continue: %v", r.Action, *want.Continue)
		}
	default:
		t.Fatalf("unknown kind %q", in.Kind)
	}
}

// TestStormPipeline: arguments that mean the same are the same call, however
// the model wrote them. What they are read as is tested in package args.
func TestStormPipeline(t *testing.T) {
	t.Parallel()
	for _, row := range casetable.ReadKind(t, "dirge_repair.jsonl", "pipeline") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			var in struct{ Window, Threshold int }
			var want struct {
				Args  []json.RawMessage
				Storm []Verdict
			}
			casetable.Parse(t, row.Input, &in)
			casetable.Parse(t, row.Expected, &want)
			s := &Breaker{Config: Config{Window: in.Window, Threshold: in.Threshold}}
			var judged []Verdict
			for _, args := range want.Args {
				judged = append(judged, stormStep(s, "t", string(args), Outcome{}))
			}
			if diff := cmp.Diff(want.Storm, judged); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func playRow(t *testing.T, cfg Config, calls []json.RawMessage, result string) []Verdict {
	t.Helper()
	cfg.Shell = isBash
	s := &Breaker{Config: cfg}
	var got []Verdict
	for _, raw := range calls {
		if string(raw) == `"reset"` {
			s.Reset()
			got = append(got, "reset")
			continue
		}
		var c struct {
			Name    string
			Args    json.RawMessage
			Outcome string
		}
		casetable.Parse(t, raw, &c)
		got = append(got, stormStep(s, c.Name, string(c.Args), Outcome{Result: result, Timeout: c.Outcome == "timeout"}))
	}
	return got
}

// stormStep judges a call, and observes it if it passed.
func stormStep(s *Breaker, name, args string, o Outcome) Verdict {
	v := s.Judge(name, json.RawMessage(args))
	if v == Pass {
		s.Observe(name, json.RawMessage(args), o)
	}
	return v
}

func isBash(name string) bool { return name == "bash" }

// usualBreaker is how a loop with the built-in tools sets the breaker up.
func usualBreaker() *Breaker {
	return &Breaker{Config: Config{
		Mutating: func(n string) bool { return slices.Contains([]string{"write", "edit", "apply_patch", "bash"}, n) },
		Exempt:   func(n string) bool { return slices.Contains([]string{"read", "grep", "glob"}, n) },
		Shell:    isBash,
	}}
}

// TestStormSequences plays lines of "tool argument = result". A line that ends
// in ! is suppressed, one that ends in !! as an inert command.
func TestStormSequences(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a test after each edit": `
			bash test = bad
			edit A = done
			bash test = bad
			edit B = done
			bash test = bad
			edit C = done
			bash test = bad`,
		"a test after the same edit, until the edit is too much": `
			bash test = bad
			edit A = done
			bash test = bad
			edit A = done
			bash test = bad
			edit A = done !
			bash test = bad !`,
		"tools without a shell": `
			edit test = bad
			edit A = done
			edit test = bad
			edit B = done
			edit test = bad
			edit test = bad
			edit test = bad !`,
		"two edits in turn": `
			edit A = done
			edit B = done
			edit A = done
			edit B = done
			edit A = done !`,
		"commands that change files": `
			bash test = bad
			bash sed-1 = done
			bash test = bad
			bash sed-2 = done
			bash test = bad
			bash test = bad
			bash test = bad !`,
		"a call that once took too long": `
			bash slow = timeout
			read a = 1
			bash slow = timeout !
			edit A = done
			bash slow = timeout`,
		"a flaky test": `
			bash flaky = pass, seed 1
			bash flaky = pass, seed 2
			bash flaky = fail, seed 3
			bash flaky = pass, seed 4
			bash flaky = pass, seed 5
			bash flaky = fail, seed 6`,
		"a test that fails in two ways": `
			bash flaky = pass
			bash flaky = fail
			bash flaky = pass
			bash flaky = fail
			bash flaky = pass !`,
		"an edit again, with other words each time": `
			edit A = done 1
			edit A = done 2
			edit A = done 3 !`,
		"more time for a command that took too long": `
			bash slow@60 = timeout
			bash slow@120 = timeout
			bash slow@600 = timeout !`,
		"no more time for a command that took too long": `
			bash slow@60 = timeout
			bash slow@60 = timeout !`,
		"other places and times are nothing new": `
			bash test = at 0xc0001, /tmp/a1/x, 3 s
			bash test = at 0xc0002, /tmp/b2/x, 4 s
			bash test = at 0xc0003, /tmp/c3/x, 5 s !`,
		"a command is no reason to repeat an edit": `
			edit A = done
			bash 1 = done
			edit A = done
			bash 2 = done
			edit A = done !`,
		"a cycle of three commands": `
			bash a = 1
			bash b = 2
			bash c = 3
			bash a = 1
			bash b = 2
			bash c = 3
			bash a = 1 !`,
		"no progress in a pair of commands": `
			bash test = bad
			bash ls = files
			bash test = bad
			bash ls = files
			bash test = bad !`,
		"a read with new content is news": `
			read a = 1
			read a = 2
			read a = 3
			read a = 4
			read a = 5`,
		"reads that find something new in between": `
			read a = 1
			read b = 1
			read a = 1
			read c = 1
			read a = 1
			read d = 1
			read a = 1`,
		"a cycle of five": `
			read a = 1
			read b = 2
			grep c = 3
			grep d = 4
			bash test = bad
			read a = 1
			read b = 2
			grep c = 3
			grep d = 4
			bash test = bad
			read a = 1
			read b = 2
			grep c = 3
			grep d = 4
			bash test = bad !
			read a = 1 !
			read b = 2 !
			grep c = 3 !
			bash test = bad !
			edit A = done
			bash test = bad
			read a = 1`,
		"an edit makes reading again sensible": `
			read a = 1
			read a = 1
			read a = 1
			read a = 1 !
			edit A = done
			read a = 1
			read a = 1
			read a = 1 !
			read b = 1
			read a = 1`,
		"echoes between edits": `
			bash echo = x
			edit A = done
			bash true = x
			edit B = done
			bash echo = x
			edit C = done
			bash : = x`,
		"echoes alone": `
			bash echo = 1
			bash true = 2
			bash : = 3 !!
			bash ls = files`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := usualBreaker()
			for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
				call, result, _ := strings.Cut(strings.TrimSpace(line), " = ")
				tool, arg, _ := strings.Cut(call, " ")
				want := Pass
				if text, marked := strings.CutSuffix(result, " !!"); marked {
					want, result = SuppressInert, text
				} else if text, marked := strings.CutSuffix(result, " !"); marked {
					want, result = Suppress, text
				}
				args := fmt.Sprintf(`{"command":%q}`, arg)
				if command, seconds, ok := strings.Cut(arg, "@"); ok {
					args = fmt.Sprintf(`{"command":%q,"timeout_s":%s}`, command, seconds)
				}
				got := stormStep(s, tool, args, Outcome{
					Result:  Fingerprint(result, false),
					Timeout: result == "timeout",
				})
				if got != want {
					t.Errorf("line %d, %s: %s, want %s", i+1, call, got, want)
				}
			}
		})
	}
}

func TestStormBatch(t *testing.T) {
	t.Parallel()
	s, args := usualBreaker(), json.RawMessage(`{"path":"a"}`)
	var got []Verdict
	for range 4 {
		got = append(got, s.Judge("read", args))
	}
	if diff := cmp.Diff([]Verdict{Pass, Pass, Suppress, Suppress}, got); diff != "" {
		t.Error(diff)
	}
	s = usualBreaker()
	for i, arg := range []string{"test", "1", "test", "2", "test"} {
		name := []string{"bash", "edit"}[i%2]
		if v := s.Judge(name, json.RawMessage(`{"command":"`+arg+`"}`)); v != Pass {
			t.Errorf("call %d of one batch, an edit between all tests: %s", i, v)
		}
	}
}

func TestStormReflectsThenStops(t *testing.T) {
	t.Parallel()
	s := usualBreaker()
	read := func(v Verdict) Call {
		return Call{Name: "read", Args: json.RawMessage(`{"path":"a.go"}`), Verdict: v}
	}
	other := Call{Name: "grep", Args: json.RawMessage(`{"pattern":"x"}`), Verdict: Pass}

	r := s.Rule([]Call{read(Suppress), other})
	if r.Action != "" || r.Results[0] == "" || r.Results[1] != "" {
		t.Errorf("a turn with something left to run: %+v", r)
	}
	r = s.Rule([]Call{read(Suppress), read(SuppressInert)})
	if r.Action != Reflect || r.Notice != "" {
		t.Errorf("first turn without anything to run: %+v", r)
	}
	for i, text := range r.Results {
		for _, part := range []string{"assumption", "differ in kind", "cannot be done", `read {"path":"a.go"}`} {
			if !strings.Contains(text, part) {
				t.Errorf("result %d does not say %q:\n%s", i, part, text)
			}
		}
	}
	if !strings.Contains(r.Results[1], "only print") {
		t.Errorf("an inert call is not named as one:\n%s", r.Results[1])
	}
	r = s.Rule([]Call{read(Suppress)})
	if r.Action != Stop || !strings.Contains(r.Notice, `read {"path":"a.go"}`) || r.Results[0] == "" {
		t.Errorf("second turn without anything to run: %+v", r)
	}
	if s.Reset(); s.Rule([]Call{read(Suppress)}).Action != Reflect {
		t.Error("a new outer turn does not begin with a request to reflect")
	}
	if s.Reset(); s.Rule(nil).Action != "" {
		t.Error("a turn without calls is not one that was suppressed")
	}
}

func TestStormForgivesAfterRecovery(t *testing.T) {
	t.Parallel()
	s := usualBreaker()
	stuck := []Call{{Name: "read", Verdict: Suppress}}
	s.Rule(stuck)
	for i := range 6 {
		if i == 5 && !s.corrected {
			t.Fatal("forgiven too early")
		}
		stormStep(s, "read", fmt.Sprintf(`{"path":"%d"}`, i), Outcome{Result: "x"})
		stormStep(s, "read", fmt.Sprintf(`{"path":"%d"}`, i), Outcome{Result: "x"}) // no news
	}
	if r := s.Rule(stuck); r.Action != Reflect {
		t.Errorf("after as much news as the window is long: %q", r.Action)
	}
}

// TestStormProperties checks, for random cycles of different calls, that a model which
// learns nothing is always stopped, and that a new call is always let through.
func TestStormProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := usualBreaker()
		names := []string{"read", "grep", "bash", "edit", "write", "other"}
		cycle := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 59), func(i int) [2]string {
			return [2]string{names[i%len(names)], fmt.Sprintf(`{"command":"c%d"}`, i/len(names))}
		}), 1, 12, rapid.ID).Draw(t, "cycle")
		passed := map[[2]string]int{}
		for range 8 {
			for _, c := range cycle {
				if stormStep(s, c[0], c[1], Outcome{Result: "same"}) == Pass {
					passed[c]++
				}
			}
		}
		for c, n := range passed {
			if n > 3 {
				t.Fatalf("%v ran %d times", c, n)
			}
		}
		if v := stormStep(s, "edit", `{"command":"new"}`, Outcome{Result: "same"}); v != Pass {
			t.Fatalf("a call never made before: %s", v)
		}
	})
}
