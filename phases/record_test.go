package phases_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

// TestWhatACallSaysOfTheLayer: each result has its id, and says which files of
// the work stood changed before or after it.
func TestWhatACallSaysOfTheLayer(t *testing.T) {
	t.Parallel()
	b := setup(t, run(1, 0)+command(1, "ls")+command(2, "cat < a.txt")+say(1, 3, claims), map[string]string{"a.txt": "alpha\n"})
	states := [][]string{{"x.go"}, nil, nil}
	room := b.cfg.Room
	b.cfg.Room = func(ctx context.Context, p plan.Phase, at plan.Trees) (phases.Room, error) {
		r, err := room(ctx, p, at)
		r.Changes = func(context.Context) (phases.Changes, error) {
			now := states[0]
			states = states[1:]
			return phases.Changes{Altered: now}, nil
		}
		return r, err
	}
	b.must(reviewBrief(false))
	var got [][]string
	for _, ev := range b.events() {
		if end, ok := ev.Body.(plan.ToolEnd); ok {
			got = append(got, append([]string{end.Output[strings.LastIndex(end.Output, "(call"):]}, end.Altered...))
		}
	}
	note := "\nNote: these files of the work stood changed in your copy during this call, so it says nothing about the work as it is: x.go"
	want := [][]string{{"(call b1)" + note, "x.go"}, {"(call b2)" + note, "x.go"}, {"(call b3)"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// command is a reply to the first prompt that runs a command.
func command(turn int, line string) string {
	return strings.Replace(run(1, turn), "cat a.txt", line, 1)
}

// TestTheReviewersFiles go with each line, into the journal, and to the next
// review; those that configure a build or a runner do not.
func TestTheReviewersFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, command(0, "cat /tmp/probe.sh; true")+say(1, 1, claims), map[string]string{"a.txt": "alpha\n"})
	files := map[string]string{
		"x_test.go":         "package x\n",
		"go.mod":            "module y\n",
		"/tmp/probe.sh":     "true\n",
		"/tmp/cache_0/1b/x": "what a runner keeps",
		"huge.bin":          strings.Repeat("x", 2<<20),
	}
	room := b.cfg.Room
	b.cfg.Room = func(ctx context.Context, p plan.Phase, at plan.Trees) (phases.Room, error) {
		r, err := room(ctx, p, at)
		r.Added = func(context.Context, func(string) bool) ([]plan.AddedFile, error) {
			var out []plan.AddedFile
			for path, text := range files {
				out = append(out, plan.AddedFile{Path: path, Size: int64(len(text)), Mode: 0o644})
			}
			return out, nil
		}
		r.Read = func(path string) ([]byte, fs.FileMode, error) { return []byte(files[path]), 0o644, nil }
		return r, err
	}
	var tried [][]string
	try := b.cfg.Try
	b.cfg.Try = func(ctx context.Context, tr plan.Trial) (plan.CheckResult, []plan.Blob, error) {
		var names []string
		for _, f := range tr.Added {
			names = append(names, f.Path)
		}
		tried = append(tried, names)
		return try(ctx, tr)
	}
	j := b.must(reviewBrief(false)).Judgement
	want := []string{"/tmp/probe.sh", "x_test.go"}
	for _, got := range tried {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("a line had these files (-want +got):\n%s", diff)
		}
	}
	var kept []string
	for i, f := range j.Added {
		kept = append(kept, f.Path)
		if string(j.Blobs[i].Data) != files[f.Path] || j.Blobs[i].Hash != f.Hash {
			t.Errorf("%s is kept as %q", f.Path, j.Blobs[i].Data)
		}
	}
	if diff := cmp.Diff(want, kept); diff != "" || len(tried) == 0 {
		t.Errorf("kept (-want +got):\n%s", diff)
	}

	next := reviewBrief(false)
	next.Attempt, next.Conv, next.Last = 2, "review-2", j
	again := setup(t, say(1, 0, claims), map[string]string{"a.txt": "alpha\n"})
	again.cfg.Blob = func(_ context.Context, hash string) ([]byte, error) {
		for _, blob := range j.Blobs {
			if blob.Hash == hash {
				return blob.Data, nil
			}
		}
		return nil, fs.ErrNotExist
	}
	again.must(next)
	prompt := again.requests()[0].users()[0]
	for _, words := range []string{"<last-review>", "`cat a.txt` ended with 0", "x_test.go:\n    package x", "/tmp/probe.sh:\n    true"} {
		if !strings.Contains(prompt, words) {
			t.Errorf("the next reviewer is not shown %q", words)
		}
	}
}
