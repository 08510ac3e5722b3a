package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

// batchView shows a batch while it runs: events as JSON lines, a screen that is
// painted over, or a line for each job that comes to an end. One view serves all
// jobs, so that a job costs no display of its own.
type batchView struct {
	app     *app
	look    render.Look
	opts    render.Options
	limiter *batch.Limiter

	show func(plan.Event) // with --json
	done func() error
	err  error // of writing

	mu      sync.Mutex
	total   int
	counts  map[memory.JobState]int
	running map[string]*jobLine
	order   []string // of the running jobs
	workers int
	began   time.Time
	ended   int           // jobs that this process settled
	worked  time.Duration // on them
	cost    float64
	tokens  int64
	rows    int // painted last
	quit    chan struct{}
	painted sync.WaitGroup
}

// jobLine is what is known of a job that runs.
type jobLine struct {
	began time.Time
	phase plan.Phase
	turns int
	cost  float64
	tool  string
}

const (
	paintEach   = 250 * time.Millisecond
	mostJobRows = 16
)

func (a *app) openBatchView(b memory.Batch) *batchView {
	opts := a.viewing()
	v := &batchView{
		app:     a,
		look:    render.NewLook(opts),
		opts:    opts,
		counts:  map[memory.JobState]int{},
		running: map[string]*jobLine{},
		began:   a.now(),
		cost:    b.CostUSD,
		tokens:  b.Tokens,
	}
	for state, n := range b.Jobs {
		v.total += n
		v.counts[state] = n
	}
	return v
}

// start opens the view.
func (v *batchView) start(workers int) {
	v.workers = workers
	switch {
	case v.app.json:
		v.show, v.done = render.NewPump(render.NewJSON(v.app.out), 0)
	case v.app.onTerminal():
		v.quit = make(chan struct{})
		v.painted.Go(v.paint)
	}
}

// stop shows what is left.
func (v *batchView) stop() {
	if v.done != nil {
		v.err = v.done()
	}
	if v.quit != nil {
		close(v.quit)
		v.painted.Wait()
	}
}

// feed takes an event of a job.
func (v *batchView) feed(job string, ev plan.Event) {
	if v.show != nil {
		v.show(ev)
	}
	if ev.Live() {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	line := v.running[job]
	if line == nil {
		return
	}
	switch b := ev.Body.(type) {
	case plan.PhaseStart:
		line.phase, line.turns, line.tool = ev.Phase, 0, ""
	case plan.MessageEnd:
		if b.Role == plan.RoleAssistant {
			line.turns++
		}
	case plan.ToolStart:
		line.tool = b.Name
	case plan.UsageReport:
		if !b.Inherited {
			line.cost += b.CostUSD
			v.cost, v.tokens = v.cost+b.CostUSD, v.tokens+b.Usage.Tokens()
		}
	}
}

// begin is told of a job that begins or goes on.
func (v *batchView) begin(try batch.Try) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts[memory.JobQueued]--
	v.counts[memory.JobRunning]++
	v.running[try.ID] = &jobLine{began: v.app.now()}
	v.order = append(v.order, try.ID)
}

// settled is told what came of a job.
func (v *batchView) settled(try batch.Try, res batch.Result) {
	v.mu.Lock()
	defer v.mu.Unlock()
	line := v.running[try.ID]
	took := v.app.now().Sub(line.began)
	delete(v.running, try.ID)
	v.order = slices.DeleteFunc(v.order, func(id string) bool { return id == try.ID })
	v.counts[memory.JobRunning]--
	v.counts[memory.JobState(res.State)]++
	if res.Outcome != "" { // one that could not begin says nothing about the others
		v.ended++
		v.worked += took
	}
	if v.show != nil {
		if res.Outcome == "" && res.Parked == "" { // no run says it
			v.show(plan.Event{
				Job:  try.ID,
				Time: v.app.now(),
				Body: plan.Failure{Error: res.Why},
			})
		}
		return
	}
	finished := v.total - v.counts[memory.JobQueued] - v.counts[memory.JobRunning]
	text := fmt.Sprintf(
		"[%d/%d] %-9s %s  %s",
		finished,
		v.total,
		resultWord(res),
		render.SafeLine(try.ID),
		render.Duration(took),
	)
	if line.cost > 0 {
		text += "  " + render.Cost(line.cost, true)
	}
	if res.Why != "" {
		text += "  " + render.SafeLine(cutRunes(res.Why, 200))
	}
	v.say(text)
}

