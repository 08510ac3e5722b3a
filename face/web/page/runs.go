package page

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// perPage is how many runs a page lists.
const perPage = 100

// list is a page of runs.
type list struct {
	Runs   []host.ListedRun
	States []plan.State
	State  string
	Repo   string
	Words  string
	Query  string // of the same page
	Next   string // query of the next one; "" for none
}

func (p *Pages) listOf(r *http.Request) (list, error) {
	l := list{
		States: append(plan.ActiveStates(), plan.FinalStates()...),
		State:  r.FormValue("state"),
		Repo:   r.FormValue("repo"),
		Words:  r.FormValue("q"),
	}
	at, _ := strconv.Atoi(r.FormValue("page"))
	at = min(max(at, 0), 1<<20)
	runs, err := p.service.List(r.Context(), host.Filter{
		State: l.State,
		Dir:   l.Repo,
		Limit: (at+1)*perPage + 1,
	}, l.Words)
	if err != nil {
		return l, err
	}
	runs = runs[min(at*perPage, len(runs)):]
	query := url.Values{"state": {l.State}, "repo": {l.Repo}, "q": {l.Words}}
	if len(runs) > perPage {
		runs = runs[:perPage]
		query.Set("page", strconv.Itoa(at+1))
		l.Next = query.Encode()
	}
	query.Set("page", strconv.Itoa(at))
	l.Query = query.Encode()
	l.Runs = p.service.Host.ListRuns(runs)
	return l, nil
}

func (p *Pages) runs(w http.ResponseWriter, r *http.Request) error {
	l, err := p.listOf(r)
	if err == nil {
		p.show(w, http.StatusOK, "runs.html", "Runs", l)
	}
	return err
}

// rows are those of the list as it is now.
func (p *Pages) rows(w http.ResponseWriter, r *http.Request) error {
	l, err := p.listOf(r)
	if err == nil {
		p.write(w, http.StatusOK, "rows", l)
	}
	return err
}

// waitingRun is a run that waits for a person.
type waitingRun struct {
	Run  host.ListedRun
	Data runPage
}

// decisions are all that waits for a person, whole.
func (p *Pages) decisions(w http.ResponseWriter, r *http.Request) error {
	runs, err := p.service.List(r.Context(), host.Filter{Parked: true}, "")
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(r memory.RunInfo) bool {
		return !slices.Contains([]plan.ParkReason{plan.ParkApproval, plan.ParkQuestion, plan.ParkDrift}, r.Parked)
	})
	runs = runs[:min(len(runs), perPage)]
	out := []waitingRun{}
	for i, run := range p.service.Host.ListRuns(runs) {
		d, err := p.service.Document(r.Context(), runs[i].ID)
		if err != nil {
			return err
		}
		if len(d.Waiting) > 0 || d.Drift != nil {
			out = append(out, waitingRun{
				Run: run,
				Data: runPage{
					Run:  d,
					Here: "/runs/" + string(run.ID),
				},
			})
		}
	}
	drafts, err := p.service.Drafts(r.Context())
	if err != nil {
		return err
	}
	p.show(w, http.StatusOK, "decisions.html", "Decisions", map[string]any{
		"Asking": out,
		"Drafts": len(drafts),
	})
	return nil
}

func (p *Pages) newRun(w http.ResponseWriter, _ *http.Request) error {
	p.show(w, http.StatusOK, "new.html", "New run", p.service.Repos)
	return nil
}

// mostCost is the most that a limit can be, in USD.
const mostCost = 1e6

// begin begins the run that a form asks for.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request) error {
	cost := 0.0
	if text := strings.TrimSpace(r.PostFormValue("max_cost")); text != "" {
		var err error
		cost, err = strconv.ParseFloat(text, 64)
		if fits := cost > 0 && cost <= mostCost; err != nil || !fits { // misread, it would be no limit
			return hint.Usage("at most %q: write a number of USD, such as 2.50", text)
		}
	}
	var checks []string
	for line := range strings.Lines(r.PostFormValue("checks")) {
		if line = strings.TrimSpace(line); line != "" {
			checks = append(checks, line)
		}
	}
	id, err := p.service.Begin(service.Begin{
		Request:     r.PostFormValue("request"),
		Repo:        r.PostFormValue("repo"),
		Aim:         plan.Aim(r.PostFormValue("aim")),
		Checks:      checks,
		Way:         r.PostFormValue("way"),
		Worktree:    r.PostFormValue("worktree") != "",
		PlanOnly:    r.PostFormValue("plan_only") != "",
		ApprovePlan: r.PostFormValue("approve_plan") != "",
		MaxCost:     cost,
	})
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/runs/"+string(id), http.StatusSeeOther)
	return nil
}
