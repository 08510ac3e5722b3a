package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// story is a run with what a run has: blobs, parks, usage, odd characters.
func story(t testing.TB, db *memory.DB, run plan.RunID, ended bool) {
	t.Helper()
	kit, output := plan.NewBlob([]byte(`{"prompt":"the key is hunter2hunter2"}`)), plan.NewBlob([]byte("raw \xff hunter2hunter2"))
	begin := event(run, plan.RunStart{Request: "say «hunter2hunter2» <b> \u2028", Repo: "/src/app", Config: []byte(`{"a": [1, 2.50]}`), Kit: kit.Hash})
	begin.Blobs = []plan.Blob{kit}
	cut := event(run, plan.ToolEnd{Call: "c", Name: "bash", Output: "hunter2hunter2\n", Blob: output.Hash})
	cut.Blobs = []plan.Blob{output}
	w := own(t, db, run)
	appendAll(t, w, begin, event(run, plan.StateChange{From: plan.Unstarted, To: plan.Exploring}), cut,
		event(run, plan.UsageReport{Usage: plan.Usage{Input: 7}, CostUSD: 0.25, Priced: true}),
		event(run, plan.Unknown{Kind: "weather", Raw: []byte(`{"sun":true}`)}),
		event(run, plan.Parked{Reason: plan.ParkRateLimit, WakeAt: &start}))
	if ended {
		appendAll(t, w, event(run, plan.Unparked{}), runEnd(run))
	}
	must(t, w.Close())
}

func hide(s string) string { return strings.ReplaceAll(s, "hunter2hunter2", "«secret»") }

func exported(t testing.TB, db *memory.DB, run plan.RunID, redact func(string) string) ([]byte, memory.Transfer) {
	t.Helper()
	var file bytes.Buffer
	p, err := db.Export(context.Background(), run, &file, redact)
	must(t, err)
	return file.Bytes(), p
}

func TestExportComesBackTheSame(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	from, to := open(t, t.TempDir()), open(t, t.TempDir())
	for _, ended := range []bool{true, false} {
		run := plan.RunID(map[bool]string{true: "ENDED", false: "PARKED"}[ended])
		story(t, from, run, ended)
		file, sent := exported(t, from, run, nil)
		got, err := to.Import(ctx, bytes.NewReader(file))
		if err != nil || got != sent || got.Existed || sent.Replaced != 0 {
			t.Fatalf("imported %+v, %v, want %+v", got, err, sent)
		}
		if diff := differ(lines(t, from, run), lines(t, to, run)); diff != "" {
			t.Error(diff)
		}
		want, err := from.Run(ctx, run)
		must(t, err)
		if info, err := to.Run(ctx, run); err != nil || !cmp.Equal(want, info) {
			t.Errorf("the row differs: %v\n%s", err, cmp.Diff(want, info))
		}
		if again, err := to.Import(ctx, bytes.NewReader(file)); err != nil || !again.Existed {
			t.Errorf("the second import: %+v, %v", again, err)
		}
		if !ended { // and it can be gone on with
			appendAll(t, own(t, to, run), report(run, "on"))
			if _, err := to.Import(ctx, bytes.NewReader(file)); !errors.Is(err, memory.ErrOtherJournal) {
				t.Errorf("got %v, want ErrOther", err)
			}
		}
	}
	audit, err := to.Audit(ctx, nil)
	must(t, err)
	if len(audit.Faults) > 0 || audit.Blobs != 2 {
		t.Errorf("%+v", audit)
	}
}

func TestExportLeavesNoSecrets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	from := open(t, t.TempDir())
	story(t, from, "R1", true)
	file, sent := exported(t, from, "R1", hide)
	if sent.Replaced != 4 {
		t.Errorf("%d texts were changed, want 4", sent.Replaced)
	}
	dir := t.TempDir()
	to, err := memory.Open(ctx, config(dir))
	must(t, err)
	_, err = to.Import(ctx, bytes.NewReader(file))
	must(t, err)
	if audit, err := to.Audit(ctx, nil); err != nil || len(audit.Faults) > 0 {
		t.Errorf("%v, %v", audit.Faults, err)
	}
	var kit string
	for e, err := range to.Events(ctx, "R1", memory.Query{}) {
		must(t, err)
		switch b := e.Body.(type) {
		case plan.RunStart:
			kit = b.Kit
		case plan.ToolEnd:
			if data, err := to.Blob(ctx, b.Blob); err != nil || string(data) != "raw \xff «secret»" {
				t.Errorf("the output is %q, %v", data, err)
			}
		}
	}
	if data, err := to.Blob(ctx, kit); err != nil || string(data) != `{"prompt":"the key is «secret»"}` {
		t.Errorf("the kit is %q, %v", data, err)
	}
	must(t, to.Close())
	stored, err := os.ReadFile(filepath.Join(dir, "plan.db"))
	must(t, err)
	for name, data := range map[string][]byte{"file": file, "database": stored} {
		if bytes.Contains(data, []byte("hunter2hunter2")) {
			t.Errorf("the %s has the secret", name)
		}
	}
	if _, err := from.Import(ctx, bytes.NewReader(file)); !errors.Is(err, memory.ErrOtherJournal) {
		t.Errorf("where the run came from: %v, want ErrOther", err)
	}
}

