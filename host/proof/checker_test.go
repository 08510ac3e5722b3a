package proof_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
)

func TestTheStartAndTheCounterTree(t *testing.T) {
	t.Parallel()
	const (
		clean = "git diff --exit-code && git status --porcelain | grep -v probe; "
		list  = clean + "./probe/p.sh; ls; git diff --name-only HEAD~"
		// hostile leaves nothing in place that the next trial on the tree may see.
		hostile = "echo x >calc; rm -r old; touch more; git add -A; " +
			"git -c user.name=a -c user.email=a@b commit -qm x; rm probe/p.sh; exit 3"
	)
	added := []plan.NewFile{{
		AddedFile: plan.AddedFile{Path: "probe/p.sh", Mode: 0o755},
		Data:      []byte("cat calc\n"),
	}}
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		c := wallstest.NewChange(t, wallstest.Committed(t), level)
		before := gittest.Digest(t, filepath.Join(c.Dir, ".git"))
		p := open(t, c, config.Config{})
		for _, test := range []struct {
			on, line, want string
			wrote          []string
		}{
			{
				on:   plan.TreeReviewed,
				line: list + " | wc -l",
				want: "one\n2\nMakefile\nbuild\ncalc\ncalc_test\nlink\nmore\nnew\nprobe\nsrc\n7\n",
			},
			{
				on:   plan.TreeCounter,
				line: list,
				want: "one\ntwo\nMakefile\nbuild\ncalc\ncalc_test\nmore\nold\nprobe\nsrc\ncalc_test\n",
			},
			{
				on:   plan.TreeStart,
				line: list,
				want: "one\ntwo\nMakefile\nbuild\ncalc\nmore\nold\nprobe\nsrc\n",
			},
			{
				on:    plan.TreeCounter,
				line:  hostile,
				wrote: []string{"calc", "more", "old/only"},
			},
			{
				on:   plan.TreeCounter,
				line: clean + "./probe/p.sh; git diff --name-only HEAD~",
				want: "one\ntwo\ncalc_test\n",
			},
		} {
			res, _, err := p.Checker.RunTrial(t.Context(), plan.Trial{
				Check: plan.Check{Command: test.line},
				Trees: c.Trees,
				On:    test.on,
				Added: added,
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, res.Output); diff != "" {
				t.Errorf("%s: %s (-want +got)\n%s", test.on, test.line, diff)
			}
			if diff := cmp.Diff(test.wrote, res.Wrote); diff != "" || res.Evidence != test.on || res.Added == "" {
				t.Errorf("%s: %+v (-want +got)\n%s", test.line, res, diff)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, gittest.Digest(t, filepath.Join(c.Dir, ".git"))); diff != "" {
			t.Errorf("the repository itself changed (-before +after)\n%s", diff)
		}
	})
}
