//go:build unix

package turnstile_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan/internal/turnstile"
)

// TestMain also is the process that goes in and stays there.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TURNSTILE_TEST_DIR"); dir != "" {
		t, err := turnstile.New(config(dir))
		if err == nil {
			err = t.Enter(context.Background())
		}
		fmt.Println("inside", err)
		select {}
	}
	goleak.VerifyTestMain(m)
}

// config has beats of a hundredth of a second: a word after 2, patience for 30.
func config(dir string) turnstile.Config {
	return turnstile.Config{Dir: dir, Name: "it", Beat: 10 * time.Millisecond}
}

func open(t *testing.T, cfg turnstile.Config) *turnstile.Turnstile {
	t.Helper()
	s, err := turnstile.New(cfg)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func enter(t *testing.T, s *turnstile.Turnstile) {
	t.Helper()
	must(t, s.Enter(context.Background()))
}

// await waits for what another goroutine is about to do.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

// helper is a process that is inside.
func helper(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "TURNSTILE_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "inside <nil>\n" {
		t.Fatalf("the helper says %q, %v", said, err)
	}
	return cmd
}

// Who leaves and comes back at once stands behind those that wait.
func TestInTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const comers, rounds = 8, 30
	var mu sync.Mutex // the race detector knows nothing of the kernel's
	var order []int
	var left atomic.Int64
	left.Store(comers)
	var wg sync.WaitGroup
	for i := range comers {
		s := open(t, config(dir))
		wg.Go(func() {
			for round := range rounds {
				if err := s.Enter(context.Background()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				if round == rounds-1 {
					left.Add(-1)
				}
				for left.Load() > 1 && !s.Wanted() { // until another one is next
					runtime.Gosched()
				}
				s.Leave()
			}
		})
	}
	wg.Wait()
	last := slices.Index(order, order[len(order)-1]) // the one that is alone in the end
	again := 0
	for i := 1; i < len(order); i++ {
		if order[i] == order[i-1] && order[i] != order[last] {
			again++
		}
	}
	if len(order) != comers*rounds || again > 0 {
		t.Errorf("%d went in, %d times the same one again: %v", len(order), again, order)
	}
}

// One that is inside and lives is waited for, however long it takes, and there is a
// word; one that is killed is not waited for.
func TestALongWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	told := make(chan int, 8)
	cfg := config(dir)
	cfg.Tell = func(pid int) { told <- pid }
	p := helper(t, dir)
	s := open(t, cfg)
	came := make(chan error, 2)
	for range 2 {
		go func() {
			err := s.Enter(context.Background())
			if err == nil {
				s.Leave()
			}
			came <- err
		}()
	}
	if pid := <-told; pid != p.Process.Pid {
		t.Errorf("waits for %d, want %d", pid, p.Process.Pid)
	}
	beats := time.NewTicker(10 * time.Millisecond)
	defer beats.Stop()
	for range 60 { // twice the patience
		select {
		case err := <-came:
			t.Fatalf("it went in beside another one, or gave up: %v", err)
		case <-beats.C:
		}
	}
	must(t, p.Process.Kill())
	for range 2 {
		must(t, <-came)
	}
	if len(told) != 0 {
		t.Error("it was told twice")
	}
}

// One that is inside and stopped is given up, in the line and behind it; and once it
// goes on there is nothing left of that.
func TestAStuckOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := helper(t, dir)
	must(t, p.Process.Signal(syscall.SIGSTOP))
	s := open(t, config(dir))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			err := s.Enter(context.Background())
			var stuck *turnstile.StuckError
			if !errors.As(err, &stuck) || stuck.PID != p.Process.Pid || stuck.For < 300*time.Millisecond {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	must(t, p.Process.Kill())
	enter(t, s)
	s.Leave()
	if s.Wanted() {
		t.Error("one that gave up is still in line")
	}
}

func TestGivingUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inside, s := open(t, config(dir)), open(t, config(dir))
	enter(t, inside)
	ctx, cancel := context.WithCancel(context.Background())
	gave := make(chan error)
	go func() { gave <- s.Enter(ctx) }()
	await(t, "the second one", inside.Wanted)
	cancel()
	if err := <-gave; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	inside.Leave()
	enter(t, inside)
	inside.Leave()
	enter(t, s)
	s.Leave()
}

// Away waits for the one inside, and lets none in.
func TestAway(t *testing.T) {
	t.Parallel()
	s := open(t, config(t.TempDir()))
	enter(t, s)
	away, back := make(chan struct{}), make(chan struct{})
	go s.Away(func() {
		close(away)
		<-back
	})
	select {
	case <-away:
		t.Error("away while one is inside")
	case <-time.After(20 * time.Millisecond):
	}
	s.Leave()
	<-away
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it went in while away: %v", err)
	}
	close(back)
	enter(t, s)
	s.Leave()
}

func TestClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := turnstile.New(config(dir))
	must(t, err)
	must(t, s.Close())
	if err := s.Enter(context.Background()); err == nil {
		t.Error("it goes in after Close")
	}
	if _, err := turnstile.New(config(filepath.Join(dir, strconv.Itoa(os.Getpid())))); err == nil {
		t.Error("it is opened where there is no place for it")
	}
}

func BenchmarkEnter(b *testing.B) {
	s, err := turnstile.New(turnstile.Config{Dir: b.TempDir(), Name: "it"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		if err := s.Enter(context.Background()); err != nil {
			b.Fatal(err)
		}
		s.Leave()
	}
}
