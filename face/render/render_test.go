package render

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

var updateGolden = flag.Bool("update", false, "write the golden files of this package anew")

// checkGolden compares got with a file, or writes the file with -update.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func fixedWidth(n int) func() int { return func() int { return n } }

func showAll(v Viewer, events []plan.Event) {
	for _, e := range events {
		v.Event(e)
	}
}

func TestPlainViewer(t *testing.T) {
	t.Parallel()
	tests := map[string]Options{
		"plain.txt":         {Width: fixedWidth(90)},
		"plain_ascii.txt":   {Width: fixedWidth(90), ASCII: true},
		"plain_narrow.txt":  {Width: fixedWidth(48)},
		"plain_verbose.txt": {Verbose: true, Color: true}, // the colour is not honoured
	}
	for name, opts := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			v := NewPlain(&out, opts)
			showAll(v, wholeStory().events)
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), "\x1b") {
				t.Error("there is an escape in plain output")
			}
			checkGolden(t, name, out.String())
		})
	}
}

func TestPlainViewerShortensLongText(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.begin(plan.Plan, 1, "c1", "m")
	s.ask()
	s.answer(0, strings.Repeat("a line\n", 40), plan.Usage{})
	for verbose, want := range map[bool]int{false: 12, true: 40} {
		var out strings.Builder
		v := NewPlain(&out, Options{Verbose: verbose})
		showAll(v, s.events)
		if got := strings.Count(out.String(), "    a line\n"); got != want {
			t.Errorf("verbose %v: %d lines, want %d", verbose, got, want)
		}
		if more := strings.Contains(out.String(), "28 lines more"); more == verbose {
			t.Errorf("verbose %v: says that 28 lines are left out: %v", verbose, more)
		}
	}
}

func TestJSONViewerWritesTheJournalsBytes(t *testing.T) {
	t.Parallel()
	events := wholeStory().events
	var out strings.Builder
	v := NewJSON(&out)
	showAll(v, events)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if len(lines) != len(events)+1 {
		t.Fatalf("%d lines for %d events", len(lines)-1, len(events))
	}
	for i, e := range events {
		want, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if lines[i] != string(want)+"\n" {
			t.Fatalf("line %d is %s, want %s", i, lines[i], want)
		}
	}
}

// brokenWriter fails from the n-th write on, and counts.
type brokenWriter struct {
	good   int
	err    error
	writes int
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	w.writes++
	if w.writes > w.good {
		return 0, w.err
	}
	return len(p), nil
}

func TestViewersStopAtTheFirstWriteError(t *testing.T) {
	t.Parallel()
	viewers := map[string]func(io.Writer) Viewer{
		"json":   NewJSON,
		"plain":  func(w io.Writer) Viewer { return NewPlain(w, Options{}) },
		"screen": func(w io.Writer) Viewer { return NewScreen(w, Options{}) },
		"events": func(w io.Writer) Viewer { return NewEventLines(w, Options{}) },
	}
	full := errors.New("disk full")
	tests := map[string]struct{ fails, want error }{
		"a full disk is told":         {full, full},
		"a reader that left is fine":  {syscall.EPIPE, nil},
		"a closed pipe is fine, too ": {io.ErrClosedPipe, nil},
	}
	for kind, open := range viewers {
		for name, test := range tests {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := &brokenWriter{good: 2, err: test.fails}
				v := open(w)
				showAll(v, wholeStory().events)
				if err := v.Close(); !errors.Is(err, test.want) {
					t.Errorf("Close: %v, want %v", err, test.want)
				}
				if err := v.Close(); !errors.Is(err, test.want) {
					t.Errorf("second Close: %v, want %v", err, test.want)
				}
				if w.writes != 3 {
					t.Errorf("%d writes, want 3", w.writes)
				}
			})
		}
	}
}

func TestViewOptionsFor(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tests := []struct {
		env   map[string]string
		ascii bool
	}{
		{map[string]string{}, true},
		{map[string]string{"LANG": "en_GB.UTF-8"}, false},
		{map[string]string{"LANG": "en_GB.UTF-8", "LC_ALL": "C"}, true},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.utf8"}, false},
		{map[string]string{"LANG": "de_DE.ISO-8859-1"}, true},
	}
	for _, test := range tests {
		opts, tty := OptionsFor(file, func(name string) string { return test.env[name] })
		if tty || opts.Color {
			t.Errorf("a file is taken for a terminal")
		}
		if opts.ASCII != test.ascii {
			t.Errorf("%v: ASCII %v, want %v", test.env, opts.ASCII, test.ascii)
		}
		if got := opts.Columns(); got != columnsUnknown {
			t.Errorf("width of a file: %d", got)
		}
	}
}
