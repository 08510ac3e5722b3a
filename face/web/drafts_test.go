package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/skills/auto"
)

// addDraft puts a drafted skill into the home.
func (w *world) addDraft(t *testing.T, name string) {
	t.Helper()
	h := host.New(w.Config)
	defer h.Close()
	l, err := h.Learning(t.Context(), config.Config{}, "")
	if err != nil {
		t.Fatal(err)
	}
	var runs []auto.Evidence
	for _, run := range []string{"01JD3Q8Z7K4X2V5T9M0R6WYBNA", "01JD3Q8Z7K4X2V5T9M0R6WYBNB", "01JD3Q8Z7K4X2V5T9M0R6WYBNC"} {
		runs = append(runs, auto.Evidence{
			Run:     h.NewRunID(),
			Request: "tidy the " + name + " <script>alert(1)</script>",
			Steps:   []string{"Read it", run},
		})
	}
	if made, err := l.Library().Draft(t.Context(), name, runs, nil); err != nil || made == nil {
		t.Fatalf("no draft is made: %v, %v", made, err)
	}
}

// TestDrafts: they are decided by the digest of their bytes, over the API and on the page.
func TestDrafts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addDraft(t, "parser-tidy")
	w.addDraft(t, "cache-tidy")
	c := w.open(t, web.Options{})
	var waiting []learning.Review
	if c.ask(http.MethodGet, "/skills/drafts", "", &waiting); len(waiting) != 2 {
		t.Fatalf("%d drafts wait", len(waiting))
	}
	first, second := waiting[0], waiting[1]
	path := "/skills/drafts/" + first.Name
	for body, want := range map[string]int{
		`{}`:                             http.StatusBadRequest,
		`{"digest": "0123456789abcdef"}`: http.StatusConflict,
	} {
		for _, what := range []string{"/approve", "/reject"} {
			if status := c.ask(http.MethodPost, path+what, body, nil); status != want {
				t.Errorf("%s of %s is answered with %d, want %d", what, body, status, want)
			}
		}
	}
	yes := fmt.Sprintf(`{"digest": %q}`, first.Digest)
	if status := c.ask(http.MethodPost, "/skills/drafts/nothing/approve", yes, nil); status != http.StatusConflict {
		t.Errorf("a draft that is not there is answered with %d", status)
	}
	if status := c.ask(http.MethodPost, path+"/approve", yes, nil); status != http.StatusOK {
		t.Errorf("a yes is answered with %d", status)
	}
	b := c.browse()
	_, text := b.get("/skills")
	if !strings.Contains(text, second.Digest) || strings.Contains(text, first.Digest) || strings.Contains(text, "<script>alert") {
		t.Errorf("the page of skills is\n%s", text)
	}
	b.submit(text, "/skills/"+second.Name, 0, "decision", "reject", "text", "says nothing new")
	if c.ask(http.MethodGet, "/skills/drafts", "", &waiting); len(waiting) != 0 {
		t.Errorf("decided, %d drafts wait", len(waiting))
	}
}
