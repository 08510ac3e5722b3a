package memory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/memory"
)

// crowdResult is what came of a crowd.
type crowdResult struct {
	slowest []time.Duration // commit of each process
	lost    []string        // what the others say
	took    time.Duration
}

// crowd has n processes commit to one database at once. Each waits for nothing but
// its last commit, and SQLite waits for them only with patience.
func crowd(t testing.TB, dir string, n, appends int, patience bool) (out crowdResult) {
	t.Helper()
	processes := make([]*process, n)
	for i := range processes {
		mode := fmt.Sprintf("%s %d %t", crowdMode, appends, patience)
		processes[i] = spawn(t, dir, mode, plan.RunID("R"+strconv.Itoa(i)))
	}
	for _, p := range processes {
		if said := p.line(t); said != "ready" {
			t.Fatal(said)
		}
	}
	began := time.Now()
	for _, p := range processes {
		must(t, p.stdin.Close())
	}
	for _, p := range processes {
		said := p.line(t)
		if ns, err := strconv.ParseInt(said, 10, 64); err == nil {
			out.slowest = append(out.slowest, time.Duration(ns))
		} else {
			out.lost = append(out.lost, said)
		}
	}
	out.took = time.Since(began)
	return out
}

const crowdMode = "crowd"

// crowdHelper is one process of a crowd.
func crowdHelper(ctx context.Context, db *memory.DB, run plan.RunID, mode string) error {
	var appends int
	var patience bool
	if _, err := fmt.Sscanf(mode, crowdMode+" %d %t", &appends, &patience); err != nil {
		return err
	}
	if !patience {
		if err := db.Exec(ctx, "PRAGMA busy_timeout = 0"); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until it is closed
	var slowest time.Duration
	var err error
	timed := func(do func() error) {
		began := time.Now()
		err = errors.Join(err, do())
		slowest = max(slowest, time.Since(began))
	}
	var w *memory.Writer
	timed(func() (err error) { w, err = db.Own(ctx, run); return err })
	for i := range appends {
		e := report(run, strings.Repeat("some words of an answer; ", 36))
		if i == 0 {
			e = runStart(run)
		}
		if err != nil {
			fmt.Println(err)
			return nil
		}
		timed(func() error { _, err := w.Append(ctx, e); return err })
	}
	if err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println(int64(slowest))
	return errors.Join(w.Close(), db.Close())
}

// TestACrowd: many processes that commit at once lose nothing, though SQLite is told
// not to wait: who stands in line finds its lock free. 128 of them in make soak.
func TestACrowd(t *testing.T) {
	t.Parallel()
	n := 32
	if sampling.All() {
		n = 128
	}
	const appends = 20
	dir := t.TempDir() // the first of them makes the database
	if c := crowd(t, dir, n, appends, false); len(c.lost) > 0 {
		t.Errorf("%d processes of %d are lost: %s", len(c.lost), n, c.lost[0])
	}
	audit, err := open(t, dir).Audit(context.Background(), nil)
	must(t, err)
	if len(audit.Faults) > 0 || audit.Runs != n || audit.Events != int64(n*appends) {
		t.Errorf("%d of %d runs, %d of %d events, faults %v", audit.Runs, n, audit.Events, n*appends, audit.Faults)
	}
}

// BenchmarkProcesses is how many commits a second many processes get onto the disk
// together, how long the slowest takes, and how many processes are lost.
func BenchmarkProcesses(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64, 128} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			appends := max(50, 3000/n)
			var total, slowest time.Duration
			done, lost := 0, 0
			for b.Loop() {
				dir := b.TempDir()
				open(b, dir)
				c := crowd(b, dir, n, appends, true)
				total, lost = total+c.took, lost+len(c.lost)
				for _, one := range c.slowest {
					slowest = max(slowest, one)
					done += appends
				}
			}
			b.ReportMetric(float64(done)/total.Seconds(), "commits/s")
			b.ReportMetric(float64(slowest.Milliseconds()), "slowest-ms")
			b.ReportMetric(float64(lost)/float64(b.N), "lost")
		})
	}
}
