package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/host/batches"
)

// TestABatch: begun over the API in an allowed repository, shown job by job, and nothing of
// it begun again that is approved.
func TestABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, web.Options{})
	ask, err := json.Marshal(map[string]any{
		"request": "Make greet.sh say hello",
		"repos":   []string{w.Repo},
		"checks":  []string{"sh greet.sh | grep -qx hello"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var begun struct{ ID string }
	if status := c.ask(http.MethodPost, "/batches", string(ask), &begun); status != http.StatusOK || begun.ID == "" {
		t.Fatalf("a batch is answered with %d, %+v", status, begun)
	}
	var b batches.Standing
	for b.State != batches.Done { // each look is a request, and the batch ends by itself
		if status := c.ask(http.MethodGet, "/batches/"+begun.ID, "", &b); status != http.StatusOK {
			t.Fatalf("the batch is answered with %d", status)
		}
		if len(b.Jobs) == 1 && b.Jobs[0].Run != "" && c.ask(http.MethodGet, "/runs/"+string(b.Jobs[0].Run), "", nil) == http.StatusOK {
			c.rest(b.Jobs[0].Run)
		}
	}
	if b.Jobs[0].State != batch.JobDone || b.Counts[batch.JobDone] != 1 {
		t.Errorf("it stands at %+v", b)
	}
	if status := c.ask(http.MethodPost, "/batches", string(ask), nil); status != http.StatusConflict {
		t.Errorf("the same jobs are answered with %d", status)
	}
	elsewhere := strings.Replace(string(ask), w.Repo, t.TempDir(), 1)
	if status := c.ask(http.MethodPost, "/batches", elsewhere, nil); status != http.StatusConflict {
		t.Errorf("a repository that is not allowed is answered with %d", status)
	}
	for _, body := range []string{"{}", `{"jobs": "x: y", "repos": ["/x"]}`, `{"jobs": "- nonsense"}`} {
		if status := c.ask(http.MethodPost, "/batches", body, nil); status != http.StatusBadRequest {
			t.Errorf("%s is answered with %d", body, status)
		}
	}
	c.described("/batches/"+begun.ID, "Standing")
	page := c.browse()
	if _, text := page.get("/batches/" + begun.ID); !strings.Contains(text, string(b.Jobs[0].Run)) {
		t.Errorf("the page of the batch lacks its run:\n%s", text)
	}
	if _, text := page.get("/batches/" + begun.ID + "/plot.json"); !strings.Contains(text, `"values":[[1,0,0,0,0,0]]`) {
		t.Errorf("the plot is %s", text)
	}
}
