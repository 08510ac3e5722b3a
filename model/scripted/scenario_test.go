package scripted_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/model/scripted"
)

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse([]byte(`
name = "all of it"
delay = "30ms"
[[reply]]
phase = "implement"
attempt = 2
user = 2
turn = 0
text = "é"
usage = { input = 10, cached = 8, output = 3, reasoning = 1 }
  [[reply.call]]
  name = "edit"
    [reply.call.args]
    path = "a.go"
    old_string = '''
	x := "\n"'''
  [[reply.call]]
  name = "read"
  raw = '{"path": "ca'
  [reply.fault]
  kind = "status"
  status = 429
  times = 0
  retry_after = "1"
`))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Replies[0]
	switch {
	case s.Name != "all of it" || s.Delay != scripted.Duration(30*time.Millisecond):
		t.Errorf("header: %+v", s)
	case r.Phase != "implement" || r.Attempt != 2 || r.User != 2 || r.Turn == nil || *r.Turn != 0:
		t.Errorf("place: %+v", r)
	case *r.Usage != scripted.Usage{Input: 10, Cached: 8, Output: 3, Reasoning: 1}:
		t.Errorf("usage: %+v", r.Usage)
	case len(r.Calls) != 2 || r.Calls[0].Args["old_string"] != "\tx := \"\\n\"" || *r.Calls[1].Raw != `{"path": "ca`:
		t.Errorf("calls: %+v", r.Calls)
	case r.Fault.Kind != scripted.FaultStatus || *r.Fault.Times != 0 || r.Fault.Status != 429 || r.Fault.RetryAfter != "1":
		t.Errorf("fault: %+v", r.Fault)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	const ok = "[[reply]]\nphase = 'review'\ntext = 'x'\n"
	tests := []struct{ name, in, want string }{
		{"empty", "", "the scenario has no reply; write at least one [[reply]]"},
		{"syntax", "name = \n", "line 1: "},
		{"unknown key", ok + "txet = 'y'\n", `line 4: unknown key "reply.txet"`},
		{"unknown fault key", ok + "[reply.fault]\nkind = 'empty'\nwhen = 3\n", `line 6: unknown key "reply.fault.when"`},
		{"wrong type", "\n[[reply]]\nturn = 'one'\n", "line 3: "},
		{"bad duration", "delay = 'soon'\n" + ok, `"soon" is not a duration such as "30ms"`},
		{"negative delay", "delay = '-1s'\n" + ok, "delay is -1s; it cannot be negative"},
		{"says nothing", ok + "\n# [[reply]]\n[[reply]]\nphase = 'plan'\n", "line 6: reply 2: it says nothing"},
		{
			"never served",
			ok + "[[reply]]\nphase = 'review'\nturn = 1\ntext = '[[reply]]'\n",
			"line 4: reply 2: it is never served, because reply 1 fits first",
		},
		{"attempt", ok + "attempt = -1\n", "line 1: reply 1: attempt and user count from 1"},
		{"turn", ok + "turn = -1\n", "turn counts from 0"},
		{"finish", ok + "finish = 'done'\n", `finish "done" is not one of`},
		{"usage", ok + "usage = { input = 1, cached = 2 }\n", "cached is a part of input"},
		{"call name", ok + "[[reply.call]]\nname = 'a b'\n", `call name "a b"`},
		{"args and raw", ok + "[[reply.call]]\nname = 'read'\nargs = { path = 'a' }\nraw = '{}'\n", "call read has args and raw"},
		{
			"args not JSON",
			ok + "[[reply.call]]\nname = 'read'\nargs = { limit = inf }\n",
			"call read: args: JSON cannot hold the value +Inf",
		},
		{"fault kind", ok + "[reply.fault]\nkind = 'boom'\n", `fault kind "boom" is not one of status, hang`},
		{"fault status", ok + "[reply.fault]\nkind = 'status'\nstatus = 200\n", "status is 200; give one from 400 to 599"},
		{
			"fault setting without use",
			ok + "[reply.fault]\nkind = 'empty'\nafter_chunks = 3\n",
			"fault empty has no use for after_chunks; take it out",
		},
		{"fault times", ok + "[reply.fault]\nkind = 'empty'\ntimes = -1\n", "times is -1"},
		{"fault cut", ok + "[reply.fault]\nkind = 'hang'\nafter_chunks = -1\n", "after_chunks is -1"},
		{
			"fault header",
			ok + "[reply.fault]\nkind = 'status'\nstatus = 429\nretry_after = \"1\\r\\nX: y\"\n",
			"retry_after is a header",
		},
		{"slow without delay", ok + "[reply.fault]\nkind = 'slow'\n", "fault slow: give it a delay"},
		{"half call without call", ok + "[reply.fault]\nkind = 'half_call'\n", "fault half_call needs a call"},
		{
			"malformed too short",
			ok + "[[reply.call]]\nname = 'read'\nraw = '{'\n[reply.fault]\nkind = 'malformed_args'\n",
			"too short to halve",
		},
		{"truncate nothing", "[[reply]]\n[reply.fault]\nkind = 'truncate'\n", "fault truncate needs an answer to work on"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Parse([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant an error with %q", err, tt.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.toml")
	if _, err := scripted.Load(path); err == nil {
		t.Error("a missing file loads")
	}
	if err := os.WriteFile(path, []byte("[[reply]]\ntext = 'x'\nfoo = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := scripted.Load(path); err == nil || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "line 3") {
		t.Errorf("got %v, want the path and the line", err)
	}
	if err := os.WriteFile(path, []byte("[[reply]]\ntext = 'x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := scripted.Load(path); err != nil || len(s.Replies) != 1 {
		t.Errorf("got %v, %v", s, err)
	}
}

// TestDocumentedScenario keeps the example in the package's documentation true.
func TestDocumentedScenario(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var example strings.Builder
	for line := range strings.Lines(string(doc)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			example.WriteString(code)
		}
	}
	s, err := scripted.Parse([]byte(example.String()))
	if err != nil || len(s.Replies) != 1 || s.Replies[0].Fault == nil || len(s.Replies[0].Calls) != 1 || !s.Server.Comments {
		t.Errorf("%v: %+v", err, s)
	}
}

// FuzzParse checks that whatever parses can also be served.
func FuzzParse(f *testing.F) {
	f.Add("name = 'x'\n[[reply]]\nphase = 'plan'\nturn = 1\ntext = 'y'\n[[reply.call]]\nname = 'read'\nargs = { " +
		"path = 'a', n = 1.5, at = 2020-01-01 }\n")
	f.Add("[[reply]]\n[reply.fault]\nkind = 'status'\nstatus = 429\n[[reply]]\ntext = 'x'\n[reply.fault]\nkind = 'half_call'\n")
	f.Add("delay = '1ms'\n[[reply.call]]\nraw = '{'\n")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := scripted.Parse([]byte(in))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" || s != nil {
				t.Fatalf("scenario %v with error %q", s, err)
			}
			return
		}
		srv, err := scripted.Start(t.Context(), s, scripted.Config{})
		if err != nil {
			t.Fatalf("it parses but does not start: %v", err)
		}
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