// Whatever becomes of a file on its way, it is imported whole or not at all.
func TestImportRefusesWhatWasChanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	from, to := open(t, t.TempDir()), open(t, t.TempDir())
	story(t, from, "R1", true)
	file, _ := exported(t, from, "R1", nil)
	parts := strings.SplitAfter(string(file), "\n")
	parts = parts[:len(parts)-1]
	drop := func(i int) string { return strings.Join(append(append([]string{}, parts[:i]...), parts[i+1:]...), "") }
	for name, c := range map[string]struct{ file, want string }{
		"empty":        {"", "empty"},
		"another file": {"{\"a\":1}\n", "not a run that"},
		"a newer one":  {strings.Replace(string(file), `"plan_export":1`, `"plan_export":9`, 1), "install a newer plan"},
		"no end":       {drop(len(parts) - 1), "its end is missing"},
		"cut":          {string(file[:len(file)*2/3]), "line"},
		"no blob":      {drop(1), "not those that were exported"},
		"no event":     {drop(4), "event 3 stands where event 2 should"},
		"other text":   {strings.Replace(string(file), "exploring", "exploding", 1), "not those that were exported"},
		"other blob":   {strings.Replace(string(file), `"data":"`, `"data":"AAAA`, 1), "has changed"},
		"other run":    {strings.Replace(string(file), `"run":"R1","seq":3`, `"run":"R2","seq":3`, 1), "belongs to run"},
		"two files":    {string(file) + string(file), "something follows the end"},
		"a stray line": {strings.Replace(string(file), parts[2], parts[2]+"{}\n", 1), "neither a blob nor an event"},
		"half-baked":   {strings.Replace(string(file), `"outcome":"approved"`, `"outcome":"planning"`, 1), "not final"},
		"a bad run id": {strings.ReplaceAll(string(file), `"run":"R1"`, `"run":"../R1"`), "not those that"},
	} {
		if _, err := to.Import(ctx, strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if runs, err := to.Runs(ctx, memory.Filter{}); err != nil || len(runs) > 0 {
		t.Errorf("something was imported: %v, %v", runs, err)
	}
	if n, err := to.Count(ctx, "SELECT count(*) FROM blobs"); err != nil || n > 0 {
		t.Errorf("%d blobs are left, %v", n, err)
	}
}

// Cleaning changes what strings mean, and nothing else of a JSON text.
func TestCleaningKeepsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var value func(depth int) any
		word := rapid.SampledFrom([]string{"", "x", "hunter2hunter2", "a \"hunter2hunter2\\\" b", "«é»\u2028\n", "<&>", "\\"})
		value = func(depth int) any {
			switch kind := rapid.IntRange(0, 5).Draw(rt, "kind"); {
			case kind == 0 && depth < 3:
				out := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(rt, "n") {
					out[word.Draw(rt, "key")] = value(depth + 1)
				}
				return out
			case kind == 1 && depth < 3:
				out := []any{}
				for range rapid.IntRange(0, 3).Draw(rt, "n") {
					out = append(out, value(depth+1))
				}
				return out
			case kind == 2:
				return rapid.Float64Range(-1e9, 1e9).Draw(rt, "number")
			case kind == 3:
				return nil
			}
			return word.Draw(rt, "word")
		}
		v := value(0)
		text, err := json.Marshal(v)
		must(t, err)
		if got := memory.CleanJSON(text, func(s string) string { return s }); !bytes.Equal(got, text) {
			rt.Fatalf("nothing to do changed %s to %s", text, got)
		}
		var got any
		if err := json.Unmarshal(memory.CleanJSON(text, hide), &got); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(hidden(v), got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func hidden(v any) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, hidden(e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[hide(k)] = hidden(e)
		}
		return out
	}
	return v
}

