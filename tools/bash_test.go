package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/loop/compact"
	"github.com/plan-engine/plan/tools"
)

func TestBash(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		command string
		code    int
		output  string
	}{
		"success":       {"echo hello", 0, "hello\nexit status 0"},
		"failure":       {"echo no >&2; exit 3", 3, "no\nexit status 3"},
		"no output":     {"true", 0, "(no output)\nexit status 0"},
		"no newline":    {"printf x", 0, "x\nexit status 0"},
		"in the root":   {"cat a.txt", 0, "content\nexit status 0"},
		"a pipe fails":  {"false | cat", 1, "(no output)\nexit status 1"},
		"stdin empty":   {"cat; echo end", 0, "end\nexit status 0"},
		"a signal":      {"kill -9 $$", 137, "(no output)\nexit status 137"},
		"not UTF-8":     {`printf 'a\377b'`, 0, "a\uFFFDb\nexit status 0"},
		"not found":     {"nosuchcommand 2>/dev/null", 127, "(no output)\nexit status 127"},
		"several lines": {"echo 1\necho 2", 0, "1\n2\nexit status 0"},
		"had enough": {"yes | head -n 1", 141, "y\nexit status 141 (SIGPIPE: a later stage of the pipe had read enough; " +
			"this says nothing of the one before it)"},
		"SIGPIPE without a pipe": {"kill -PIPE $$", 141, "(no output)\nexit status 141"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t, files{"a.txt": "content\n"})
			res := d.call("bash", args{"command": c.command})
			sameText(t, res.Output, c.output)
			failed := c.code != 0 && name != "had enough"
			if res.ExitCode == nil || *res.ExitCode != c.code || res.Error != failed || res.Status != "" || res.Full != nil {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestBashRefusesNothing(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if res := d.refused("bash", args{"command": " \n\t"}, "empty"); res.ExitCode != nil {
		t.Error("it ran")
	}
}

func TestBashDoesNotStart(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	must(t, os.Remove(d.dir))
	d.refused("bash", args{"command": "true"}, "did not start")
}

func TestBashWithoutShell(t *testing.T) {
	t.Parallel()
	set := openSet(t, tools.Config{Root: t.TempDir()})
	if _, err := set.Tools("bash"); err == nil {
		t.Error("bash is there")
	}
}

func TestBashCutsLongOutput(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	res := d.do("bash", args{"command": "seq 1 100000; echo é"})
	if n := len(res.Output); n > 31_000 || n < 29_000 || !utf8.ValidString(res.Output) {
		t.Errorf("%d bytes of output", n)
	}
	full := string(res.Full)
	if !strings.HasPrefix(full, "1\n2\n") || !strings.HasSuffix(full, "\n100000\né\n") {
		t.Errorf("the whole is %d bytes", len(full))
	}
	d.says(res, "1\n2\n3\n", "\n100000\né\n", "bytes left out", `path "blob:`+sha(full)+`"`, "100001 lines")
	if !strings.HasSuffix(res.Output, "\nexit status 0") {
		t.Errorf("ends in %q", res.Output[len(res.Output)-100:])
	}
}

// holding makes a pipe that a command opens for writing as "held". The first
// channel says that it did; the second that no process holds it any more, so that
// everything the command had started is gone.
func holding(t *testing.T, d *fixture) (begun, gone <-chan struct{}) {
	t.Helper()
	mkfifo(t, d.path("held"))
	opened, closed := make(chan struct{}), make(chan struct{})
	go func() {
		f, err := os.Open(d.path("held"))
		close(opened)
		if err == nil {
			_, err = io.Copy(io.Discard, f)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
		close(closed)
	}()
	return opened, closed
}

func allGone(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("what it started lives on")
	}
}

func TestBashTimeout(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	_, gone := holding(t, d)
	res := d.call("bash", args{"command": "exec 3>held; sleep 100 & echo begun; wait", "timeout_s": 1})
	d.says(res, "begun\n", "timed out: killed after 1 s, with everything it had started", "timeout_s (at most 600)")
	if !strings.HasSuffix(res.Output, "\nexit status 124") || res.Status != "timeout" || !res.Error || res.ExitCode == nil || *res.ExitCode != 124 {
		t.Errorf("%+v", res)
	}
	allGone(t, gone)
}

func TestBashCancelled(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, gone := holding(t, d)
	go func() {
		<-begun
		cancel()
	}()
	res, err := runTool(t, ctx, d.set, "bash", args{"command": "echo said; exec 3>held; sleep 100 & wait"})
	if err != nil || res.Status != "cancelled" || !res.Error || res.ExitCode != nil {
		t.Errorf("%+v, %v", res, err)
	}
	d.says(res, "said\n", "cancelled", "may have run partly")
	allGone(t, gone)
}

// Output is shown while the command still runs: it ends only after the test
// has seen the beginning.
func TestBashShowsOutputAsItComes(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	mkfifo(t, d.path("go"))
	var mu sync.Mutex
	var shown strings.Builder
	begun := false
	d.live = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		shown.WriteString(text)
		if !utf8.ValidString(text) {
			t.Errorf("showed %q", text)
		}
		if !begun && strings.Contains(shown.String(), "begün") {
			begun = true
			go func() { _ = os.WriteFile(d.path("go"), nil, 0o644) }()
		}
	}
	res := d.do("bash", args{"command": `printf 'beg\303'; printf '\274n\n'; cat go; printf 'end\n'`, "timeout_s": 60})
	sameText(t, res.Output, "begün\nend\nexit status 0")
	mu.Lock()
	defer mu.Unlock()
	sameText(t, shown.String(), "begün\nend\n")
}

// However much comes, little of it is shown live, in few pieces.
func TestBashLiveOutputIsBounded(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	calls, bytes := 0, 0
	d.live = func(text string) { calls++; bytes += len(text) }
	res := d.do("bash", args{"command": "seq 1 300000"})
	if len(res.Full) < 1_900_000 {
		t.Fatalf("%d bytes in all", len(res.Full))
	}
	if calls == 0 || bytes > calls*8500 || bytes > len(res.Full)/2 {
		t.Errorf("%d calls, %d bytes", calls, bytes)
	}
}

// TestADiffIsShownAsItIs: blanks at line ends and empty lines can be all that it is
// about.
func TestADiffIsShownAsItIs(t *testing.T) {
	t.Parallel()
	d := newFixture(t, files{"a.txt": "one \ntwo\n\n\n\nthree\n"})
	gitIn(t, d.dir, "init", "-q")
	gitIn(t, d.dir, "add", "-A")
	d.put("a.txt", "one\ntwo\t\n\n\n\n\nthree\n")
	res := d.do("bash", args{"command": "git -c color.ui=always diff -U9"})
	shown, _ := compact.Output(res.Output, loop.CompactSafe, false)
	const want = "@@ -1,6 +1,7 @@\n-one \n-two\n+one\n+two\t\n+\n \n \n \n three\nexit status 0"
	if !strings.HasSuffix(shown, want) {
		t.Errorf("a model reads\n%q, want at its end\n%q", shown, want)
	}
}

// TestWritingSchemas holds the argument names that outside programs rely on.
func TestWritingSchemas(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	want := map[string][]string{
		"write":       {"path", "content"},
		"edit":        {"path", "old_string", "new_string", "replace_all?"},
		"apply_patch": {"patch"},
		"bash":        {"command", "timeout_s?"},
	}
	for name, fields := range want {
		found, err := d.set.Tools(name)
		must(t, err)
		info := found[0].Info()
		effect := plan.EffectVerifiable
		if name == "bash" {
			effect = plan.EffectUnknown
		}
		if info.Name != name || !info.Writes || !info.Serial || info.Effect != effect || len(info.Description) < 80 {
			t.Errorf("%s: %+v", name, info)
		}
		if got := schemaFields(t, info.Schema); strings.Join(got, " ") != strings.Join(fields, " ") {
			t.Errorf("%s takes %v, want %v", name, got, fields)
		}
		res, err := found[0].Run(t.Context(), loop.Input{Args: json.RawMessage(`{"path":1,"command":1,"patch":1}`), Update: d.live})
		if err != nil || !res.Error {
			t.Errorf("%s with wrong arguments: %+v, %v", name, res, err)
		}
	}
}
