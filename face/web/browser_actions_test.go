//go:build browser

package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/host"
)

// act leaves a page by a button of it, after fields were filled, all by keys. Both are named
// by selectors; fields are pairs of a selector and a text.
func (b *tab) act(button string, fields ...string) {
	b.t.Helper()
	for i := 0; i < len(fields); i += 2 {
		b.focus(fields[i])
		b.do(chromedp.KeyEvent(fields[i+1]))
	}
	b.focus(button)
	if _, err := chromedp.RunResponse(b.ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
		b.t.Fatalf("%s: %v", button, err)
	}
	if b.is(`document.title.startsWith("That did not work")`) {
		b.t.Fatalf("%s: %s", button, b.text(`document.querySelector("main").innerText`))
	}
}

func (b *tab) focus(selector string) {
	b.t.Helper()
	quoted, _ := json.Marshal(selector) //nolint:errchkjson // a string
	element := "document.querySelector(" + string(quoted) + ")"
	if !b.is(element + "?.focus(), document.activeElement === " + element + " && document.activeElement !== null") {
		b.t.Fatalf("%s cannot be focused in\n%s", selector, b.text(`document.querySelector("main").innerText`))
	}
}

// text evaluates an expression that is a text.
func (b *tab) text(expression string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// comes loads a page again until an expression is true, as people without scripts do.
func (b *tab) comes(url, expression string) {
	b.t.Helper()
	shown := ""
	for chromedp.Do(b.ctx, chromedp.Navigate(url)) == nil {
		if b.is(expression) {
			return
		}
		shown = b.text(`document.querySelector("main").innerText`)
	}
	b.t.Fatalf("%s never comes to %s, it shows\n%s", url, expression, shown)
}

// at is the path of the page.
func (b *tab) at() string {
	b.t.Helper()
	return b.text(`location.pathname.slice(1)`)
}

// has says that the page shows a text.
func has(text string) string {
	quoted, _ := json.Marshal(text) //nolint:errchkjson // a string
	return `document.querySelector("main").innerText.includes(` + string(quoted) + `)`
}

// state says that the page is of a run in a state.
func state(s plan.State) string {
	return `document.querySelector(".state")?.textContent === "` + string(s) + `"`
}

// addFact puts a fact into the memory of the home.
func (w *world) addFact(t *testing.T, text string) {
	t.Helper()
	h := host.New(w.Config)
	defer h.Close()
	db, err := h.DB(t.Context())
	if err == nil {
		_, _, err = db.AddFact(t.Context(), plan.Fact{Text: text, Source: plan.FactFromPerson})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestInABrowserEveryAction: every form of every page does what it says, with scripts and
// without them.
func TestInABrowserEveryAction(t *testing.T) {
	t.Parallel()
	for name, disabled := range map[string]bool{"scripts": false, "no-scripts": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.addDraft(t, "parser-tidy")
			w.addDraft(t, "cache-tidy")
			w.addFact(t, "Names are short")
			w.addFact(t, "Tests are run by make <img src=x onerror=window.hit=1>")
			c := w.open(t, web.Options{})
			b := openTab(t)
			b.do(chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
				_, err := cdp.Call(ctx, at, emulation.SetScriptExecutionDisabled,
					emulation.SetScriptExecutionDisabledParams{Value: disabled})
				return err
			}), chromedp.Navigate(c.at.Enter))
			run := b.actOnARun(c, w)
			batch := b.actOnABatch(c, w)
			for _, look := range []string{"dark", "light"} {
				b.prefer(look)
				for _, page := range []string{"", run, run + "/plan?version=2&beside=1", "batches", batch, "skills", "memory"} {
					b.do(chromedp.Navigate(c.at.URL + page))
					b.keep(strings.NewReplacer("/", "-", "?", "-", "&", "-").Replace(name + "-" + look + "-" + page))
				}
			}
			b.actOnTheRest(c)
			if !disabled {
				b.typeOn(c)
			}
			if b.is(`window.hit === 1`) {
				t.Error("a page runs what it shows")
			}
		})
	}
}

// prefer has the browser wish for dark or light pages.
func (b *tab) prefer(look string) {
	b.do(chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
		_, err := cdp.Call(ctx, at, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look}},
		})
		return err
	}))
}

