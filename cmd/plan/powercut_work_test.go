package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/internal/sampling"
)

// swap puts a copy of an image in place of the one that is mounted. The copy has a name
// of its own: what was mounted may still write to the old one.
func (d *disk) swap(from string) error {
	old := d.next()
	return errors.Join(
		shell("umount", "-l", d.dir),
		shell("cp", "--sparse=always", from, d.image),
		os.Remove(old),
		d.mount(),
	)
}

// powerWork is a command that is cut, and how it is known what came of it.
type powerWork struct {
	name   string
	before [][]string // commands that end before it begins
	args   []string
	again  [][]string // what ends it after a cut: the first that ends well
	codes  []int      // with which these may end
	state  []string   // a command that tells what it has come to
	loses  bool       // without syncs something is lost
}

func powerWorks(id, jobs string) []powerWork {
	apply, undo := []string{"apply", id}, []string{"restore", id, "--undo"}
	prune, gc := []string{"worktree", "prune"}, []string{"gc", "--older-than", "1ms"}
	batch := []string{"batch", "run", jobs, "--concurrency", "2"}
	return []powerWork{
		{
			name:  "apply",
			args:  apply,
			again: [][]string{apply},
			codes: []int{0},
			loses: true,
		},
		{
			name:   "restore",
			before: [][]string{apply},
			args:   undo,
			again:  [][]string{undo},
			codes:  []int{0},
			loses:  true,
		},
		{
			name:   "gc",
			before: [][]string{apply, prune},
			args:   gc,
			again:  [][]string{gc},
			codes:  []int{0, 2},
			state:  []string{"list", "--json"},
		},
		{
			name:  "batch",
			args:  batch,
			again: [][]string{{"batch", "resume", "--concurrency", "2"}, batch},
			codes: []int{0},
			state: []string{"batch", "report", "--format", "json"},
		},
	}
}

// end is what a command has come to: the files, and what its state's command says
// without what differs from one time to the next.
func (w powerWork) end(p place) (map[string]string, string) {
	if len(w.state) == 0 {
		return p.files(), ""
	}
	_, said := p.start(0, 0, w.state...)
	if w.name == "batch" {
		said = fmt.Sprintf("%d approved", strings.Count(said, "approved"))
	}
	return p.files(), said
}

// cutWork is one place that a command's power is cut in, again and again from the
// same beginning.
type cutWork struct {
	powerWork
	place
	disk *disk
	seed string // the image that it begins with

	from, to map[string]string
	said     string // what state's command says in the end
	points   int
	took     time.Duration
}

// begin plays the command once without a cut.
func (w *cutWork) begin(base string) {
	t := w.t
	if err := w.disk.swap(base); err != nil {
		t.Fatal(err)
	}
	for _, args := range w.before {
		if code, said := w.start(0, 0, args...); code != 0 {
			t.Fatalf("%v ends with %d:\n%s", args, code, said)
		}
	}
	w.disk.settle()
	w.seed = base + "-" + w.name
	if err := shell("cp", "--sparse=always", w.disk.image, w.seed); err != nil {
		t.Fatal(err)
	}
	var before string
	w.from, before = w.end(w.place)
	processes := len(w.pointsOfEach())
	began := time.Now()
	code, said := w.start(0, 0, w.args...)
	w.took = time.Since(began)
	if code != 0 {
		t.Fatalf("%v ends with %d:\n%s", w.args, code, said)
	}
	w.points = len(slices.Concat(w.pointsOfEach()[processes:]...))
	w.to, w.said = w.end(w.place)
	if before == w.said && gocmp.Equal(w.from, w.to) {
		t.Fatalf("%v changes nothing:\n%s", w.args, said)
	}
}

