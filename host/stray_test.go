package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/hint"
)

// elsewhere is a home that has taken in a run from another one.
func elsewhere(t *testing.T, w *hosttest.World, r host.Request) (*host.Host, plan.RunID) {
	t.Helper()
	id := w.Elsewhere(t, r)
	h := host.New(w.Config)
	t.Cleanup(func() { h.Close() })
	return h, id
}

// What is to be changed in a repository that only a journal from elsewhere names is changed
// where the person stands in it, and else nothing is.
func TestAJournalNamesNoPlaceToChange(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h, id := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	run, err := h.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	state := func() string {
		return gittest.Git(t, w.Repo, "for-each-ref") + gittest.Git(t, w.Repo, "status", "--porcelain") +
			gittest.Git(t, w.Repo, "worktree", "list")
	}
	acts := map[string]func(h *host.Host) error{
		"apply": func(h *host.Host) error {
			_, err := h.Apply(t.Context(), run, host.Apply{})
			return err
		},
		"apply --branch": func(h *host.Host) error {
			_, err := h.Apply(t.Context(), run, host.Apply{Branch: "theirs"})
			return err
		},
		"restore": func(h *host.Host) error {
			_, err := h.Restore(t.Context(), run, host.Restore{To: engine.LabelStart})
			return err
		},
		"restore in another": func(h *host.Host) error {
			_, err := h.Restore(t.Context(), run, host.Restore{To: engine.LabelStart, Dir: w.Dir})
			return err
		},
		"undo": func(h *host.Host) error {
			_, err := h.Restore(t.Context(), run, host.Restore{Undo: true})
			return err
		},
		"fork": func(h *host.Host) error {
			_, err := h.Fork(t.Context(), id, run.Head, "")
			return err
		},
		"tell": func(h *host.Host) error {
			_, err := h.Tell(t.Context(), id, host.Letter{Text: "Now say goodbye"})
			return err
		},
	}
	was := state()
	for _, away := range []*host.Host{h.At(w.Dir, filepath.Join(w.Dir, "second")), h.Below()} {
		for name, act := range acts {
			if err := act(away); err == nil || !strings.Contains(hint.Of(err), "plan -C '"+run.Start.Repo+"' ") {
				t.Errorf("%s: %v, %q", name, err, hint.Of(err))
			}
		}
	}
	if now := state(); now != was {
		t.Errorf("it was\n%s\nand is\n%s", was, now)
	}
	link := filepath.Join(w.Dir, "link")
	if err := os.Symlink(w.Repo, link); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"apply", "restore", "undo", "tell", "fork"} {
		at := []*host.Host{h.At(link), h.Below(w.Dir)}[i%2] // who has allowed all below a folder has allowed it
		if err := acts[name](at); err != nil {
			t.Errorf("%s where it belongs: %v", name, err)
		}
	}
}

