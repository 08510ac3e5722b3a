package api

import (
	"net/http"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/costs"
	"github.com/plan-engine/plan/memory"
)

// runs lists runs, newest first: with state, parked, repo, q (words of their requests) and
// limit.
func (a *API) runs(w http.ResponseWriter, r *http.Request) error {
	limit, err := number(r, "limit")
	if err != nil {
		return err
	}
	parked, err := yes(r, "parked", false)
	if err != nil {
		return err
	}
	runs, err := a.service.List(r.Context(), host.Filter{
		State:  r.FormValue("state"),
		Parked: parked,
		Dir:    r.FormValue("repo"),
		Limit:  int(limit),
	}, r.FormValue("q"))
	return ok(w, a.service.Host.ListRuns(runs), err)
}

func (a *API) begin(w http.ResponseWriter, r *http.Request) error {
	var b service.Begin
	if err := read(r, &b); err != nil {
		return err
	}
	id, err := a.service.Begin(b)
	if err != nil {
		return err
	}
	w.Header().Set("Location", Prefix+"/runs/"+string(id))
	document(w, http.StatusCreated, begun{ID: id})
	return nil
}

// id finds the run that a path names, by any part of its id that fits no other.
func (a *API) id(r *http.Request) (plan.RunID, error) {
	return a.service.Host.Resolve(r.Context(), r.PathValue("id"))
}

func (a *API) run(w http.ResponseWriter, r *http.Request) error {
	id, err := a.id(r)
	if err != nil {
		return err
	}
	d, err := a.service.Document(r.Context(), id)
	return ok(w, d, err)
}

// plan answers with a version of the plan; with diff, with what it changed of the one
// before it.
func (a *API) plan(w http.ResponseWriter, r *http.Request) error {
	version, err := number(r, "version")
	if err != nil {
		return err
	}
	diff, err := yes(r, "diff", false)
	if err != nil {
		return err
	}
	id, err := a.id(r)
	if err != nil {
		return err
	}
	run, err := a.service.Host.Standing(r.Context(), id, nil)
	if err != nil {
		return err
	}
	if len(run.Plans) == 0 || int(version) > len(run.Plans) {
		_, err := host.PlanVersion(run, int(version))
		document(w, http.StatusNotFound, problem{Error: err.Error()})
		return nil
	}
	if diff {
		d, err := host.PlanChange(run, int(version))
		return ok(w, d, err)
	}
	doc, err := host.PlanVersion(run, int(version))
	return ok(w, doc, err)
}

// Change is the change of a run.
type Change struct {
	ID   plan.RunID    `json:"id"`
	Stat plan.DiffStat `json:"stat"`
	Diff string        `json:"diff"`
}

func (a *API) diff(w http.ResponseWriter, r *http.Request) error {
	thread, err := yes(r, "thread", false)
	if err != nil {
		return err
	}
	id, err := a.id(r)
	if err != nil {
		return err
	}
	change, err := a.service.Change(r.Context(), id, thread)
	if err != nil {
		return err
	}
	out := Change{ID: id}
	if out.Stat, err = change.Stat(r.Context()); err != nil {
		return err
	}
	out.Diff, err = change.Diff(r.Context())
	return ok(w, out, err)
}

func (a *API) cost(w http.ResponseWriter, r *http.Request) error {
	id, err := a.id(r)
	if err != nil {
		return err
	}
	db, err := a.service.Host.DB(r.Context())
	if err != nil {
		return err
	}
	used, err := costs.Of(db.Events(r.Context(), id, memory.Query{}))
	if err != nil {
		return err
	}
	return ok(w, costs.NewDocument(id, used), nil)
}

// Repositories are those in which runs may be begun.
type Repositories struct {
	Repositories []string `json:"repositories"`
}

func (a *API) repositories(w http.ResponseWriter, _ *http.Request) error {
	return ok(w, Repositories{Repositories: a.service.Repos}, nil)
}

func (a *API) batches(w http.ResponseWriter, r *http.Request) error {
	list, err := a.service.Batches(r.Context())
	return ok(w, list, err)
}

func (a *API) batch(w http.ResponseWriter, r *http.Request) error {
	b, err := a.service.Batch(r.Context(), r.PathValue("id"))
	return ok(w, b, err)
}

// batchBegun names a batch that is driven.
type batchBegun struct {
	ID   string `json:"id"`
	Jobs int    `json:"jobs,omitempty"` // that were cancelled
}

func (a *API) beginBatch(w http.ResponseWriter, r *http.Request) error {
	return take(w, r, func(n service.NewBatch) (any, error) {
		id, err := a.service.BeginBatch(r.Context(), n)
		return batchBegun{ID: id}, err
	})
}

func (a *API) resumeBatch(w http.ResponseWriter, r *http.Request) error {
	id, err := a.service.ResumeBatch(r.Context(), r.PathValue("id"))
	return ok(w, batchBegun{ID: id}, err)
}

func (a *API) retryBatch(w http.ResponseWriter, r *http.Request) error {
	return take(w, r, func(again service.Again) (any, error) {
		id, err := a.service.RetryBatch(r.Context(), r.PathValue("id"), again)
		return batchBegun{ID: id}, err
	})
}

func (a *API) cancelBatch(w http.ResponseWriter, r *http.Request) error {
	return take(w, r, func(which service.Again) (any, error) {
		id, n, err := a.service.CancelBatch(r.Context(), r.PathValue("id"), which)
		return batchBegun{ID: id, Jobs: n}, err
	})
}

// job answers with how the run of a job in the queue stands.
func (a *API) job(w http.ResponseWriter, r *http.Request) error {
	d, _, err := a.service.JobDocument(r.Context(), r.PathValue("id"), r.PathValue("job"))
	return ok(w, d, err)
}

func (a *API) jobDiff(w http.ResponseWriter, r *http.Request) error {
	d, _, err := a.service.JobDocument(r.Context(), r.PathValue("id"), r.PathValue("job"))
	if err != nil {
		return err
	}
	out := Change{ID: d.ID}
	if d.Diff != nil {
		out.Stat = *d.Diff
	}
	out.Diff, err = a.service.JobDiff(r.Context(), *d.Job)
	return ok(w, out, err)
}

func (a *API) drafts(w http.ResponseWriter, r *http.Request) error {
	drafts, err := a.service.Drafts(r.Context())
	return ok(w, drafts, err)
}

// Decided is what became of a draft.
type Decided struct {
	Name     string `json:"name"`
	Decision string `json:"decision"`
	Digest   string `json:"digest"`
}

func (a *API) decideDraft(approve bool) answer {
	word := "rejected"
	if approve {
		word = "approved"
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		return take(w, r, func(d service.Draft) (any, error) {
			name := r.PathValue("name")
			return Decided{
				Name:     name,
				Decision: word,
				Digest:   d.Digest,
			}, a.service.DecideDraft(r.Context(), name, approve, d)
		})
	}
}