// cutAt cuts the power when the command dies at a failpoint, or after a time, or once it
// has ended, and says what does not hold then.
func (w *cutWork) cutAt(at int, after time.Duration) error {
	if err := w.disk.swap(w.seed); err != nil {
		w.t.Fatal(err)
	}
	code, _ := w.start(at, after, w.args...)
	if err := w.disk.cut(); err != nil {
		w.t.Fatal(err)
	}
	errs := []error{w.cutOff()}
	files, state := w.end(w.place)
	for name, text := range files {
		if text != w.from[name] && text != w.to[name] {
			errs = append(errs, fmt.Errorf("%s is neither before nor after: %.60q", name, text))
		}
	}
	if diff := gocmp.Diff(w.to, files) + gocmp.Diff(w.said, state); code == 0 && diff != "" {
		errs = append(errs, fmt.Errorf("it had ended, and what it left is not there (-left +there):\n%s", diff))
	}
	ended, said := false, ""
	for _, args := range w.again {
		code, said = w.start(0, 0, args...)
		if ended = slices.Contains(w.codes, code); ended {
			break
		}
	}
	if !ended {
		errs = append(errs, fmt.Errorf("once more it ends with %d:\n%s", code, said))
	}
	files, state = w.end(w.place)
	if diff := gocmp.Diff(w.to, files) + gocmp.Diff(w.said, state); diff != "" {
		errs = append(errs, fmt.Errorf("once more it comes to something else (-whole +cut):\n%s\n%s", diff, said))
	}
	if err := errors.Join(append(errs, w.whole())...); err != nil {
		return fmt.Errorf("%s cut at failpoint %d of %d, after %s: %w", w.name, at, w.points, after, err)
	}
	return nil
}

// mostPoints are the failpoints at which a command's power is cut: a batch has hundreds.
const mostPoints = 12

// cuts cuts a command's power at failpoints and n times, and once after its end.
// It counts the cuts, and those after which something did not hold.
func (w *cutWork) cuts(n int, random *rand.Rand) (count int, bad []error) {
	add := func(err error) {
		count++
		if err != nil {
			bad = append(bad, err)
		}
	}
	for _, at := range random.Perm(w.points)[:min(mostPoints, w.points)] {
		add(w.cutAt(1+at, 0))
	}
	for range n {
		add(w.cutAt(0, time.Duration(1+random.Int64N(int64(w.took)))))
	}
	add(w.cutAt(0, 0))
	return count, bad
}

// cutWorks cuts the power of apply, restore, gc and a batch. A sample is one of them
// that has just ended, which must have kept what it said.
func (c *powerCuts) cutWorks(random *rand.Rand) {
	t := c.t
	c.on("works", func(p place, d *disk) {
		jobs := filepath.Join(p.dir, "jobs.jsonl")
		var list strings.Builder
		for i := range 2 {
			const job = `{"id":"job-%d","repo":%q,"request":"Count in digits","checks":["sh check.sh"]}` + "\n"
			fmt.Fprintf(&list, job, i, p.repoDir())
		}
		if err := os.WriteFile(jobs, []byte(list.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, said := p.start(0, 0, "run", "--worktree", "--check", "sh check.sh", "Count in digits"); code != 0 {
			t.Fatalf("the run ends with %d:\n%s", code, said)
		}
		id := string(p.runs()[0][0].Run)
		d.settle()
		base := filepath.Join(c.dir, "base")
		if err := shell("cp", "--sparse=always", d.image, base); err != nil {
			t.Fatal(err)
		}
		for _, work := range sampling.Pick(random, 1, powerWorks(id, jobs)) {
			w := &cutWork{
				powerWork: work,
				place:     p,
				disk:      d,
			}
			w.begin(base)
			if !sampling.All() {
				if err := w.cutAt(0, 0); err != nil {
					t.Error(err)
				}
				continue
			}
			const each = 6
			count, bad := w.cuts(each, random)
			t.Logf("%s: the power was cut %d times, something did not hold %d times", w.name, count, len(bad))
			for _, err := range bad {
				t.Error(err)
			}
			if w.loses {
				w.unsynced(random)
			}
		}
	})
}

// unsynced does the same without syncs.
func (w *cutWork) unsynced(random *rand.Rand) {
	synced := w.gitEnv
	w.gitEnv = append(slices.Clone(synced), "PLAN_FAILPOINT_UNSYNCED=1")
	defer func() { w.gitEnv = synced }()
	count, bad := w.cuts(2, random)
	w.t.Logf("%s without syncs: the power was cut %d times, something did not hold %d times", w.name, count, len(bad))
	if len(bad) > 0 {
		w.t.Logf("the first: %.600s", bad[0].Error())
	} else {
		w.t.Errorf("%s without syncs loses nothing either: the test sees nothing", w.name)
	}
}

// TestPowerCutOfWorks cuts the power of commands that change what is there: what the
// journal says is kept is there, the user's files are as before or as after, what
// had ended is on the disk, and the same command once more brings it to the same end.
func TestPowerCutOfWorks(t *testing.T) {
	t.Parallel()
	try := t.TempDir()
	d, err := newDisk(t, filepath.Join(try, "disk"), filepath.Join(try, "d"))
	if err != nil {
		t.Logf("no disk can be made here, so no power is cut: %v", err)
		return
	}
	d.remove()
	newPowerCuts(t).cutWorks(sampling.New(t))
}
