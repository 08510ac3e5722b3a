package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/internal/sampling"
)

// disk is a file system of its own that can lose its power. It leaves as much to
// memory as a file system may: contents are not written with names, nor names soon.
type disk struct {
	t     *testing.T
	image string
	dir   string // where it is mounted
	// copies are the images that it has had beside the first.
	copies int
}

const diskOptions = "loop,noauto_da_alloc,data=writeback,commit=300,errors=remount-ro"

// newDisk makes a disk. Where none can be made, it says why.
func newDisk(t *testing.T, image, dir string) (*disk, error) {
	d := &disk{t: t, image: image, dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 96<<20)); err != nil {
		return nil, err
	}
	if err := shell("mkfs.ext4", "-q", "-F", image); err != nil {
		return nil, err
	}
	return d, d.mount()
}

func shell(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

func (d *disk) mount() error { return shell("mount", "-o", diskOptions, d.image, d.dir) }

// settle writes all that is in memory.
func (d *disk) settle() {
	if err := shell("sync", "-f", d.dir); err != nil {
		d.t.Error(err)
	}
}

// next gives the image another name, for a copy, and returns that of the present one.
func (d *disk) next() (old string) {
	d.copies++
	old = d.image
	d.image = fmt.Sprintf("%s+%d", d.dir, d.copies)
	return old
}

// remove takes the disk away, also while a process still looks at it.
func (d *disk) remove() {
	if err := shell("umount", "-l", d.dir); err != nil {
		d.t.Error(err)
	}
	_ = os.Remove(d.image)
}

// cut takes the power away and gives it back: what was in memory alone is gone. The
// kernel stops the file system as if it had been unplugged, so that the image is one
// of one moment; a copy of it is mounted anew.
func (d *disk) cut() error {
	const withoutLog = 2 // EXT4_GOING_FLAGS_NOLOGFLUSH
	if err := shutdown(d.dir, withoutLog); err != nil {
		return err
	}
	old := d.next()
	if err := errors.Join(shell("umount", "-l", d.dir), shell("cp", "--sparse=always", old, d.image), os.Remove(old)); err != nil {
		return err
	}
	return d.mount()
}

// shutdown has the kernel stop a file system: from then on it answers EIO.
func shutdown(dir string, flags uint32) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	const request = 0x8004587d // EXT4_IOC_SHUTDOWN
	_, _, no := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&flags)))
	runtime.KeepAlive(&flags)
	if no != 0 {
		return errors.Join(no, f.Close())
	}
	return f.Close()
}

// powerCuts is where the power goes while plan works.
type powerCuts struct {
	*killRange
	n int
}

// on makes a place on a disk of its own, and gives it to do.
func (c *powerCuts) on(what string, do func(p place, d *disk)) {
	c.t.Helper()
	c.n++
	image := filepath.Join(c.dir, fmt.Sprintf("disk-%d", c.n))
	d, err := newDisk(c.t, image, image+".d")
	if err != nil {
		c.t.Error(err)
		return
	}
	defer d.remove()
	p := place{c.killRange, filepath.Join(d.dir, "place")}
	if err := os.CopyFS(p.repoDir(), os.DirFS(c.repo)); err != nil {
		c.t.Errorf("%s: %v", what, err)
		return
	}
	d.settle()
	do(p, d)
}

// harmless are lines of git fsck that name nothing that is lost. Right after a cut one
// more is: of a work tree that git was cut off at, which it gives a commit last. The next
// run of the repository takes that away.
var (
	harmless = lazy.Regexp(`(?m)^(dangling|notice:|Checking) .*\n`)
	halfTree = lazy.Regexp(`(?m)^error: worktrees/[^/]+/HEAD: detached HEAD points at nothing\n`)
)

// cutOff says what is damaged, right after a cut, of what plan says it has kept.
func (p place) cutOff() error { return p.damage(true) }

// whole says it once plan has gone on.
func (p place) whole() error { return p.damage(false) }

