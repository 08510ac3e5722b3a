// Package metrics counts what a home has and what its server does, in the text form that
// Prometheus reads. It has a dozen series and writes them itself: the client library would
// cost every start of the program, whatever it was started for.
package metrics

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/host"
)

// Path is where they are read.
const Path = "/metrics"

// Metrics are those of one server.
type Metrics struct {
	// Service is where runs are found, and those that are driven here.
	Service *service.Service
	// Watchers counts those who watch runs.
	Watchers func() int
	// Most is how many runs may be driven here.
	Most int
	// Began is when the server did.
	Began time.Time

	mu      sync.Mutex
	answers map[int]int64 // by status
	events  map[plan.EventType]int64
}

// Saw counts an event of a run that is driven here.
func (m *Metrics) Saw(ev plan.Event) {
	if ev.Live() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events == nil {
		m.events = map[plan.EventType]int64{}
	}
	m.events[ev.Type()]++
}

// Answered counts an answer.
func (m *Metrics) Answered(status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil {
		m.answers = map[int]int64{}
	}
	m.answers[status]++
}

// ServeHTTP implements http.Handler.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := m.text(r.Context())
	if err != nil {
		http.Error(w, "the runs cannot be counted", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(text)) // the reader may have left
}

// table is a text of series.
type table struct{ strings.Builder }

// series begins one.
func (t *table) series(name, kind, help string) {
	fmt.Fprintf(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// value writes one value of a series, under a label that may be "".
func (t *table) value(name, label, of string, v float64) {
	if label != "" {
		name += "{" + label + "=" + quote(of) + "}"
	}
	fmt.Fprintf(t, "%s %s\n", name, strconv.FormatFloat(v, 'g', -1, 64))
}

// single writes a series of one value.
func (t *table) single(name, kind, help string, v float64) {
	t.series(name, kind, help)
	t.value(name, "", "", v)
}

// quote writes a label's value.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// countedBy writes a series with a value for each of its labels, in their order.
func countedBy[K cmp.Ordered](t *table, name, kind, help, label string, counts map[K]int64) {
	t.series(name, kind, help)
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.value(name, label, fmt.Sprint(k), float64(counts[k]))
	}
}

func (m *Metrics) text(ctx context.Context) (string, error) {
	var t table
	if err := m.home(ctx, &t); err != nil {
		return "", err
	}
	driven := float64(len(m.Service.Runs.Driven()))
	t.single("plan_driven_runs", "gauge", "Runs and batches that this server drives.", driven)
	t.single("plan_driven_runs_max", "gauge", "How many it may drive.", float64(m.Most))
	t.single("plan_watchers", "gauge", "Streams of events that are open.", float64(m.Watchers()))
	m.mu.Lock()
	defer m.mu.Unlock()
	countedBy(&t, "plan_events_total", "counter", "Events of runs driven here, by type.", "type", m.events)
	countedBy(&t, "plan_http_answers_total", "counter", "Answers of this server, by status.", "code", m.answers)
	t.single("plan_goroutines", "gauge", "Goroutines of this server.", float64(runtime.NumGoroutine()))
	t.single("process_start_time_seconds", "gauge", "When this server began, in seconds since 1970.",
		float64(m.Began.UnixMilli())/1000)
	return t.String(), nil
}

// home counts what the home has.
func (m *Metrics) home(ctx context.Context, t *table) error {
	runs, err := m.Service.List(ctx, host.Filter{}, "")
	if err != nil {
		return err
	}
	batches, err := m.Service.Batches(ctx)
	if err != nil {
		return err
	}
	states, parked := map[plan.State]int64{}, map[plan.ParkReason]int64{}
	jobs := map[string]int64{}
	var used plan.Usage
	cost := 0.0
	for _, r := range runs {
		states[r.State]++
		if r.Parked != "" {
			parked[r.Parked]++
		}
		used = used.Add(r.Usage)
		cost += r.CostUSD
	}
	for _, b := range batches {
		for state, n := range b.Counts {
			jobs[string(state)] += int64(n)
		}
	}
	countedBy(t, "plan_runs", "gauge", "Runs of the home, by state.", "state", states)
	countedBy(t, "plan_parked_runs", "gauge", "Runs that are parked, by reason.", "reason", parked)
	countedBy(t, "plan_jobs", "gauge", "Jobs of batches, by state.", "state", jobs)
	countedBy(t, "plan_tokens", "gauge", "Tokens that the runs of the home have used.", "kind", map[string]int64{
		"input":  used.Input,
		"cached": used.Cached,
		"output": used.Output,
	})
	t.single("plan_model_requests", "gauge", "Calls of models by the runs of the home.", float64(used.Requests))
	t.single("plan_cost_usd", "gauge", "What the runs of the home have cost, as far as prices are known.", cost)
	return nil
}
