package worktree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestParseNumstat(t *testing.T) {
	t.Parallel()
	got, err := parseNumstat("3\t1\ta\tb\x00-\t-\tbin\x000\t2\t\x00old\x00new\x00")
	if diff := cmp.Diff(plan.DiffStat{Files: 3, Insertions: 3, Deletions: 3}, got); err != nil || diff != "" {
		t.Errorf("error %v, stat (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"x", "1\t2", "1\tx\tf\x00", "-1\t0\tf", "-\t1\tf", "\t\t", "1\t1\t\x00old"} {
		if got, err := parseNumstat(bad); err == nil {
			t.Errorf("%q was taken for %v", bad, got)
		}
	}
}

func TestParseEntries(t *testing.T) {
	t.Parallel()
	got, err := parseEntries("H 100644 12 0\ta b\x00h 100755 12 0\tc\td\x00S 160000 12 0\tsub\x00? ? x\x00? nested/\x00")
	want := []entry{
		{path: "a b", tag: 'H'},
		{path: "c\td", tag: 'H', assumed: true},
		{path: "sub", tag: 'S', gitlink: true},
		{path: "? x", tag: '?'},
		{path: "nested/", tag: '?'},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); err != nil || diff != "" {
		t.Errorf("error %v, entries (-want +got):\n%s", err, diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("H 100644 12 0\ta b\x00? x\x00")
	f.Add("3\t1\ta\x000\t2\t\x00old\x00new\x00")
	f.Fuzz(func(t *testing.T, out string) {
		entries, err := parseEntries(out)
		for _, e := range entries {
			if err == nil && (e.path == "" || strings.Contains(e.path, "\x00")) {
				t.Errorf("entry without a path, or with two, in %q", out)
			}
		}
		if stat, err := parseNumstat(out); err == nil && stat.Files > strings.Count(out, "\x00")+1 {
			t.Errorf("%d files in %q", stat.Files, out)
		}
	})
}
