package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/model/scripted"
)

// BenchmarkBatch measures a batch of $BATCH_JOBS jobs (16) at several
// concurrencies, beside the same jobs as processes of `plan run` of their own.
// Each job is four phases over the real wire, with checks, behind walls.
func BenchmarkBatch(b *testing.B) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BATCH_JOBS"), "16"))
	if err != nil {
		b.Fatalf("BATCH_JOBS: %v", err)
	}
	r := newBenchRange(b)
	for _, width := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("batch/concurrency=%d", width), func(b *testing.B) {
			for b.Loop() {
				home := b.TempDir()
				list := filepath.Join(home, "jobs.jsonl")
				var text strings.Builder
				for i := range n {
					fmt.Fprintf(&text, `{"id":"j%d","repo":%q,"request":"Count in digits","checks":["sh check.sh"]}`+"\n", i, r.repo)
				}
				if err := os.WriteFile(list, []byte(text.String()), 0o600); err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				rss := r.plan(b, home, "batch", "run", list, "--concurrency", strconv.Itoa(width))
				r.report(b, home, n, time.Since(began), rss)
			}
		})
	}
	b.Run("processes/concurrency=4", func(b *testing.B) {
		for b.Loop() {
			home := b.TempDir()
			began := time.Now()
			var group sync.WaitGroup
			next := make(chan struct{}, n)
			for range n {
				next <- struct{}{}
			}
			close(next)
			var mu sync.Mutex
			var most int64
			for range 4 {
				group.Go(func() {
					for range next {
						rss := r.plan(b, home, "-C", r.repo, "run", "--worktree", "--check", "sh check.sh", "Count in digits")
						mu.Lock()
						most = max(most, rss)
						mu.Unlock()
					}
				})
			}
			group.Wait()
			r.report(b, home, n, time.Since(began), 4*most)
		}
	})
}

// benchRange is a program, a repository and a model to measure with.
type benchRange struct{ binary, repo, url, key string }

func newBenchRange(b *testing.B) benchRange {
	b.Helper()
	dir := b.TempDir()
	r := benchRange{binary: filepath.Join(dir, "plan"), repo: filepath.Join(dir, "repo")}
	scenario, err := scripted.Load("testdata/kill/scenario.toml")
	if err != nil {
		b.Fatal(err)
	}
	server, err := scripted.Start(b.Context(), scenario, scripted.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { server.Close() })
	r.url, r.key = server.URL(), server.Key()
	if err := os.CopyFS(r.repo, os.DirFS("testdata/kill/repo")); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{
		{"go", "build", "-tags", "sqlite_fts5", "-o", r.binary, "."},
		{"git", "-C", r.repo, "init", "-q"},
		{"git", "-C", r.repo, "add", "-A"},
		{"git", "-C", r.repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "start"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return r
}

// plan runs plan, which must succeed, and returns its peak of memory in KiB.
func (r benchRange) plan(b *testing.B, home string, args ...string) int64 {
	cmd := exec.Command(r.binary, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PLAN_HOME=" + filepath.Join(home, "home"), "GIT_CONFIG_GLOBAL=/dev/null",
		"OPENAI_BASE_URL=" + r.url, "OPENAI_API_KEY=" + r.key, "PLAN_MODEL=" + scripted.Model, "LANG=C.UTF-8",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Errorf("plan %v: %v\n%s", args, err, out[max(0, len(out)-2000):])
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss
}

// report says what n jobs came to.
func (r benchRange) report(b *testing.B, home string, n int, took time.Duration, rss int64) {
	info, err := os.Stat(filepath.Join(home, "home", "plan.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)/took.Seconds(), "jobs/s")
	b.ReportMetric(float64(rss)/1024, "MiB-peak")
	b.ReportMetric(float64(info.Size())/1024/float64(n), "KiB-db/job")
	times := jobTimes(b, filepath.Join(home, "home", "plan.db"))
	if len(times) > 0 {
		b.ReportMetric(times[len(times)/2].Seconds(), "s-p50")
		b.ReportMetric(times[len(times)*99/100].Seconds(), "s-p99")
	}
}

// jobTimes is how long each run took, in order.
func jobTimes(b *testing.B, path string) []time.Duration {
	var out []time.Duration
	for _, info := range benchRuns(b, path) {
		out = append(out, info.Updated.Sub(info.Created))
	}
	slices.Sort(out)
	return out
}

func benchRuns(b *testing.B, path string) []memory.RunInfo {
	db, err := memory.Open(b.Context(), memory.Config{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	infos, err := db.Runs(b.Context(), memory.Filter{})
	if err != nil {
		b.Fatal(err)
	}
	return infos
}
