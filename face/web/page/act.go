package page

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
)

// tell sends a letter that a form holds.
func (p *Pages) tell(w http.ResponseWriter, r *http.Request) error {
	text := r.PostFormValue("text")
	if option := r.PostFormValue("option"); text == "" {
		text = option
	}
	if file := r.PostFormValue("file"); file != "" && strings.TrimSpace(text) != "" {
		text = about(file, r.PostFormValue("line")) + text
	}
	letter := service.Letter{
		Kind:   r.PostFormValue("kind"),
		Text:   strings.TrimSpace(text),
		Call:   r.PostFormValue("call"),
		Digest: r.PostFormValue("digest"),
		Scope:  r.PostFormValue("scope"),
		Reject: r.PostFormValue("reject") != "",
	}
	id, job := r.PathValue("id"), r.PathValue("job")
	if job != "" {
		_, err := p.service.TellJob(r.Context(), id, job, letter)
		if err == nil {
			redirectBack(w, r, "/batches/"+url.PathEscape(id)+"/jobs/"+url.PathEscape(job))
		}
		return err
	}
	result, err := p.service.Tell(r.Context(), id, letter)
	if err != nil {
		return err
	}
	otherwise := "/runs/" + string(result.Run)
	if result.Reaches == "run" { // it goes on as another one
		http.Redirect(w, r, otherwise, http.StatusSeeOther)
		return nil
	}
	redirectBack(w, r, otherwise)
	return nil
}

// about says which place of a change a comment is about. Line is as a form has it: the side,
// the number, and what stands there.
func about(file, line string) string {
	side, rest, ok := strings.Cut(line, " ")
	number, text, _ := strings.Cut(rest, " ")
	if !ok {
		return "About " + file + ":\n\n"
	}
	where := "line "
	if side == "old" {
		where = "what was line "
	}
	return "About " + file + ", " + where + number + " (`" + strings.TrimSpace(text) + "`):\n\n"
}

func (p *Pages) resume(w http.ResponseWriter, r *http.Request) error {
	id, err := p.service.Resume(r.Context(), r.PathValue("id"), service.Resume{
		AcceptDrift: r.PostFormValue("how") == "accept",
		Replan:      r.PostFormValue("how") == "replan",
		Reason:      r.PostFormValue("text"),
	})
	if err == nil {
		redirectBack(w, r, "/runs/"+string(id))
	}
	return err
}

func (p *Pages) apply(w http.ResponseWriter, r *http.Request) error {
	m, err := p.service.Apply(r.Context(), r.PathValue("id"), service.Apply{
		Check:  r.PostFormValue("check") != "",
		Branch: r.PostFormValue("branch"),
	})
	return p.answerMove(w, m, err)
}

func (p *Pages) restore(w http.ResponseWriter, r *http.Request) error {
	m, err := p.service.Restore(r.Context(), r.PathValue("id"), service.Restore{
		To:    r.PostFormValue("to"),
		Undo:  r.PostFormValue("undo") != "",
		Check: r.PostFormValue("check") != "",
	})
	return p.answerMove(w, m, err)
}

// answerMove says what was done to a work tree.
func (p *Pages) answerMove(w http.ResponseWriter, m host.ApplyResult, err error) error {
	if err != nil {
		return err
	}
	p.show(w, http.StatusOK, "moved.html", "Done", m)
	return nil
}

func (p *Pages) batches(w http.ResponseWriter, r *http.Request) error {
	list, err := p.service.Batches(r.Context())
	if err == nil {
		p.show(w, http.StatusOK, "batches.html", "Batches", list)
	}
	return err
}

func (p *Pages) batch(w http.ResponseWriter, r *http.Request) error {
	b, err := p.service.Batch(r.Context(), r.PathValue("id"))
	if err == nil {
		p.show(w, http.StatusOK, "batch.html", "Batch "+b.ID, b)
	}
	return err
}

// batchPlot is how many jobs are in each state.
func (p *Pages) batchPlot(w http.ResponseWriter, r *http.Request) error {
	b, err := p.service.Batch(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	out := plot{
		Of:     "state",
		Series: []string{"jobs"},
		Values: [][]float64{{}},
		Whole:  true,
	}
	for _, s := range []batch.JobState{
		batch.JobDone, batch.JobFailed, batch.JobParked, batch.JobCancelled, batch.JobRunning, batch.JobQueued,
	} {
		out.Names = append(out.Names, string(s))
		out.Values[0] = append(out.Values[0], float64(b.Counts[s]))
	}
	return sendPlot(w, out)
}

// changeBatch does what a form of a batch asks for.
func (p *Pages) changeBatch(w http.ResponseWriter, r *http.Request) (err error) {
	prefix := r.PathValue("id")
	var which service.Again
	if job := r.PostFormValue("job"); job != "" {
		which.Only = []string{job}
	}
	var id string
	switch action := r.PathValue("what"); action {
	case "resume":
		id, err = p.service.ResumeBatch(r.Context(), prefix)
	case "retry":
		id, err = p.service.RetryBatch(r.Context(), prefix, which)
	case "cancel":
		id, _, err = p.service.CancelBatch(r.Context(), prefix, which)
	default:
		err = hint.Usage("a batch cannot be %q", action)
	}
	if err == nil {
		http.Redirect(w, r, "/batches/"+id, http.StatusSeeOther) //nolint:gosec // an id of ours
	}
	return err
}

func (p *Pages) skills(w http.ResponseWriter, r *http.Request) error {
	drafts, err := p.service.Drafts(r.Context())
	if err != nil {
		return err
	}
	listed, stats, err := p.service.Skills(r.Context())
	if err != nil {
		return err
	}
	p.show(w, http.StatusOK, "skills.html", "Skills", map[string]any{
		"Drafts": drafts,
		"Skills": listed,
		"Stats":  stats,
	})
	return nil
}

func (p *Pages) decideDraft(w http.ResponseWriter, r *http.Request) error {
	revision, _ := strconv.Atoi(r.PostFormValue("revision"))
	approved := r.PostFormValue("decision") == "approve"
	err := p.service.DecideDraft(r.Context(), r.PathValue("name"), approved, service.Draft{
		Digest:   r.PostFormValue("digest"),
		Revision: revision,
		Why:      r.PostFormValue("text"),
	})
	if err == nil {
		http.Redirect(w, r, "/skills", http.StatusSeeOther)
	}
	return err
}

func (p *Pages) memory(w http.ResponseWriter, r *http.Request) error {
	words := r.FormValue("q")
	facts, err := p.service.Facts(r.Context(), words)
	if err == nil {
		p.show(w, http.StatusOK, "memory.html", "Memory", map[string]any{
			"Facts": facts,
			"Words": words,
		})
	}
	return err
}

func (p *Pages) forget(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return hint.Usage("%q is no fact", r.PathValue("id"))
	}
	if _, err := p.service.ForgetFact(r.Context(), id); err != nil {
		return err
	}
	http.Redirect(w, r, "/memory", http.StatusSeeOther)
	return nil
}
