package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan/internal/sampling"
)

// killers is how many runs are killed at the same time.
const killers = 2

// finish brings a place's run to its end and compares it.
func (p place) finish(tally *killTally, what string) {
	anew := len(p.runs()) == 0
	code, said := p.goOn(0, 0)
	got, err := p.outcome(code)
	tally.Lock()
	defer tally.Unlock()
	if anew {
		tally.anew++
	}
	if code != -1 && err == nil {
		tally.resumed++
	}
	if err != nil {
		p.t.Errorf("%s: %v\n%s", what, err, said)
		return
	}
	if diff := p.same(got); diff != "" {
		p.t.Errorf("%s (%s): the run differs (-whole +killed):\n%s\n%s", what, p.dir, diff, said)
		return
	}
	tally.identical++
	p.forget()
}

// reference runs the scenario without a kill, and returns the failpoints that
// it comes by.
func (r *killRange) reference() []string {
	r.t.Helper()
	p, err := r.newPlace("whole")
	if err != nil {
		r.t.Fatal(err)
	}
	began := time.Now()
	code, said := p.run(0, 0)
	r.took = time.Since(began)
	if r.want, err = p.outcome(code); err != nil {
		r.t.Fatalf("%v\n%s", err, said)
	}
	if code != 0 || r.want.side != 1 || r.want.lost {
		r.t.Fatalf("the whole run ends with %d, %d side effects:\n%s", code, r.want.side, said)
	}
	return slices.Concat(p.pointsOfEach()...)
}

// TestKillMatrix kills a run before and after every append and every effect,
// each time in a place of its own, and resumes it. It must come to the same
// end: tree, diff, snapshots, exit code and journal. A second matrix kills the
// resume as well. The sample has six kinds of failpoints.
func TestKillMatrix(t *testing.T) {
	t.Parallel()
	r := newKillRange(t, "scenario.toml")
	points := r.reference()
	random := sampling.New(t)
	kills := upTo(len(points) + spread)
	if !sampling.All() {
		kind := func(at int) string { return points[at-1] }
		kills = sampling.Pick(random, 6, sampling.PickEach(random, 1, upTo(len(points)), kind))
	}
	var tally killTally
	each(kills, func(at int) { r.killAt(at, len(points), &tally) })
	t.Logf("a whole run comes by %d failpoints in %s", len(points), r.took)
	t.Logf("killed %d, resumed %d (%d of them had not begun, and were started), identical %d",
		tally.killed, tally.resumed, tally.anew, tally.identical)
	if tally.killed+tally.early != len(kills) || tally.killed != tally.resumed || tally.killed != tally.identical {
		t.Errorf("killed %d of %d, resumed %d, identical %d", tally.killed, len(kills), tally.resumed, tally.identical)
	}
	r.killResumes(random, len(points))
}

// each calls a function for each item, for as many at the same time as there are
// killers.
func each[T any](items []T, call func(T)) {
	next := make(chan T)
	var workers sync.WaitGroup
	for range killers {
		workers.Go(func() {
			for item := range next {
				call(item)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	workers.Wait()
}

// killAt kills a run at a failpoint, and resumes it.
func (r *killRange) killAt(at, points int, tally *killTally) {
	p, err := r.newPlace(fmt.Sprintf("at-%d", at))
	if err != nil {
		r.t.Error(err)
		return
	}
	if code, said := p.run(at, 0); code != -1 {
		if code != 0 {
			r.t.Errorf("killed at %d: ended with %d\n%s", at, code, said)
		}
		tally.ended(r.t, at, points)
		p.forget()
		return
	}
	tally.Lock()
	tally.killed++
	tally.Unlock()
	p.finish(tally, fmt.Sprintf("killed at %d, %s", at, p.pointsOfEach()[0][at-1]))
}

// killResumes kills runs at random failpoints, and what resumes them as well.
func (r *killRange) killResumes(random *rand.Rand, points int) {
	samples := 2
	if sampling.All() {
		samples = 40
	}
	type kill struct{ at, then, last int }
	var kills []kill
	for range samples {
		at := 4 + random.IntN(points-8)
		kills = append(kills, kill{at, 1 + random.IntN(points-at), 1 + random.IntN(8)})
	}
	var tally killTally
	each(kills, func(k kill) {
		p, err := r.newPlace(fmt.Sprintf("resume-%d-%d-%d", k.at, k.then, k.last))
		if err != nil {
			r.t.Error(err)
			return
		}
		for _, at := range []int{k.at, k.then, k.last} {
			if code, _ := p.goOn(at, 0); code != -1 {
				break
			}
			tally.Lock()
			tally.killed++
			tally.Unlock()
		}
		p.finish(&tally, fmt.Sprintf("killed at %d, then at %d and %d of the resume", k.at, k.then, k.last))
	})
	r.t.Logf("resumes killed as well: %d runs, killed %d, identical %d", samples, tally.killed, tally.identical)
	if tally.identical != samples || tally.killed < samples || sampling.All() && tally.killed == samples {
		r.t.Errorf("%d of %d runs are identical after %d kills", tally.identical, samples, tally.killed)
	}
}

// TestAReleaseHasNoFailpoints: without the tag, a mark is an empty function.
func TestAReleaseHasNoFailpoints(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-tags", "sqlite_fts5", "-f", "{{.GoFiles}}", "../../internal/failpoint").Output()
	if err != nil || strings.TrimSpace(string(out)) != "[off.go]" {
		t.Errorf("built from %s, %v", out, err)
	}
	source, err := os.ReadFile("../../internal/failpoint/off.go")
	if err != nil || !strings.HasSuffix(string(source), "func Hit(string) {}\n") {
		t.Errorf("%v\n%s", err, source)
	}
}

// TestSoak kills runs at random times, not at failpoints, for $SOAK, by default
// a second.
func TestSoak(t *testing.T) {
	t.Parallel()
	length, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "1s"))
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	r := newKillRange(t, "scenario.toml")
	r.reference()
	seeds := sampling.New(t)
	t.Logf("one run takes %s", r.took)
	var tally killTally
	var workers sync.WaitGroup
	until := time.Now().Add(length)
	for n := range killers {
		random := rand.New(rand.NewPCG(seeds.Uint64(), seeds.Uint64()))
		workers.Go(func() {
			for i := 0; time.Now().Before(until); i++ {
				r.killInTime(fmt.Sprintf("soak-%d-%d", n, i), random, &tally)
			}
		})
	}
	workers.Wait()
	t.Logf("killed %d, resumed %d, identical %d", tally.killed, tally.resumed, tally.identical)
	if tally.resumed != tally.identical {
		t.Errorf("%d runs resumed, %d identical", tally.resumed, tally.identical)
	}
}

// killInTime kills a run and what resumes it at up to four random times.
func (r *killRange) killInTime(name string, random *rand.Rand, tally *killTally) {
	p, err := r.newPlace(name)
	if err != nil {
		r.t.Error(err)
		return
	}
	var at []time.Duration
	for range 1 + random.IntN(4) {
		at = append(at, 1+time.Duration(random.Int64N(int64(r.took))))
	}
	for _, after := range at {
		if code, _ := p.goOn(0, after); code != -1 {
			break
		}
		tally.Lock()
		tally.killed++
		tally.Unlock()
	}
	p.finish(tally, fmt.Sprintf("killed after %v", at))
}
