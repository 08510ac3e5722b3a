package memory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"go.uber.org/goleak"
)

// TestMain also is the other process of the tests that need one.
func TestMain(m *testing.M) {
	if mode := os.Getenv("MEMORY_TEST_HELPER"); mode != "" {
		if err := helper(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var start = time.Date(2026, 3, 4, 5, 6, 7, 890, time.UTC)

func clock() time.Time { return start }

func config(dir string) memory.Config {
	return memory.Config{Path: filepath.Join(dir, "plan.db"), Locks: filepath.Join(dir, "locks"), Now: clock}
}

func open(t testing.TB, dir string) *memory.DB {
	t.Helper()
	db, err := memory.Open(context.Background(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func own(t testing.TB, db *memory.DB, run plan.RunID) *memory.Writer {
	t.Helper()
	w, err := db.Own(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func event(run plan.RunID, body plan.Body) plan.Event {
	return plan.Event{Run: run, Time: start, Body: body}
}

func report(run plan.RunID, text string) plan.Event {
	return event(run, plan.Report{Text: text})
}

func runStart(run plan.RunID) plan.Event {
	return event(run, plan.RunStart{Request: "add a flag", Repo: "/src/app", Config: []byte("{}")})
}

func runEnd(run plan.RunID) plan.Event {
	return event(run, plan.RunEnd{Outcome: plan.Approved})
}

func appendAll(t testing.TB, w *memory.Writer, events ...plan.Event) []plan.Event {
	t.Helper()
	out, err := w.Append(context.Background(), events...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func lines(t testing.TB, db *memory.DB, run plan.RunID) []memory.Line {
	t.Helper()
	var out []memory.Line
	for l, err := range db.Lines(context.Background(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// differ says how lines differ, or nothing. Each is compared at once: byte by byte, as
// cmp compares what is no text, it is a quarter of what these tests take.
func differ(want, got []memory.Line) string {
	return cmp.Diff(want, got, cmp.Transformer("text", func(l memory.Line) string {
		return strconv.FormatInt(l.Seq, 10) + " " + string(l.JSON)
	}))
}

func wantSeqs(t testing.TB, got []memory.Line, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("got %d events, want %d", len(got), n)
	}
	for i, l := range got {
		if l.Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, l.Seq)
		}
	}
}

// process is another process that works on the same database.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Scanner
}

func spawn(t testing.TB, dir, mode string, run plan.RunID) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "MEMORY_TEST_HELPER="+mode, "MEMORY_TEST_DIR="+dir, "MEMORY_TEST_RUN="+string(run))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, stdin: stdin, out: bufio.NewScanner(stdout)}
	t.Cleanup(func() { p.kill(t) })
	return p
}

// line returns the next line that the process prints.
func (p *process) line(t testing.TB) string {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("the helper ended early: %v", p.out.Err())
	}
	return p.out.Text()
}

// kill is kill -9. What the process had printed until then is returned.
func (p *process) kill(t testing.TB) (last string) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return ""
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	for p.out.Scan() {
		last = p.out.Text()
	}
	_ = p.cmd.Wait() // it was killed
	return last
}

// helper is what the other process does.
func helper(mode string) error {
	ctx := context.Background()
	if fault, ok := faults[mode]; ok {
		return fault(os.Getenv("MEMORY_TEST_DIR"))
	}
	run := plan.RunID(os.Getenv("MEMORY_TEST_RUN"))
	if mode == "skills" {
		return recordMany(ctx, os.Getenv("MEMORY_TEST_DIR"), string(run), 1000)
	}
	db, err := memory.Open(ctx, config(os.Getenv("MEMORY_TEST_DIR")))
	if err != nil {
		return err
	}
	switch {
	case mode == "lock":
		return lockHelper(ctx, db)
	case strings.HasPrefix(mode, crowdMode):
		return crowdHelper(ctx, db, run, mode)
	}
	w, err := db.Own(ctx, run)
	if err != nil {
		return err
	}
	if mode == "hold" { // until stdin closes
		fmt.Println("owned")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	if _, err := w.Append(ctx, runStart(run)); err != nil {
		return err
	}
	n := 1 << 30
	if mode != "forever" {
		if n, err = strconv.Atoi(mode); err != nil {
			return err
		}
	}
	for i := range n {
		out, err := w.Append(ctx, report(run, "one "+strconv.Itoa(i)), report(run, "two "+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		fmt.Println(out[1].Seq)
	}
	_, err = w.Append(ctx, runEnd(run))
	return err
}
