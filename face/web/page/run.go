package page

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/face/web/watch"
	"github.com/plan-engine/plan/host/costs"
	"github.com/plan-engine/plan/memory"
)

// mostRows is how much of a timeline a page shows at once: the last rows of it.
const mostRows = 300

// runPage is a run as its page shows it.
type runPage struct {
	service.Run
	Rows    []Row
	Earlier int64 // seq of the first row, where there are others before it
	Live    bool  // it may go on
	Final   bool
	Here    string // path of the page

	past []plan.Event // of a job in the queue: what was read of it
}

// id finds the run that a path names.
func (p *Pages) id(r *http.Request) (plan.RunID, error) {
	return p.service.Host.Resolve(r.Context(), r.PathValue("id"))
}

// page is what the pages of one run have in common, also of that of a job in the queue.
func (p *Pages) page(r *http.Request) (runPage, error) {
	if job := r.PathValue("job"); job != "" {
		d, past, err := p.service.JobDocument(r.Context(), r.PathValue("id"), job)
		if err != nil {
			return runPage{}, err
		}
		return runPage{
			Run:   d,
			Live:  !d.State.Final() && !d.Job.Over(),
			Final: d.State.Final() || d.Job.Over(),
			Here:  "/batches/" + d.Job.Batch + "/jobs/" + d.Job.ID,
			past:  past,
		}, nil
	}
	id, err := p.id(r)
	if err != nil {
		return runPage{}, err
	}
	d, err := p.service.Document(r.Context(), id)
	return runPage{
		Run:   d,
		Live:  !d.State.Final(),
		Final: d.State.Final(),
		Here:  "/runs/" + string(id),
	}, err
}

// events are those of a run so far.
func (p *Pages) events(ctx context.Context, of runPage) iter.Seq2[plan.Event, error] {
	return func(yield func(plan.Event, error) bool) {
		if of.Job != nil {
			for _, ev := range of.past {
				if !yield(ev, nil) {
					return
				}
			}
			return
		}
		db, err := p.service.Host.DB(ctx)
		if err != nil {
			yield(plan.Event{}, err)
			return
		}
		db.Events(ctx, of.ID, memory.Query{})(yield)
	}
}

func (p *Pages) run(w http.ResponseWriter, r *http.Request) error {
	page, err := p.page(r)
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(r.FormValue("before"), 10, 64)
	for ev, err := range p.events(r.Context(), page) {
		if err != nil {
			return err
		}
		if before > 0 && ev.Seq >= before || ev.Seq > page.Events { // what comes later is live
			break
		}
		if row := rowOf(ev); row != nil {
			page.Rows = append(page.Rows, *row)
		}
		if len(page.Rows) > 2*mostRows {
			page.Rows = append([]Row(nil), page.Rows[len(page.Rows)-mostRows:]...)
			page.Earlier = page.Rows[0].Seq
		}
	}
	if len(page.Rows) > mostRows {
		page.Rows = page.Rows[len(page.Rows)-mostRows:]
		page.Earlier = page.Rows[0].Seq
	}
	if before > 0 {
		page.Live = false
	}
	p.show(w, http.StatusOK, "run.html", page.Title, page)
	return nil
}

// status is how the run stands, for a page that is open.
func (p *Pages) status(w http.ResponseWriter, r *http.Request) error {
	page, err := p.page(r)
	if err == nil {
		p.write(w, http.StatusOK, "standing", page)
	}
	return err
}

// moves reports whether an event changes how a run stands.
func moves(ev plan.Event) bool {
	switch ev.Body.(type) {
	case plan.StateChange, plan.Parked, plan.Unparked, plan.VerdictGiven, plan.GapChange, plan.FindingMade,
		plan.CheckEnd, plan.PlanMade, plan.PhaseEnd, plan.RunEnd:
		return true
	}
	return false
}

// follow are the events of a run behind the last one that a browser has, and those that come.
func (p *Pages) follow(r *http.Request) (iter.Seq2[watch.Item, error], error) {
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	if last, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		after = max(after, last)
	}
	if r.PathValue("job") == "" {
		id, err := p.id(r)
		return p.hub.Watch(r.Context(), id, after, false), err
	}
	page, err := p.page(r)
	if err != nil {
		return nil, err
	}
	return watch.Of(r.Context(), p.service.Queue.Events(r.Context(), string(page.ID), after, true)), nil
}

// live streams rows of the timeline as they come, and says when the standing has changed.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) error {
	items, err := p.follow(r)
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	send := func(text string) bool {
		_ = control.SetWriteDeadline(p.service.Host.Now().Add(slow))
		_, err := w.Write([]byte(text))
		return err == nil && control.Flush() == nil
	}
	if !send("retry: 1000\nevent: stand\ndata: \n\n") {
		return nil
	}
	idle := 0
	for item, err := range items {
		if err != nil {
			return nil //nolint:nilerr // the browser comes back, and goes on where it was
		}
		text := ""
		if item.JSON == nil {
			if idle++; idle%15 == 0 {
				text = ": \n\n"
			}
		} else if text, err = p.frame(item.Seq, item.JSON); err != nil {
			return nil //nolint:nilerr // the page is a picture; the journal is not
		}
		if text != "" && !send(text) {
			return nil
		}
	}
	if r.Context().Err() == nil {
		send("event: done\ndata: \n\n")
	}
	return nil
}

