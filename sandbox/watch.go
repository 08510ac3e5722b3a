package sandbox

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// idleSamples is how many looks at a task in a row have to find it quiet. They are
	// counted, and not the time, because this process may have been stopped
	// itself between two of them.
	idleSamples = 20
	// noiseShare is the part of its time that a task may spend on the processor
	// and be quiet still: one over that many. Runtimes do some housekeeping even
	// where every thread of the program waits for ever.
	noiseShare = 200
	// noiseFloor is what the rounding of the system's counts may add to it.
	noiseFloor = 10 * time.Millisecond
	// quitRounds is how often SIGQUIT is sent in a grace: first to the processes that
	// have no children, and to each parent a round after its children.
	quitRounds = 4
)

// queryable is a running task.
type queryable interface {
	// query asks how the task is doing. An error means that it cannot be known.
	query(ctx context.Context, a taskQuery) (taskStatus, error)
}

// watch stops a task that takes too long, or that hangs, and keeps why. What
// the task prints goes through it.
type watch struct {
	limit time.Duration // how long the task may take
	quiet time.Duration // how long it may do nothing; 0: for ever
	grace time.Duration // how long it has after SIGQUIT; 0: it is killed at once
	kill  func()        // ends the context that the task runs under
	out   io.Writer
	errs  io.Writer // nil where errors come with the output
	input []byte    // what the task reads
	feed  io.Reader // and what after that; nil for nothing

	printed  atomic.Bool   // since the last look
	finished chan struct{} // closed when nothing is left to watch
	stopped  chan struct{} // closed when nothing watches any more

	mu       sync.Mutex
	ended    bool // the task's first process ended
	quitSent bool // the task was sent SIGQUIT
	hung     bool
	running  []string
}

func newWatch(c Command, limit time.Duration, kill func(), out io.Writer) *watch {
	return &watch{
		limit:    limit,
		quiet:    c.Quiet,
		grace:    c.Grace,
		kill:     kill,
		out:      out,
		errs:     c.errors(),
		input:    c.Input,
		feed:     c.Feed,
		finished: make(chan struct{}),
		stopped:  make(chan struct{}),
	}
}

// Write implements io.Writer.
func (w *watch) Write(p []byte) (int, error) {
	w.printed.Store(true)
	return w.out.Write(p) //nolint:wrapcheck // a capture takes everything
}

// begin watches a task that was started, until end.
func (w *watch) begin(ctx context.Context, t queryable) {
	go func() {
		defer close(w.stopped)
		hung, stop := w.waitForLimit(ctx, t)
		if !stop {
			return
		}
		w.waitOrKill(ctx, t, w.askToQuit(ctx, t, hung))
	}()
}

// waitOrKill sees a task to its end, which must come within some time.
func (w *watch) waitOrKill(ctx context.Context, t queryable, within time.Duration) {
	patience := time.NewTimer(within)
	defer patience.Stop()
	round := time.NewTicker(max(w.grace/quitRounds, time.Millisecond))
	defer round.Stop()
	for {
		select {
		case <-patience.C:
			w.kill()
			return
		case <-w.finished:
			return
		case <-round.C:
			if w.quitSent { // only this goroutine sets it
				_, _ = t.query(ctx, taskQuery{Quit: true}) // if it cannot be asked, it is killed without
			}
		}
	}
}

// end is called when the first process of the task has ended: from here on the
// task is not stopped any more. If it was told to say where it stands, others of
// its processes may still be about it, so end waits for them until their time is
// up. Read is closed when all that they print was read. The result reports
// whether end waited.
func (w *watch) end(ctx context.Context, read <-chan struct{}) bool {
	w.mu.Lock()
	w.ended = true
	asked := w.quitSent
	w.mu.Unlock()
	if asked {
		select {
		case <-read:
		case <-ctx.Done():
		}
	}
	close(w.finished)
	<-w.stopped
	return asked
}

// waitForLimit waits until the task has to be stopped, and reports whether it hangs. The
// second result is false where there is nothing to stop any more.
func (w *watch) waitForLimit(ctx context.Context, t queryable) (hung, stop bool) {
	limit := time.NewTimer(w.limit)
	defer limit.Stop()
	var look <-chan time.Time
	if w.quiet > 0 {
		ticker := time.NewTicker(max(w.quiet/idleSamples, time.Millisecond))
		defer ticker.Stop()
		look = ticker.C
	}
	var idle idleness
	for {
		select {
		case <-w.finished:
			return false, false
		case <-ctx.Done():
			return false, false
		case <-limit.C:
			return false, true
		case <-look:
			now, err := t.query(ctx, taskQuery{})
			if idle.add(now, w.printed.Swap(false) || err != nil) > w.quiet/noiseShare+noiseFloor {
				continue
			}
			return true, true
		}
	}
}

// askToQuit notes what still runs, asks it where it stands, and tells how long it may
// take until it is killed. A task that has just ended by itself is left alone for
// as long as that may take to be known.
func (w *watch) askToQuit(ctx context.Context, t queryable, hung bool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return killPatience
	}
	now, err := t.query(ctx, taskQuery{Names: true, Quit: w.grace > 0})
	if err == nil && !now.Alive {
		return killPatience
	}
	w.hung, w.running = hung, now.Running
	if err != nil {
		return 0
	}
	w.quitSent = w.grace > 0
	return w.grace
}

// idleness is how little a task did lately.
type idleness struct {
	last    map[int]time.Duration
	samples []time.Duration // from look to look, since the task last printed something
}

// forever is more processor time than any task has.
const forever = time.Duration(1<<63 - 1)

// add adds a look, and tells how much processor time was used over the last of
// them: forever as long as they are too few.
func (i *idleness) add(now taskStatus, active bool) time.Duration {
	used := processorTime(i.last, now.Used)
	i.last = now.Used
	if active {
		i.samples = i.samples[:0]
		return forever
	}
	i.samples = append(i.samples, used)
	if len(i.samples) < idleSamples {
		return forever
	}
	i.samples = i.samples[len(i.samples)-idleSamples:]
	var sum time.Duration
	for _, d := range i.samples {
		sum += d
	}
	return sum
}