// A run that was taken in is asked about before it goes on in a repository in which the person
// does not stand, also under the very settings that it had.
func TestAJournalNamesNoPlaceToGoOnIn(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h, id := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Ask first"})
	away := h.At(w.Dir)
	var untrusted *host.UntrustedRunError
	if _, err := away.Resume(t.Context(), id, host.Options{}, host.Face{}); !errors.As(err, &untrusted) {
		t.Errorf("it went on: %v", err)
	}
	asked, err := away.TrustOf(t.Context(), w.Dir, string(id))
	if err != nil {
		t.Fatal(err)
	}
	items, left, err := asked.Decide(t.Context(), func(trust.Item) bool { return true })
	if err != nil || len(items) != 1 || left != 0 {
		t.Fatalf("asked %+v, left %d, %v", items, left, err)
	}
	end, err := away.Resume(t.Context(), id, host.Options{}, host.Face{})
	if err != nil || end.Parked == nil {
		t.Fatalf("it came to %+v, %v", end, err)
	}
	if _, err := asked.Revoke(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := away.Resume(t.Context(), id, host.Options{}, host.Face{}); err != nil {
		t.Errorf("what has gone on here is asked about again: %v", err)
	}
}

// A run that was taken in and is cancelled has left nothing at the place that it names, and a
// collection leaves that as it is.
func TestCancellingTouchesNoPlaceOfAJournal(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h, id := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Ask first"})
	refs := func() string { return gittest.Git(t, w.Repo, "for-each-ref") }
	was, away := refs(), h.At(w.Dir)
	if _, err := away.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	run, err := h.Load(t.Context(), id)
	if err != nil || run.State != plan.Cancelled || refs() != was {
		t.Fatalf("%v, %v, refs\n%s\nof\n%s", run.State, err, refs(), was)
	}
	if _, err := away.Apply(t.Context(), run, host.Apply{Anyway: true}); err == nil {
		t.Error("its change was brought over to a place that it names")
	}
	gone, err := away.GC(t.Context(), host.GCPolicy{KeepAlone: true}, false, false, nil)
	if err != nil || len(gone.Removed) != 1 || refs() != was {
		t.Errorf("removed %+v, %v, refs\n%s\nof\n%s", gone.Removed, err, refs(), was)
	}
}

// Nothing that a journal from elsewhere tells of is published, also as the beginning of a
// thread that goes on here, and no branch is made for it.
func TestNothingOfAJournalIsPublished(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h, id := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	at := h.At(w.Repo)
	told, err := at.Tell(t.Context(), id, host.Letter{Text: "Make greet.sh say hello, and no more"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.Resume(t.Context(), told.Continuation, host.Options{}, host.Face{}); err != nil {
		t.Fatal(err)
	}
	was := gittest.Git(t, w.Repo, "for-each-ref", "refs/heads")
	for _, id := range []plan.RunID{id, told.Continuation} {
		run, err := at.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		how := batches.Publish{Command: "touch " + filepath.Join(w.Dir, "published")}
		if _, err := batches.New(at).PublishRun(t.Context(), run, how, true); err == nil ||
			!strings.Contains(err.Error(), "was begun elsewhere") {
			t.Errorf("run %s: %v", id, err)
		}
	}
	if now := gittest.Git(t, w.Repo, "for-each-ref", "refs/heads"); now != was {
		t.Errorf("the branches were\n%s\nand are\n%s", was, now)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "published")); err == nil {
		t.Error("the command was run")
	}
}

// A run that was taken in while it was in the middle of something ends by what closes that, and
// has gone on here no more than one that had come to a rest.
func TestCancellingWhatWasOpenTouchesNoPlaceOfAJournal(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h, like := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	id, file := h.NewRunID(), filepath.Join(w.Dir, "killed.jsonl")
	forge(t, w, id, killedIn(journalOf(t, h, like)), file)
	w.TakeIn(t, file)
	state := func() string { return gittest.Git(t, w.Repo, "for-each-ref") + gittest.Git(t, w.Repo, "status", "-s") }
	was, away := state(), h.At(w.Dir)
	if c, err := away.Cancel(t.Context(), id); err != nil || c.AlreadyFinal != "" {
		t.Fatal(c, err)
	}
	run, err := h.Load(t.Context(), id)
	if err != nil || run.State != plan.Cancelled {
		t.Fatal(run.State, err)
	}
	if _, err := away.Apply(t.Context(), run, host.Apply{Anyway: true}); err == nil {
		t.Error("its change was brought over to a place that it names")
	}
	if _, err := away.GC(t.Context(), host.GCPolicy{KeepAlone: true}, false, false, nil); err != nil || state() != was {
		t.Errorf("%v: it was\n%s\nand is\n%s", err, was, state())
	}
}

// A run that was taken in ends here, also where its journal says that a queue goes on with it.
func TestAJournalThatNamesAQueueIsCancelled(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t)
	h, like := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	id := h.NewRunID()
	takeInAs(t, w, like, id, func(start *plan.RunStart) { start.Mirrored = true })
	if _, err := h.At(w.Dir).Cancel(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// killedIn is a journal up to the middle of its Implement.
func killedIn(past []plan.Event) []plan.Event {
	at := slices.IndexFunc(past, func(ev plan.Event) bool {
		return ev.Type() == plan.TypeToolEnd && ev.Phase == plan.Implement
	})
	return past[:at]
}

// journalOf is what a home has of a run.
func journalOf(t *testing.T, h *host.Host, id plan.RunID) []plan.Event {
	t.Helper()
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	past, err := db.ReadAll(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return past
}

// note appends to the journal of a run.
func note(t *testing.T, h *host.Host, id plan.RunID, bodies ...plan.Body) {
	t.Helper()
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writer, err := db.Own(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bodies {
		if _, err := writer.Append(t.Context(), plan.Event{Run: id, Time: h.Now(), Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
}

// forge writes a run to a file that has these events, as a home of its own exports it.
func forge(t *testing.T, w *hosttest.World, id plan.RunID, events []plan.Event, file string) {
	t.Helper()
	other := w.Config
	other.Environ = append(slices.Clone(other.Environ), "PLAN_HOME="+filepath.Join(w.Dir, "forge-"+string(id)))
	h := host.New(other)
	defer h.Close()
	db, err := h.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writer, err := db.Own(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		ev.Run, ev.Seq = id, 0
		if _, err := writer.Append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ExportFile(t.Context(), id, file, false); err != nil {
		t.Fatal(err)
	}
}

// A decision about what an imported run waits with names what this program shows of it. What
// its journal says that a person is shown, and the digest that it says of that, decide nothing.
func TestAJournalShowsNothingThatIsDecided(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t, asksToClear)
	h, like := elsewhere(t, w, host.Request{Dir: w.Repo, Text: "Clear the junk"})
	id, digest := h.NewRunID(), ""
	past := journalOf(t, h, like)
	for i, ev := range past {
		switch b := ev.Body.(type) {
		case plan.ApprovalRequired:
			digest = b.Digest
			b.Shown, b.Effect = "$ ls", "$ ls"
			past[i].Body = b
		case plan.Parked:
			b.Waiting[0].Args, b.Waiting[0].Effect = []byte(`{"command":"ls"}`), "$ ls"
			past[i].Body = b
		}
	}
	file := filepath.Join(w.Dir, "shown.jsonl")
	forge(t, w, id, past, file)
	w.TakeIn(t, file)
	if _, err := h.Decide(t.Context(), id, host.Decision{Approve: true, Call: "call_implement_1_1_0_0", Digest: digest}); err == nil {
		t.Error("what its journal shows was decided")
	}
	shown := func(calls []plan.WaitingCall) plan.WaitingCall {
		t.Helper()
		if len(calls) != 1 || !strings.Contains(calls[0].Shown(), "rm -rf junk") || calls[0].Digest == digest {
			t.Fatalf("it waits with %+v", calls)
		}
		return calls[0]
	}
	waits, err := h.Waits(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	call := shown(waits)
	run, err := h.Standing(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown(run.Parked.Waiting)
	for ev, err := range h.Follow(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := ev.Body.(plan.Parked); ok {
			shown(b.Waiting)
			break
		}
	}
	decision := host.Decision{Approve: true, Call: call.Call, Digest: call.Digest}
	if _, err := h.Decide(t.Context(), id, decision); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Decide(t.Context(), id, decision); err == nil || !strings.Contains(err.Error(), "already approved by person") {
		t.Errorf("a second one: %v", err)
	}
	if err := os.Mkdir(filepath.Join(w.Repo, "junk"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := h.At(w.Repo)
	if _, err := at.Resume(t.Context(), id, host.Options{Settings: config.Config{}}, host.Face{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(w.Repo, "junk")); err == nil {
		t.Error("the yes does not count")
	}
}

// asksToClear is a model that asks to remove a folder.
const asksToClear = `
[[reply]]
phase = "implement"
about = "Clear the junk"
attempt = 1
turn = 0
  [[reply.call]]
  name = "bash"
  args = { command = "rm -rf junk" }
`
