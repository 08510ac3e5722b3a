package phases_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

// seesNewFiles has rooms tell what their commands have made.
func (b *bench) seesNewFiles() {
	room := b.cfg.Room
	b.cfg.Room = func(ctx context.Context, p plan.Phase, at plan.Trees) (phases.Room, error) {
		r, err := room(ctx, p, at)
		r.Changes = func(context.Context) (phases.Changes, error) { return phases.Changes{}, nil }
		r.Added = func(context.Context, func(string) bool) ([]plan.AddedFile, error) {
			var out []plan.AddedFile
			err := fs.WalkDir(os.DirFS(r.Dir), ".", func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				if _, err := os.Lstat(filepath.Join(b.root, path)); err == nil {
					return nil
				}
				info, err := d.Info()
				out = append(out, plan.AddedFile{
					Path: path,
					Mode: uint32(info.Mode().Perm()),
					Size: info.Size(),
				})
				return err
			})
			return out, err
		}
		r.Read = func(path string) ([]byte, fs.FileMode, error) {
			data, err := os.ReadFile(filepath.Join(r.Dir, path))
			return data, 0o644, err
		}
		return r, err
	}
}

// TestWhatAReviewMadeOutlivesItsProcess: a verdict rests on files that the reviewer made,
// and the process dies while its lines are weighed. The next one has them again, as they
// stood last, and none that was removed or holds a secret.
func TestWhatAReviewMadeOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	lines := []string{
		"mkdir -p 'new dir' && echo one > 'new dir/-probe.sh' && echo gone > gone.txt && echo hunter2 > secret.txt",
		"echo two > 'new dir/-probe.sh' && chmod 755 'new dir/-probe.sh' && rm gone.txt",
	}
	scenario := ""
	for i, line := range lines {
		scenario += command(i, line)
	}
	b := setup(t, scenario+say(1, len(lines), claims), map[string]string{"a.txt": "alpha\n"})
	b.seesNewFiles()
	b.cfg.RedactRead = func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") }
	contents := map[string][]byte{}
	for _, text := range []string{"one\n", "two\n", "gone\n"} {
		contents[plan.NewBlob([]byte(text)).Hash] = []byte(text)
	}
	b.cfg.Blob = func(_ context.Context, hash string) ([]byte, error) { return contents[hash], nil }

	ctx, die := context.WithCancel(t.Context())
	try := b.cfg.Try
	b.cfg.Try = func(ctx context.Context, _ plan.Trial) (plan.CheckResult, []plan.Blob, error) {
		die()
		return plan.CheckResult{}, nil, context.Cause(ctx)
	}
	if _, err := b.runWith(ctx, reviewBrief(false)); err == nil {
		t.Fatal("the process did not die")
	}
	var added []plan.NewFile
	b.cfg.Try = func(ctx context.Context, trial plan.Trial) (plan.CheckResult, []plan.Blob, error) {
		added = trial.Added
		return try(ctx, trial)
	}
	if j := b.must(reviewBrief(false)).Judgement; !j.Approved || len(j.Added) != 1 {
		t.Errorf("judged %+v", j)
	}
	want := []plan.NewFile{{
		AddedFile: plan.AddedFile{
			Path: "new dir/-probe.sh",
			Mode: 0o755,
			Size: 4,
		},
		Data: []byte("two\n"),
	}}
	if diff := cmp.Diff(want, added); diff != "" {
		t.Errorf("the next process has (-want +got):\n%s", diff)
	}
	for _, ev := range b.events() {
		end, _ := ev.Body.(plan.ToolEnd)
		for _, f := range end.Made {
			if f.Path == "secret.txt" {
				t.Error("a file with a secret is in the journal")
			}
		}
	}
}

// TestAReviewIsToldWhatItsCopyLost: what stood changed in the copy of a process that died
// stands as in the work again, which the reviewer cannot know.
func TestAReviewIsToldWhatItsCopyLost(t *testing.T) {
	t.Parallel()
	for _, altered := range [][]string{{"a.txt"}, nil} {
		b := setup(t, command(0, "cat a.txt; true")+command(1, "true")+say(1, 2, claims), map[string]string{"a.txt": "alpha\n"})
		room := b.cfg.Room
		b.cfg.Room = func(ctx context.Context, p plan.Phase, at plan.Trees) (phases.Room, error) {
			r, err := room(ctx, p, at)
			r.Changes = func(context.Context) (phases.Changes, error) { return phases.Changes{Altered: altered}, nil }
			return r, err
		}
		b.must(reviewBrief(false))
		for i, commit := range b.commits {
			if _, ok := commit[0].Body.(plan.ToolEnd); ok {
				b.commits = b.commits[:i+1]
				break
			}
		}
		before := len(b.requests())
		b.must(reviewBrief(false))
		said := string(b.requests()[before+1].body)
		if told := strings.Contains(said, "stand as in the work now: a.txt"); told != (altered != nil) {
			t.Errorf("altered %v, and the reviewer is told: %v", altered, told)
		}
	}
}
