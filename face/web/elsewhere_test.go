package web_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/host"
)

// Nothing is changed in a repository that only a journal from elsewhere names, whatever is asked
// of the API or on a page, unless runs may be begun there.
func TestAJournalNamesNoPlaceOfAServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	final := w.Elsewhere(t, host.Request{Dir: w.Repo, Text: "Make greet.sh say hello"})
	open := w.Elsewhere(t, host.Request{Dir: w.Repo, Text: "Ask first"})
	theirs, state := w.Leave(t)
	c := w.open(t, web.Options{})
	was := state()
	for path, body := range map[string]string{
		"/apply":   `{}`,
		"/restore": `{"to": "start"}`,
		"/letters": `{"text": "Now say goodbye"}`,
	} {
		c.refused("/runs/"+string(final)+path, body, "only the journal of run", "plan -C '"+theirs+"'")
	}
	for _, body := range []string{`{"branch": "theirs"}`, `{"commit": true}`, `{"check": true}`, `{"thread": true}`} {
		c.refused("/runs/"+string(final)+"/apply", body, "only the journal of run")
	}
	c.refused("/runs/"+string(final)+"/restore", `{"undo": true}`, "only the journal of run")
	waits := c.rest(open).Waiting[0]
	for path, body := range map[string]string{
		"/resume":  `{}`,
		"/letters": fmt.Sprintf(`{"kind": "answer", "text": "English", "call": %q, "digest": %q}`, waits.Call, waits.Digest),
	} {
		c.refused("/runs/"+string(open)+path, body, "was begun elsewhere", "plan trust "+string(open))
	}
	b := c.browse()
	for path, form := range map[string]string{
		"/apply":   "branch=theirs",
		"/restore": "to=start",
		"/letters": "text=Now+say+goodbye",
	} {
		if page := b.sends("/runs/"+string(final)+path, form); !strings.Contains(page, "only the journal of run") {
			t.Errorf("%s on the page answers %s", path, page)
		}
	}
	if page := b.sends("/runs/"+string(open)+"/resume", ""); !strings.Contains(page, "was begun elsewhere") {
		t.Errorf("resume on the page answers %s", page)
	}
	if got := c.ask(http.MethodPost, "/runs/"+string(open)+"/letters", `{"kind": "cancel"}`, nil); got >= 300 {
		t.Errorf("the cancel is answered with %d", got)
	}
	if now := state(); now != was {
		t.Errorf("it was\n%s\nand is\n%s", was, now)
	}
	c.stop()

	c = w.open(t, web.Options{Repos: []string{w.Dir}})
	var told struct {
		Run plan.RunID `json:"run"`
	}
	if got := c.ask(http.MethodPost, "/runs/"+string(final)+"/restore", `{"to": "start"}`, nil); got >= 300 {
		t.Errorf("where runs may be begun, a restore is answered with %d", got)
	}
	got := c.ask(http.MethodPost, "/runs/"+string(final)+"/letters", `{"text": "Make greet.sh say hello"}`, &told)
	if got >= 300 || c.rest(told.Run).State != plan.Approved {
		t.Errorf("where runs may be begun, a letter is answered with %d %+v", got, told)
	}
}

// sends sends a form, and returns what is answered, whatever that is.
func (b *browser) sends(action, form string) string {
	b.t.Helper()
	_, page := b.get("/new")
	field := hidden.FindStringSubmatch(page)
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.at.URL+strings.TrimPrefix(action, "/"),
		strings.NewReader(form+"&"+field[1]+"="+field[2]))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", strings.TrimSuffix(b.at.URL, "/"))
	got, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}