func (p place) damage(halfTrees bool) error {
	var errs []error
	run := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.repoDir(), p.env()
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	git := func(args ...string) string {
		out, err := run(args...)
		if err != nil {
			errs = append(errs, fmt.Errorf("git %v: %w\n%.400s", args, err, out))
		}
		return strings.TrimSpace(out)
	}
	if out, err := run("fsck", "--full"); err != nil {
		rest := harmless().ReplaceAllString(out, "")
		if halfTrees {
			rest = halfTree().ReplaceAllString(rest, "")
		}
		if rest != "" || !halfTrees {
			errs = append(errs, fmt.Errorf("git fsck: %w\n%.400s", err, out))
		}
	}
	runs := p.runs()
	for _, events := range runs {
		for _, ev := range events {
			if s, ok := ev.Body.(plan.Snapshot); ok {
				if tree := git("rev-parse", s.Ref+"^{tree}"); tree != s.Tree {
					errs = append(errs, fmt.Errorf("%s is %s, and the journal says %s", s.Ref, tree, s.Tree))
				}
			}
		}
	}
	if len(runs) > 0 {
		if code, said := p.start(0, 0, "doctor", "--db"); code != 0 {
			errs = append(errs, fmt.Errorf("doctor --db:\n%s", said))
		}
	}
	return errors.Join(errs...)
}