// TestAnImportedRunIsKnown says of an imported run that it is from elsewhere, up to
// which event, and of one that was begun here that it is not.
func TestAnImportedRunIsKnown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	from, to := open(t, t.TempDir()), open(t, t.TempDir())
	story(t, from, "R1", false)
	file, _ := exported(t, from, "R1", nil)
	expect := func(when string, db *memory.DB, run plan.RunID, want int64) {
		t.Helper()
		if got, err := db.Imported(ctx, run); err != nil || got != want {
			t.Errorf("%s: up to %d, %v; want %d", when, got, err, want)
		}
	}
	for range 2 { // the second finds it there already
		_, err := to.Import(ctx, bytes.NewReader(file))
		must(t, err)
	}
	_, err := from.Import(ctx, bytes.NewReader(file)) // where it was begun
	must(t, err)
	expect("begun here", from, "R1", 0)
	expect("imported", to, "R1", 6)
	w := own(t, to, "R1")
	appendAll(t, w, report("R1", "on"))
	letters, err := w.Letters(ctx)
	must(t, err)
	must(t, w.Close())
	expect("gone on", to, "R1", 6)
	if waiting, err := to.RunsWithLetters(ctx); err != nil || len(waiting)+len(letters) != 0 {
		t.Errorf("an owner reads it: %v, %v, %v", waiting, letters, err)
	}
	fork := own(t, to, "R2")
	begun := event("R2", plan.RunStart{Request: "on"})
	if _, err := fork.AppendImported(ctx, 1, begun, plan.Event{Run: "R2"}); err == nil {
		t.Error("an event without a body was appended")
	}
	must(t, fork.Close())
	expect("of what was not appended", to, "R2", 0)
	fork = own(t, to, "R2")
	_, err = fork.AppendImported(ctx, 1, begun)
	must(t, err)
	must(t, fork.Close())
	expect("begins as an imported one", to, "R2", 1)
	expect("of no such run", to, "R3", 0)
}

// TestImportRefusesOptionsForGit: what git is called with is the id of a tree or a commit.
func TestImportRefusesOptionsForGit(t *testing.T) {
	t.Parallel()
	from, to := open(t, t.TempDir()), open(t, t.TempDir())
	const id = "64a24ca18255495d8fe2c76a40be870d7b981044"
	good := plan.RunStart{Request: "a", Repo: "/src/app", Config: []byte(`{}`), Base: id, Snapshot: id}
	for i, c := range []struct {
		change func(*plan.RunStart)
		next   plan.Body
		want   string
	}{
		{func(b *plan.RunStart) { b.Repo = "." }, plan.Unparked{}, `repo of event 1 (run_start) is "."`},
		{func(b *plan.RunStart) { b.Base = "-bevil" }, plan.Unparked{}, `base of event 1 (run_start) is "-bevil"`},
		{func(b *plan.RunStart) { b.Snapshot = "--index-output=x" }, plan.Unparked{}, "snapshot of event 1"},
		{func(b *plan.RunStart) { b.Against = &plan.Against{Tree: "HEAD@{1}"} }, plan.Unparked{}, "against.tree of event 1"},
		{func(*plan.RunStart) {}, plan.Snapshot{Label: "start", Tree: "--output=x"}, "tree of event 2 (snapshot)"},
		{func(*plan.RunStart) {}, plan.PlanMade{PlanDoc: plan.PlanDoc{Base: "-x"}}, "base of event 2 (plan)"},
		{func(*plan.RunStart) {}, plan.Drift{Origin: "--output=x"}, "origin of event 2 (drift)"},
		{func(*plan.RunStart) {}, plan.Drift{From: id, Tree: "HEAD"}, "tree of event 2 (drift)"},
		{func(*plan.RunStart) {}, plan.Snapshot{Label: "start", Tree: id}, ""},
	} {
		run, begin := plan.RunID("R"+string(rune('1'+i))), good
		c.change(&begin)
		w := own(t, from, run)
		appendAll(t, w, event(run, begin), event(run, c.next))
		must(t, w.Close())
		file, _ := exported(t, from, run, nil)
		_, err := to.Import(t.Context(), bytes.NewReader(file))
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", run, err, c.want)
		}
	}
}
