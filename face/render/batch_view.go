package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/oneline"
)

// BatchView shows a batch while it runs: events as JSON lines, a screen that is
// painted over, or a line for each job that comes to an end. One view serves all
// jobs, so that a job costs no display of its own.
type BatchView struct {
	cfg  BatchViewConfig
	look Look

	show func(plan.Event) // of JSON lines; nil otherwise
	stop func() error

	mu       sync.Mutex
	progress batches.Progress // with the counts as they are now
	total    int
	running  map[string]*jobLine
	order    []string      // of the running jobs
	ended    int           // jobs that this process brought to an end
	worked   time.Duration // on them
	rows     int           // painted last
	quit     chan struct{} // closed to end painting; nil without a screen
	painting sync.WaitGroup
}

// BatchViewConfig says how a batch is shown.
type BatchViewConfig struct {
	// Out is where the batch is shown, Notes where notes go unless they are a part
	// of the screen.
	Out, Notes io.Writer

	Options Options

	// JSON shows events as lines; otherwise Screen paints on a terminal.
	JSON, Screen bool
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
	paintInterval = 250 * time.Millisecond
	maxJobRows    = 16
	maxResultWhy  = 200 // characters
)

// NewBatchView makes a view. Nothing is shown before the batch begins.
func NewBatchView(cfg BatchViewConfig) *BatchView {
	return &BatchView{
		cfg:     cfg,
		look:    NewLook(cfg.Options),
		running: map[string]*jobLine{},
	}
}

// View is the view as what drives the batch sees it.
func (v *BatchView) View() batches.View {
	return batches.View{
		Begin:    v.begin,
		Started:  v.addJob,
		Event:    v.addEvent,
		Note:     v.note,
		Finished: v.endJob,
	}
}

// begin opens the view.
func (v *BatchView) begin(p batches.Progress) {
	v.setProgress(p)
	switch {
	case v.cfg.JSON:
		v.show, v.stop = NewPump(NewJSON(v.cfg.Out), 0)
	case v.cfg.Screen:
		v.quit = make(chan struct{})
		v.painting.Go(v.paint)
	}
}

func (v *BatchView) setProgress(p batches.Progress) {
	v.progress = p
	for _, n := range p.Counts {
		v.total += n
	}
}

// Close shows what is left, and returns the first error of writing it.
func (v *BatchView) Close() error {
	if v.quit != nil {
		close(v.quit)
		v.painting.Wait()
	}
	if v.stop != nil {
		return v.stop()
	}
	return nil
}

// addEvent takes an event of a job.
func (v *BatchView) addEvent(job string, ev plan.Event) {
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
		line.phase = ev.Phase
		line.turns = 0
		line.tool = ""
	case plan.MessageEnd:
		if b.Role == plan.RoleAssistant {
			line.turns++
		}
	case plan.ToolStart:
		line.tool = b.Name
	case plan.UsageReport:
		if !b.Inherited {
			line.cost += b.CostUSD
			v.progress.CostUSD += b.CostUSD
			v.progress.Tokens += b.Usage.Tokens()
		}
	}
}

// addJob is told of a job that begins or goes on.
func (v *BatchView) addJob(try batch.Try) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.progress.Counts[batch.JobQueued]--
	v.progress.Counts[batch.JobRunning]++
	v.running[try.ID] = &jobLine{began: v.cfg.Options.now()}
	v.order = append(v.order, try.ID)
}