// slow is how long a browser may take in an event before it is given up.
const slow = 15 * time.Second

// frame is an event as the stream of a page has it.
func (p *Pages) frame(seq int64, line []byte) (string, error) {
	var ev plan.Event
	if err := ev.UnmarshalJSON(line); err != nil {
		return "", err //nolint:wrapcheck // it names the event
	}
	html := ""
	if row := rowOf(ev); row != nil {
		var err error
		if html, err = p.render("row", row); err != nil {
			return "", err
		}
	}
	var out strings.Builder
	out.WriteString("id: " + strconv.FormatInt(seq, 10) + "\nevent: row\n")
	for text := range strings.Lines(html + "\n") {
		out.WriteString("data: " + strings.TrimRight(text, "\r\n") + "\n")
	}
	out.WriteString("\n")
	if moves(ev) {
		out.WriteString("event: stand\ndata: \n\n")
	}
	return out.String(), nil
}

// planPage is a plan with its versions.
type planPage struct {
	runPage
	Version, Other int
	Text           string
	Pairs          []Pair
}

func (p *Pages) plan(w http.ResponseWriter, r *http.Request) error {
	page, err := p.page(r)
	if err != nil {
		return err
	}
	out := planPage{runPage: page, Version: len(page.Plans)}
	if n, err := strconv.Atoi(r.FormValue("version")); err == nil && n >= 1 && n <= len(page.Plans) {
		out.Version = n
	}
	if out.Version > 0 {
		out.Text = page.Plans[out.Version-1].Text
	}
	out.Other = out.Version - 1
	if n, err := strconv.Atoi(r.FormValue("beside")); err == nil && n >= 0 && n <= len(page.Plans) {
		out.Other = n
	}
	if out.Other > 0 && out.Other != out.Version {
		out.Pairs = sideBySide(page.Plans[out.Other-1].Text, out.Text)
	}
	p.show(w, http.StatusOK, "plan.html", page.Title, out)
	return nil
}

// diffPage is a change by file.
type diffPage struct {
	runPage
	Files []File
}

func (p *Pages) diff(w http.ResponseWriter, r *http.Request) error {
	page, err := p.page(r)
	if err != nil {
		return err
	}
	text, err := p.changed(r, page)
	if err != nil {
		return err
	}
	p.show(w, http.StatusOK, "diff.html", page.Title, diffPage{
		runPage: page,
		Files:   filesOf(text),
	})
	return nil
}

// changed is the change of a run.
func (p *Pages) changed(r *http.Request, page runPage) (string, error) {
	if page.Job != nil {
		return p.service.JobDiff(r.Context(), *page.Job)
	}
	change, err := p.service.Change(r.Context(), page.ID, r.FormValue("thread") != "")
	if err != nil {
		return "", err
	}
	return change.Diff(r.Context())
}

// costPage is what a run consumed.
type costPage struct {
	runPage
	Consumed costs.Document
}

func (p *Pages) costOf(ctx context.Context, of runPage) (costs.Document, error) {
	used, err := costs.Of(p.events(ctx, of))
	if err != nil {
		return costs.Document{}, err
	}
	return costs.NewDocument(of.ID, used), nil
}

func (p *Pages) cost(w http.ResponseWriter, r *http.Request) error {
	page, err := p.page(r)
	if err != nil {
		return err
	}
	d, err := p.costOf(r.Context(), page)
	if err != nil {
		return err
	}
	p.show(w, http.StatusOK, "cost.html", page.Title, costPage{
		runPage:  page,
		Consumed: d,
	})
	return nil
}

// plot is what a script draws: bars with names.
type plot struct {
	Of     string      `json:"of"` // what the names are of
	Names  []string    `json:"names"`
	Series []string    `json:"series"`
	Values [][]float64 `json:"values"` // one list a series
	Whole  bool        `json:"whole"`  // there are no halves of them
}

func sendPlot(w http.ResponseWriter, of plot) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(of) //nolint:wrapcheck // the reader may have left
}

// costPlot is the cost by phase, or the tokens where no price is known.
func (p *Pages) costPlot(w http.ResponseWriter, r *http.Request) error {
	page, err := p.page(r)
	if err != nil {
		return err
	}
	d, err := p.costOf(r.Context(), page)
	if err != nil {
		return err
	}
	out := plot{
		Of:     "phase",
		Names:  []string{},
		Series: []string{"USD"},
		Values: [][]float64{{}},
	}
	byCost := d.Total.CostUSD > 0
	if !byCost {
		out.Series = []string{"tokens in, new", "tokens in, cached", "tokens out"}
		out.Values = [][]float64{{}, {}, {}}
	}
	for _, row := range d.Rows {
		name := string(row.Phase)
		if row.Attempt > 1 {
			name += " " + strconv.Itoa(row.Attempt)
		}
		if row.For != "" {
			name += " " + row.For
		}
		out.Names = append(out.Names, name)
		if byCost {
			out.Values[0] = append(out.Values[0], row.CostUSD)
			continue
		}
		for i, v := range []int64{row.Usage.Input - row.Usage.Cached, row.Usage.Cached, row.Usage.Output} {
			out.Values[i] = append(out.Values[i], float64(v))
		}
	}
	return sendPlot(w, out)
}
