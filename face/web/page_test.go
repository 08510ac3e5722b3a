package web_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/face/web/guard"
)

// browser is one without scripts, which has come in by the address that was printed.
type browser struct {
	*client
}

func (c *client) browse() *browser {
	c.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.http.Jar = jar
	b := &browser{c}
	if at, text := b.get(strings.TrimPrefix(c.at.Enter, c.at.URL)); at != "/" || !strings.Contains(text, "<h1>Runs</h1>") {
		c.t.Fatalf("the address leads to %s:\n%s", at, text)
	}
	return b
}

// get opens a page, and says where it is.
func (b *browser) get(path string) (at, text string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.at.URL+strings.TrimPrefix(path, "/"), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

func (b *browser) do(r *http.Request) (at, text string) {
	b.t.Helper()
	got, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if got.StatusCode != http.StatusOK {
		b.t.Errorf("%s %s: %s\n%s", r.Method, r.URL, got.Status, data)
	}
	return got.Request.URL.Path, string(data)
}

// hidden matches what a form has that is not seen.
var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

// submit sends the form of a page that has an action, with what a person fills in, as
// pairs, and returns where that leads. Skip forms have that action and are not meant.
func (b *browser) submit(page, action string, skip int, filled ...string) (at, text string) {
	b.t.Helper()
	_, rest, found := "", page, false
	for range skip + 1 {
		if _, rest, found = strings.Cut(rest, `action="`+action+`"`); !found {
			b.t.Fatalf("there is no form for %s in\n%s", action, page)
		}
	}
	form, _, _ := strings.Cut(rest, "</form>")
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(form, -1) {
		values.Set(m[1], m[2])
	}
	for i := 0; i < len(filled); i += 2 {
		values.Set(filled[i], filled[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.at.URL+strings.TrimPrefix(action, "/"),
		strings.NewReader(values.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", strings.TrimSuffix(b.at.URL, "/"))
	return b.do(r)
}

// TestPagesWithoutScripts: a run from its form over each decision to a comment on a line of
// its change, which another run goes on with.
func TestPagesWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.open(t, web.Options{}).browse()
	_, form := b.get("/new")
	at, _ := b.submit(form, "/new", 0, "request", "Make greet.sh say hello. Ask first", "repo", w.Repo, "approve_plan", "1",
		"checks", "sh greet.sh | grep -qx hello\n")
	id := plan.RunID(strings.TrimPrefix(at, "/runs/"))
	letters := at + "/letters"
	if d := b.rest(id); d.Parked != plan.ParkApproval {
		t.Fatalf("the run that the form begins stands at %+v", d)
	}
	_, text := b.get("/decisions")
	if !strings.Contains(text, "# Plan: Say hello") || !strings.Contains(text, "Digest <code>") {
		t.Errorf("the decisions do not show the plan:\n%s", text)
	}
	b.submit(text, letters, 0, "kind", "approve")
	_, form, _ = strings.Cut(text, `action="`+letters+`"`)
	again := url.Values{"kind": {"deny"}, "text": {"Louder"}}
	for _, m := range hidden.FindAllStringSubmatch(form, 3) {
		again.Set(m[1], m[2])
	}
	if page := b.sends(letters, again.Encode()); !strings.Contains(page, "approved by person at 20") {
		t.Errorf("a second decision by the page is answered with\n%s", page)
	}
	if d := b.rest(id); d.Parked != plan.ParkQuestion {
		t.Fatalf("approved by the page, it stands at %+v", d)
	}
	_, text = b.get(at)
	b.submit(text, letters, 0, "option", "English")
	if d := b.rest(id); d.State != plan.Approved {
		t.Fatalf("answered by the page, it stands at %+v", d)
	}
	for _, view := range []string{"", "/plan", "/cost", "/standing"} {
		if _, text := b.get(at + view); !strings.Contains(text, "<") {
			t.Errorf("%s is empty", view)
		}
	}
	_, text = b.get(at + "/diff")
	if !strings.Contains(text, `<tr class="add">`) {
		t.Errorf("the change is shown as\n%s", text)
	}
	next, _ := b.submit(text, letters, 0, "text", "Say it twice", "line", "new 1 echo hello")
	if next == at || !strings.HasPrefix(next, "/runs/") {
		t.Fatalf("a comment leads to %s", next)
	}
	d := b.rest(plan.RunID(strings.TrimPrefix(next, "/runs/")))
	if d.Continues != id || d.Request != "About greet.sh, line 1 (`echo hello`):\n\nSay it twice" {
		t.Errorf("what goes on with the comment is %+v", d.ListedRun)
	}
	for _, path := range []string{"/", "/?q=hello&state=approved", "/rows", "/decisions", "/batches", "/skills", "/memory", "/new"} {
		b.get(path)
	}
}

// TestALimitThatIsNone: what cannot be read as a limit begins no run without one.
func TestALimitThatIsNone(t *testing.T) {
	t.Parallel()
	b := newWorld(t).open(t, web.Options{}).browse()
	for _, cost := range []string{"2,50", "5 USD", "-1", "0", "NaN", "inf"} {
		got, err := b.http.PostForm(b.at.URL+"new", url.Values{
			"request":       {"x"},
			"max_cost":      {cost},
			guard.CSRFField: {b.secret()},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != http.StatusBadRequest {
			t.Errorf("at most %q is answered with %s", cost, got.Status)
		}
	}
}

// secret is the one that forms carry.
func (b *browser) secret() string {
	b.t.Helper()
	_, form := b.get("/new")
	return hidden.FindStringSubmatch(form)[2]
}

// TestTheLivePage: rows as they come, without a gap for a browser that comes back, and an
// end.
func TestTheLivePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, web.Options{})
	id := c.begin(`{"request": "Make greet.sh say hello"}`)
	d := c.rest(id)
	read := func(last string) (ids []string, done bool) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.at.URL+"runs/"+string(id)+"/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.at.Token)
		r.Header.Set("Last-Event-ID", last)
		got, err := c.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		for lines := bufio.NewScanner(got.Body); lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				ids = append(ids, text)
			}
			done = done || lines.Text() == "event: done"
		}
		return ids, done
	}
	if ids, done := read(""); int64(len(ids)) != d.Events || !done {
		t.Errorf("%d of %d events came, to the end: %v", len(ids), d.Events, done)
	}
	if ids, done := read("10"); ids[0] != "11" || int64(len(ids)) != d.Events-10 || !done {
		t.Errorf("behind 10, %d of %d events came, the first is %s", len(ids), d.Events, ids[0])
	}
}

// TestAFormOfAnotherPage: without the secret nothing is done, also with the cookie.
func TestAFormOfAnotherPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.open(t, web.Options{}).browse()
	got, err := b.http.PostForm(b.at.URL+"new", url.Values{"request": {"x"}, guard.CSRFField: {"guessed"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = got.Body.Close()
	if got.StatusCode != http.StatusForbidden {
		t.Errorf("it is answered with %s", got.Status)
	}
	if _, text := b.get("/"); !strings.Contains(text, "No run fits") {
		t.Error("it began a run")
	}
}