// endJob is told what came of a job.
func (v *BatchView) endJob(try batch.Try, res batch.Result) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.cfg.Options.now()
	line := v.running[try.ID]
	if line == nil { // it could not even be read
		line = &jobLine{began: now}
		v.progress.Counts[batch.JobQueued]--
	} else {
		v.progress.Counts[batch.JobRunning]--
	}
	elapsed := now.Sub(line.began)
	delete(v.running, try.ID)
	v.order = slices.DeleteFunc(v.order, func(id string) bool { return id == try.ID })
	v.progress.Counts[res.State]++
	if res.Outcome != "" { // one that could not begin says nothing about the others
		v.ended++
		v.worked += elapsed
	}
	if v.show != nil {
		if res.Outcome == "" && res.Parked == "" { // no run says it
			v.show(plan.Event{
				Job:  try.ID,
				Time: now,
				Body: plan.Failure{Error: res.Why},
			})
		}
		return
	}
	counts := v.progress.Counts
	finished := v.total - counts[batch.JobQueued] - counts[batch.JobRunning]
	text := fmt.Sprintf("[%d/%d] %-9s %s  %s", finished, v.total, resultWord(res), SafeLine(try.ID), Duration(elapsed))
	if line.cost > 0 {
		text += "  " + Cost(line.cost, true)
	}
	if res.Why != "" {
		text += "  " + SafeLine(oneline.Cut(res.Why, maxResultWhy))
	}
	v.writeLine(text)
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

// note shows what a job has to say to people.
func (v *BatchView) note(job, text string) {
	text = SafeLine(job) + ": note: " + SafeLine(text)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.quit == nil {
		fmt.Fprintf(v.cfg.Notes, "plan: %s\n", text)
		return
	}
	v.writeLine(text)
}

// writeLine writes a line that stays. The caller holds the lock.
func (v *BatchView) writeLine(text string) {
	if v.show != nil {
		return
	}
	v.wipe()
	fmt.Fprintln(v.cfg.Out, v.look.Safe(text))
	if v.quit != nil {
		v.draw()
	}
}

// paint keeps the screen up to date.
func (v *BatchView) paint() {
	tick := time.NewTicker(paintInterval)
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
func (v *BatchView) wipe() {
	if v.rows > 0 {
		fmt.Fprintf(v.cfg.Out, "\x1b[%dA\x1b[J", v.rows)
		v.rows = 0
	}
}

// draw draws a line for each job that runs, and the bar.
func (v *BatchView) draw() {
	now := v.cfg.Options.now()
	width := max(min(v.cfg.Options.Columns()-1, MaxColumns), 20)
	var rows []string
	ids := v.order[:min(len(v.order), maxJobRows)]
	for _, id := range ids {
		l := v.running[id]
		rest := strings.Join([]string{
			string(l.phase),
			fmt.Sprintf("turn %d", l.turns),
			batchCost(l.cost),
			clock(now.Sub(l.began)),
			l.tool,
		}, "  ")
		rows = append(rows, v.look.CutTo("  "+padTo(SafeLine(id), 24)+" "+rest, width, false))
	}
	if more := len(v.order) - len(ids); more > 0 {
		rows = append(rows, fmt.Sprintf("  … and %d more", more))
	}
	rows = append(rows, v.look.CutTo(v.bar(now), width, false))
	for i := range rows {
		rows[i] = v.look.Safe(rows[i])
	}
	fmt.Fprintln(v.cfg.Out, strings.Join(rows, "\n"))
	v.rows = len(rows)
}

// bar is the whole batch in a line.
func (v *BatchView) bar(now time.Time) string {
	const cells = 24
	counts := v.progress.Counts
	left := counts[batch.JobQueued] + counts[batch.JobRunning]
	full := cells
	if v.total > 0 {
		full = cells * (v.total - left) / v.total
	}
	text := fmt.Sprintf("[%s%s] %d/%d  %s  %s", strings.Repeat("#", full), strings.Repeat("-", cells-full),
		v.total-left, v.total, jobCounts(counts), batchCost(v.progress.CostUSD))
	if v.ended > 0 && left > 0 {
		each := v.worked / time.Duration(v.ended)
		workers := max(min(v.progress.Workers, left), 1)
		text += "  about " + Duration(each*time.Duration(left)/time.Duration(workers)) + " left"
	}
	if calls, until := v.progress.Window(); until.After(now) {
		text += fmt.Sprintf("  waiting for the server %s (%d at a time)", Duration(until.Sub(now)), calls)
	}
	return text
}
