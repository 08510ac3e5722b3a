package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/model/scripted"
)

// TestScripts runs the scripts in testdata/script: each is a person at a
// terminal, with a real repository, a real database, real processes, and a
// scripted model behind the real protocol.
//
// Beside testscript's own commands there are:
//
//	golang              the base repository is a Go module, and tested as one, here
//	repo DIR            make DIR a git repository and commit what is in it
//	serve FILE…         start a scripted model with these scenario files, joined
//	requests N          exactly N model requests have come so far
//	asked PHASE REGEX   some request of the phase matches, among those that came since the last forget
//	forget              look away from the requests so far
//	await TYPE [N]      wait until the newest run's journal has N events of TYPE
//	journal FILE        write the newest run's journal, as JSON lines, to FILE
//	balanced FILE       every started thing in these JSON lines ends once, and seq has no gaps
//	signal SIG          send a signal to the background programs
//	prefixes            each model request extends, byte for byte, the one before it in its phase attempt
//	exits CODE CMD…     run a command, which ends with exactly this status
//	flip FILE TEXT      change a bit of the first TEXT in a file
func TestScripts(t *testing.T) {
	t.Parallel()
	params := scripts("")
	params.Files = sampledScripts(t)
	testscript.Run(t, params)
}

// TestScriptsWithTheRaceDetector runs some of the scripts again with this binary
// as plan: a batch and an interrupted run always, others by the seed. Where this
// binary is without the detector they would show no more than TestScripts does,
// and none is played.
func TestScriptsWithTheRaceDetector(t *testing.T) {
	t.Parallel()
	if !detectsRaces() {
		t.Log("this binary is without the race detector: make soak has one with it")
		return
	}
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	always := []string{"testdata/script/batch.txtar", "testdata/script/interrupt.txtar"}
	params := scripts("")
	params.Files = append(always, sampling.Pick(sampling.New(t), 2, slices.DeleteFunc(all, func(name string) bool {
		return slices.Contains(always, name)
	}))...)
	params.Setup = func(env *testscript.Env) error {
		path := env.Getenv("PATH")
		err := setupScript(env)
		env.Setenv("PATH", path)
		return err
	}
	testscript.Run(t, params)
}

// detectsRaces reports whether this binary was built with the race detector.
func detectsRaces() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// scripts are the scripts in a directory.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup:               setupScript,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"golang": cmdGolang, "repo": cmdRepo, "serve": cmdServe, "requests": cmdRequests, "await": cmdAwait,
			"journal": cmdJournal, "balanced": cmdBalanced, "signal": cmdSignal, "exits": cmdExits,
			"flip": cmdFlip, "asked": cmdAsked, "forget": cmdForget,
			"prefixes": cmdPrefixes, "readme": cmdReadme,
		},
	}
}

func setupScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	caches, err := goCaches()
	if err != nil {
		return err
	}
	built, err := buildProgram()
	if err != nil {
		return err
	}
	if err := warmGo(); err != nil {
		return err
	}
	if err := copyBase(env.WorkDir); err != nil {
		return err
	}
	env.Values[serverKey{}] = new(*scripted.Server)
	env.Values[forgottenKey{}] = new(int)
	env.Vars = append(env.Vars, caches...)
	env.Vars = append(
		env.Vars,
		"PATH="+filepath.Dir(built)+string(filepath.ListSeparator)+env.Getenv("PATH"),
		"PLAN_HOME="+home, "HOME="+env.WorkDir, "XDG_DATA_HOME=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "PLAN_MODEL=scripted",
		"GOFLAGS="+scriptGoFlags, "GOPROXY=off",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "LANG=C.UTF-8", "NO_COLOR=1",
		"PLAN_TEST_WALL="+os.Getenv("PLAN_TEST_WALL"), // see sandbox.program
		"GORACE=atexit_sleep_ms=0",                    // a second for every process, under the race detector
		"GOGC=off", "GOMEMLIMIT=1GiB",                 // a tenth of what short processes take
	)
	return nil
}

// condition knows [mounts]: this machine lets a process mount things for itself; and
// [all]: what a sample leaves out is played too.
func condition(name string) (bool, error) {
	switch name {
	case "mounts":
		return exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp").Run() == nil, nil
	case "all":
		return sampling.All(), nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

func cmdRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo DIR")
	}
	for _, git := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		ts.Check(ts.Exec("git", append([]string{"-C", ts.MkAbs(args[0])}, git...)...))
	}
}

// serverKey finds a script's model server between its commands.
type serverKey struct{}

func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve FILE…")
	}
	var text strings.Builder
	for _, name := range args {
		text.WriteString(ts.ReadFile(name) + "\n")
	}
	scenario, err := scripted.Parse([]byte(text.String()))
	ts.Check(err)
	server, err := scripted.Start(context.Background(), scenario, scripted.Config{})
	ts.Check(err)
	ts.Defer(func() { _ = server.Close() })
	ts.Setenv("OPENAI_BASE_URL", server.URL())
	ts.Setenv("OPENAI_API_KEY", server.Key())
	*ts.Value(serverKey{}).(**scripted.Server) = server
	*ts.Value(forgottenKey{}).(*int) = 0
}