// actOnARun begins a run, sends its plan back, carries the next one out, guides it, answers
// it, comments on a line of its change, and brings that over and back. It returns the page
// of the run.
func (b *tab) actOnARun(c *client, w *world) string {
	b.t.Helper()
	b.do(chromedp.Navigate(c.at.URL + "new"))
	b.act("main button", "textarea[name=request]", "Make greet.sh say hello. Ask first", "textarea[name=checks]",
		"sh greet.sh | grep -qx hello", "input[name=approve_plan]", " ")
	run := b.at()
	url := c.at.URL + run
	id := plan.RunID(strings.TrimPrefix(run, "runs/"))
	b.comes(url, `!!document.querySelector("button[value=approve]")`)
	b.act("button[value=deny]", ".waiting textarea", "Say why <b>hello</b>")
	b.comes(url, has("version 2 of the plan waits"))
	b.act("button[value=steer]", ".actions textarea", "Keep it short")
	b.comes(url, has("Keep it short"))
	c.rest(id)
	b.do(chromedp.Navigate(url))
	b.act("button[value=approve]")
	b.comes(url, `!!document.querySelector("input[value=French]")`)
	b.act(".waiting button", ".waiting textarea", "Both")
	b.comes(url, state(plan.Approved))
	b.act("form[action$=apply] button[name=check]")
	if !b.is(has("It would be")) || !b.is(has("greet.sh")) {
		b.t.Errorf("what apply would do is shown as %s", b.text(`document.querySelector("main").innerText`))
	}
	greets := func(want string) {
		b.t.Helper()
		if got, err := os.ReadFile(filepath.Join(w.Repo, "greet.sh")); err != nil || string(got) != "echo "+want+"\n" {
			b.t.Errorf("greet.sh is %q, %v; it should greet with %s", got, err, want)
		}
	}
	greets("hullo")
	b.do(chromedp.Navigate(url))
	b.act("form[action$=apply] button:not([name])")
	greets("hello")
	b.act("button[name=undo]")
	greets("hullo")
	b.do(chromedp.Navigate(url + "/diff"))
	b.do(chromedp.Click(chromedp.CSS("tr.add input[type=radio]")))
	b.act("form.file button", "form.file textarea", "Say it twice")
	if b.at() == run {
		b.t.Fatal("a comment on a change that is done begins no run")
	}
	next := c.at.URL + b.at()
	b.comes(next, `!!document.querySelector("button[value=approve]")`) // as the one before asked
	if !b.is(has("Say it twice")) {
		b.t.Error("the run that goes on does not show the comment")
	}
	b.act("button[value=cancel]")
	b.comes(next, state(plan.Cancelled))
	return run
}

// actOnABatch retries a job that failed and cancels what is left. It returns the page of
// the batch.
func (b *tab) actOnABatch(c *client, w *world) string {
	b.t.Helper()
	jobs, err := json.Marshal(map[string]any{
		"request": "Make greet.sh say hello <script>window.hit=1</script>",
		"repos":   []string{w.Repo},
		"checks":  []string{"false"},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var begun struct{ ID string }
	if status := c.ask(http.MethodPost, "/batches", string(jobs), &begun); status != http.StatusOK {
		b.t.Fatalf("a batch is answered with %d", status)
	}
	url := c.at.URL + "batches/" + begun.ID
	const retries = `!!document.querySelector("td form button")`
	b.comes(url, retries)
	b.act("td form button")
	b.comes(url, retries)
	b.act("form[action$=resume] button")
	b.comes(url, retries)
	b.act("form[action$=cancel] button")
	return b.at()
}

// actOnTheRest decides drafts, forgets a fact and finds runs.
func (b *tab) actOnTheRest(c *client) {
	b.t.Helper()
	b.do(chromedp.Navigate(c.at.URL + "skills"))
	b.act("button[value=approve]")
	b.act("button[value=reject]", "input[name=text]", "says nothing new")
	if b.is(`!!document.querySelector("button[value=approve]")`) || !b.is(has("parser-tidy")) {
		b.t.Errorf("decided, the skills are shown as %s", b.text(`document.querySelector("main").innerText`))
	}
	b.do(chromedp.Navigate(c.at.URL + "memory"))
	b.act("form.filter button", "input[name=q]", "short")
	if !b.is(has("Names are short")) || b.is(has("Tests are run by make")) {
		b.t.Error("words find another fact")
	}
	b.act("td button")
	if b.is(has("Names are short")) || !b.is(has("Tests are run by make")) {
		b.t.Error("the fact is not forgotten, or another one is")
	}
	b.do(chromedp.Navigate(c.at.URL))
	b.act("form.filter button", "input[name=q]", "line 1")
	if rows := `document.querySelectorAll(".runs tbody tr").length`; !b.is(rows + " === 1") {
		b.t.Error("words find another run")
	}
}

// typeOn types while the page follows the run: what was typed, and where, stays.
func (b *tab) typeOn(c *client) {
	b.t.Helper()
	id := c.begin(`{"request": "Make greet.sh say hello. Ask first", "approve_plan": true}`)
	d := c.rest(id)
	b.do(chromedp.Navigate(c.at.URL + "runs/" + string(id)))
	b.holds(`!!document.querySelector("button[value=approve]")`)
	b.focus(".waiting textarea")
	b.do(chromedp.KeyEvent("half a sent"))
	yes, _ := json.Marshal(map[string]string{ //nolint:errchkjson // strings
		"kind": "approve", "call": d.Waiting[0].Call, "digest": d.Waiting[0].Digest,
	})
	b.focus(".actions textarea")
	b.do(chromedp.KeyEvent("one"))
	c.ask(http.MethodPost, "/runs/"+string(id)+"/letters", string(yes), nil)
	b.holds(has("Which language?"))
	b.do(chromedp.KeyEvent(" two"))
	if text := b.text(`document.querySelector(".actions textarea").value`); text != "one two" {
		b.t.Errorf("while the run went on, what was typed became %q", text)
	}
}