// cutRun cuts the power of a run at a failpoint, or after a time, and says what does
// not hold then.
func (c *powerCuts) cutRun(at int, after time.Duration) (err error) {
	what := fmt.Sprintf("cut at %d, after %s", at, after)
	c.on(what, func(p place, d *disk) {
		p.run(at, after)
		if err = d.cut(); err != nil {
			c.t.Errorf("%s: %v", what, err)
			return
		}
		if err = p.cutOff(); err != nil {
			return
		}
		code, said := p.goOn(0, 0)
		var got killed
		if got, err = p.outcome(code); err != nil {
			err = fmt.Errorf("%w\n%s", err, said)
			return
		}
		if got.side == 0 { // what a command did is its own to sync
			got.side = 1
		}
		if diff := c.same(got); diff != "" {
			err = fmt.Errorf("the run differs (-whole +cut):\n%s\n%s", diff, said)
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// TestPowerCut cuts the power while a run goes on over files that are not committed,
// at failpoints and at any time: what the journal says is kept is there, nothing of
// the user's is gone, and the run comes to the same end. A run that syncs nothing
// does not; that is played with all, since a kernel that is busy may write by itself
// what was not synced.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	try := t.TempDir()
	d, err := newDisk(t, filepath.Join(try, "disk"), filepath.Join(try, "d"))
	if err != nil {
		t.Logf("no disk can be made here, so no power is cut; that git is told to sync is tested in worktree/git: %v", err)
		return
	}
	d.remove()
	c := newPowerCuts(t)
	points := c.reference()
	random := sampling.New(t)
	at := upTo(len(points))
	if !sampling.All() {
		kept := slices.DeleteFunc(slices.Clone(at), func(n int) bool { return points[n-1] != "after a snapshot" })
		at = kept[:1]
	}
	for _, n := range at {
		if err := c.cutRun(n, 0); err != nil {
			t.Error(err)
		}
	}
	times := 0
	if sampling.All() {
		times = max(20, 100-len(at))
	}
	for range times {
		if err := c.cutRun(0, time.Duration(1+random.Int64N(int64(c.took)))); err != nil {
			t.Error(err)
		}
	}
	t.Logf("the power was cut %d times at %d failpoints, and %d times at any time", len(at), len(points), times)

	if !sampling.All() {
		return
	}
	c.unsynced(points)
}

// unsynced cuts runs that sync nothing, until one has lost something: the kernel may
// have written by itself, by its own clock, what this one or that one did not sync.
func (c *powerCuts) unsynced(points []string) {
	c.gitEnv = append(c.gitEnv, "PLAN_FAILPOINT_UNSYNCED=1")
	count := 0
	for n := slices.Index(points, "after a snapshot") + 1; n <= len(points); n += 3 {
		count++
		if err := c.cutRun(n, 0); err != nil {
			c.t.Logf("without syncs, the %d. cut loses: %v", count, err)
			return
		}
	}
	c.t.Errorf("runs that sync nothing lose nothing either in %d cuts: the test sees nothing", count)
}

func newPowerCuts(t *testing.T) *powerCuts {
	c := &powerCuts{killRange: newKillRange(t, "scenario.toml")}
	for i := range 10 {
		text := strings.Repeat(fmt.Sprintf("not committed %d\n", i), 500)
		if err := os.WriteFile(filepath.Join(c.repo, fmt.Sprintf("dirty-%d.txt", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestKilledMoves kills restore, and what undoes it, at every failpoint: each file is
// as before or as after then, and the next command brings the move to its end. Where
// a disk can be made, make soak cuts the power as well.
func TestKilledMoves(t *testing.T) {
	t.Parallel()
	c := newPowerCuts(t)
	p, err := c.newPlace("moves")
	if err != nil {
		t.Fatal(err)
	}
	random := sampling.New(t)
	killed := p.killMoves(random, func() {})
	t.Logf("killed %d times", killed)
	if killed < 4 {
		t.Error("a move comes by fewer failpoints than it has files")
	}
	if !sampling.All() {
		return
	}
	c.on("moves", func(p place, d *disk) {
		n := p.killMoves(random, func() {
			if err := errors.Join(d.cut(), p.whole()); err != nil {
				t.Error(err)
			}
		})
		t.Logf("cut %d times", n)
	})
}

// killMoves takes a run back and forth, killed at ever later failpoints, and counts
// how often.
func (p place) killMoves(random *rand.Rand, cut func()) (count int) {
	p.t.Helper()
	before := p.files()
	if code, said := p.run(0, 0); code != 0 {
		p.t.Fatalf("the run ends with %d:\n%s", code, said)
	}
	after := p.files()
	id := string(p.runs()[0][0].Run)
	for _, way := range []struct {
		args     []string
		from, to map[string]string
	}{
		{[]string{"restore", id, "--to", "start"}, after, before},
		{[]string{"restore", id, "--undo"}, before, after},
	} {
		step := 1
		if !sampling.All() {
			step = 5
		}
		for n := 1 + random.IntN(step); ; n += step {
			what := fmt.Sprintf("%v killed at %d", way.args, n)
			code, said := p.start(n, 0, way.args...)
			if code != -1 {
				if diff := gocmp.Diff(way.to, p.files()); code != 0 || diff != "" {
					p.t.Errorf("%s: %d (-want +got)\n%s\n%s", what, code, diff, said)
				}
				break
			}
			count++
			cut()
			for name, text := range p.files() {
				if text != way.from[name] && text != way.to[name] {
					p.t.Errorf("%s: %s is neither before nor after: %.80q", what, name, text)
				}
			}
			// The same again, or what finds that it was finished; then the way back. An
			// undo that is killed once it is forgotten is over.
			over := gocmp.Equal(way.to, p.files())
			code, said = p.start(0, 0, way.args...)
			over = over && code == 1 && strings.Contains(said, "is left to undo")
			if diff := gocmp.Diff(way.to, p.files()); code != 0 && !over || diff != "" {
				p.t.Errorf("%s, once more: %d (-want +got)\n%s\n%s", what, code, diff, said)
				return count
			}
			back := []string{"restore", id, "--undo"}
			if slices.Contains(way.args, "--undo") {
				back = []string{"restore", id, "--to", "start"}
			}
			code, said = p.start(0, 0, back...)
			if diff := gocmp.Diff(way.from, p.files()); code != 0 || diff != "" {
				p.t.Errorf("%s, and back: %d (-want +got)\n%s\n%s", what, code, diff, said)
				return count
			}
		}
	}
	return count
}

// files are those of the repository, with their modes.
func (p place) files() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(p.repoDir(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || strings.HasPrefix(d.Name(), ".plan-move-")):
			return fs.SkipDir
		case d.IsDir(), d.Name() == "side.log": // git ignores it
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, p.repoDir())] = info.Mode().String() + " " + string(data)
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	return out
}