func cmdRequests(ts *testscript.TestScript, _ bool, args []string) {
	got := len((*ts.Value(serverKey{}).(**scripted.Server)).Requests())
	if len(args) != 1 || fmt.Sprint(got) != args[0] {
		ts.Fatalf("%d model requests, want %v", got, args)
	}
}

// forgottenKey finds how many requests a script has looked away from.
type forgottenKey struct{}

func cmdForget(ts *testscript.TestScript, _ bool, _ []string) {
	*ts.Value(forgottenKey{}).(*int) = len((*ts.Value(serverKey{}).(**scripted.Server)).Requests())
}

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: asked PHASE REGEX")
	}
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	requests := (*ts.Value(serverKey{}).(**scripted.Server)).Requests()
	found := false
	for _, r := range requests[*ts.Value(forgottenKey{}).(*int):] {
		if r.Header.Get("X-Plan-Phase") == args[0] && re.Match(r.Body) {
			found = true
		}
	}
	if found == neg {
		ts.Fatalf("a request of %s that matches %q: %v", args[0], args[1], found)
	}
}

// openHome opens the database of the script's home; nil while it is not there.
func openHome(ts *testscript.TestScript) *memory.DB {
	path := filepath.Join(ts.Getenv("PLAN_HOME"), "plan.db")
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	db, err := memory.Open(context.Background(), memory.Config{Path: path})
	if err != nil {
		return nil // it is being made
	}
	return db
}

// newestEvents reads the journal of the newest run, or those events of it that are of a type.
func newestEvents(ts *testscript.TestScript, db *memory.DB, types ...plan.EventType) []plan.Event {
	ctx := context.Background()
	runs, err := db.Runs(ctx, memory.Filter{Limit: 1})
	if err != nil || len(runs) == 0 {
		return nil
	}
	var out []plan.Event
	for ev, err := range db.Events(ctx, runs[0].ID, memory.Query{Types: types}) {
		ts.Check(err)
		out = append(out, ev)
	}
	return out
}

func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	want := 1
	if len(args) == 2 {
		_, err := fmt.Sscan(args[1], &want)
		ts.Check(err)
	}
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var db *memory.DB
	defer func() {
		if db != nil {
			_ = db.Close() // it was read from
		}
	}()
	for {
		got := 0
		if db == nil {
			db = openHome(ts)
		}
		if db != nil {
			got = len(newestEvents(ts, db, plan.EventType(args[0])))
		}
		if got >= want {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("the journal has %d %s events after 30 s, want %d", got, args[0], want)
		case <-tick.C:
		}
	}
}

func cmdJournal(ts *testscript.TestScript, _ bool, args []string) {
	var b strings.Builder
	if db := openHome(ts); db != nil {
		defer db.Close()
		for _, ev := range newestEvents(ts, db) {
			line, err := ev.AppendJSON(nil)
			ts.Check(err)
			b.Write(append(line, '\n'))
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
	}
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(signals[args[0]]))
	}
}

func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit status %d, want %s", code, args[0])
	}
}

func cmdFlip(ts *testscript.TestScript, _ bool, args []string) {
	data := []byte(ts.ReadFile(args[0]))
	at := bytes.Index(data, []byte(args[1]))
	if at < 0 {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	data[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

func cmdBalanced(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(unbalanced(ts.ReadFile(args[0])))
}

// unbalanced says which started thing in these JSON lines does not end once, or
// where their seq has a gap.
func unbalanced(journal string) error {
	seq, open := int64(0), map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(journal))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var ev struct {
			V     int
			Seq   int64
			Conv  string
			Phase string
			Type  string
			Data  struct{ Role, Call, Command string }
		}
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			return fmt.Errorf("not JSON: %s", lines.Text())
		}
		if ev.Seq != 0 {
			if seq != 0 && ev.Seq != seq+1 {
				return fmt.Errorf("seq %d follows %d", ev.Seq, seq)
			}
			seq = ev.Seq
		}
		what, edge, ok := cutLast(ev.Type, "_")
		if !ok || (edge != "start" && edge != "end") {
			continue
		}
		key := strings.Join([]string{what, ev.Conv, ev.Data.Role, ev.Data.Call, ev.Data.Command}, "|")
		if what == "run" {
			continue // one process of several shows only one end of it
		}
		if edge == "start" {
			open[key]++
		} else {
			open[key]--
		}
		if n := open[key]; n != 0 && n != 1 {
			return fmt.Errorf("%s: %d open after %s", key, n, lines.Text())
		}
	}
	for key, n := range open {
		if n != 0 {
			return fmt.Errorf("%s never ends", key)
		}
	}
	if seq == 0 {
		return errors.New("no event has a seq")
	}
	return nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