// resultWord names a result.
func resultWord(res batch.Result) string {
	switch {
	case res.Outcome != "":
		return string(res.Outcome)
	case res.Parked != "":
		return "parked"
	}
	return string(res.State)
}

// note tells something that a job has to say to people.
func (v *batchView) note(job, text string) {
	if text == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.quit == nil {
		fmt.Fprintf(v.app.err, "plan: %s: %s\n", render.SafeLine(job), render.SafeLine(text))
		return
	}
	v.say(render.SafeLine(job) + ": " + render.SafeLine(text))
}

// say writes a line that stays. The caller holds the lock.
func (v *batchView) say(text string) {
	if v.show != nil {
		return
	}
	v.wipe()
	fmt.Fprintln(v.app.out, v.look.Safe(text))
	if v.quit != nil {
		v.draw()
	}
}

// paint keeps the screen up to date.
func (v *batchView) paint() {
	tick := time.NewTicker(paintEach)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			v.mu.Lock()
			v.wipe()
			v.draw()
			v.mu.Unlock()
		case <-v.quit:
			v.mu.Lock()
			v.wipe()
			v.mu.Unlock()
			return
		}
	}
}

// wipe takes away what was drawn last.
func (v *batchView) wipe() {
	if v.rows > 0 {
		fmt.Fprintf(v.app.out, "\x1b[%dA\x1b[J", v.rows)
		v.rows = 0
	}
}

// draw draws the bar and a line for each job that runs.
func (v *batchView) draw() {
	width := max(min(v.opts.Columns()-1, render.MaxColumns), 20)
	var rows []string
	shown := v.order[:min(len(v.order), mostJobRows)]
	for _, id := range shown {
		l := v.running[id]
		rest := []string{
			string(l.phase),
			fmt.Sprintf("turn %d", l.turns),
			batchCost(l.cost),
			render.Clock(v.app.now().Sub(l.began)),
			l.tool,
		}
		rows = append(
			rows,
			v.look.CutTo("  "+render.PadTo(render.SafeLine(id), 24)+" "+strings.Join(rest, "  "), width, false),
		)
	}
	if more := len(v.order) - len(shown); more > 0 {
		rows = append(rows, fmt.Sprintf("  … and %d more", more))
	}
	rows = append(rows, v.look.CutTo(v.bar(), width, false))
	for i := range rows {
		rows[i] = v.look.Safe(rows[i])
	}
	fmt.Fprintln(v.app.out, strings.Join(rows, "\n"))
	v.rows = len(rows)
}

// bar is the whole batch in a line.
func (v *batchView) bar() string {
	const cells = 24
	left := v.counts[memory.JobQueued] + v.counts[memory.JobRunning]
	full := cells
	if v.total > 0 {
		full = cells * (v.total - left) / v.total
	}
	text := fmt.Sprintf("[%s%s] %d/%d  %s  %s", strings.Repeat("#", full), strings.Repeat("-", cells-full),
		v.total-left, v.total, jobCounts(v.counts), batchCost(v.cost))
	if v.ended > 0 && left > 0 {
		each := v.worked / time.Duration(v.ended)
		text += "  about " + render.Duration(
			each*time.Duration(left)/time.Duration(max(min(v.workers, left), 1)),
		) + " left"
	}
	if calls, until := v.limiter.Window(); until.After(v.app.now()) {
		text += fmt.Sprintf(
			"  waiting for the server %s (%d at a time)",
			render.Duration(until.Sub(v.app.now())),
			calls,
		)
	}
	return text
}

// batchCost is a price in words; of models without a price nothing is known.
func batchCost(usd float64) string { return render.Cost(usd, usd > 0) }

// jobStates is the order in which states are told.
func jobStates() []memory.JobState {
	return []memory.JobState{
		memory.JobDone,
		memory.JobFailed,
		memory.JobParked,
		memory.JobCancelled,
		memory.JobRunning,
		memory.JobQueued,
	}
}

// jobCounts tells how many jobs are in each state that any is in.
func jobCounts(counts map[memory.JobState]int) string {
	var parts []string
	for _, s := range jobStates() {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "no jobs"
	}
	return strings.Join(parts, ", ")
}
