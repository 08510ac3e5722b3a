//go:build browser

package web_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/plan-engine/plan/face/web"
)

// tab is a page of a real browser.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // chromedp's way
}

func openTab(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(stop)
	return &tab{
		t:   t,
		ctx: ctx,
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// holds waits until an expression is true.
func (b *tab) holds(expression string) {
	b.t.Helper()
	var err error
	for range 5 { // a page that is left while it is asked ends the question
		if _, err = chromedp.Run(b.ctx, chromedp.Poll[bool](expression)); err == nil {
			return
		}
	}
	b.t.Fatalf("it never holds that %s: %v", expression, err)
}

// is evaluates an expression.
func (b *tab) is(expression string) bool {
	b.t.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

// keep keeps a picture, where the one who runs the test wants to look at it.
func (b *tab) keep(name string) {
	b.t.Helper()
	dir := os.Getenv("PLAN_PICTURES")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// tabTo presses Tab until an element has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 80 {
		if b.is(`document.activeElement.matches(` + "`" + selector + "`" + `)`) {
			return
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("no Tab leads to %s", selector)
}

// TestInABrowser: by keyboard alone a run is begun, its plan allowed and its question
// answered, while its page follows it; every page fits 360 pixels, and nothing that a run
// says is run.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, web.Options{})
	b := openTab(t)
	b.do(chromedp.Navigate(c.at.Enter), chromedp.Navigate(c.at.URL+"new"))
	const hostile = `Make greet.sh say hello. Ask first <img src=x onerror=window.hit=1>`
	b.tabTo("textarea[name=request]")
	b.do(chromedp.KeyEvent(hostile))
	b.tabTo("input[name=approve_plan]")
	b.do(chromedp.KeyEvent(" "))
	b.tabTo("main button")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.holds(`location.pathname.startsWith("/runs/")`)
	b.holds(`!!document.querySelector("button[value=approve]")`)
	rows := `document.querySelectorAll(".timeline li").length`
	if !b.is(rows+" > 5") || !b.is(`typeof htmx === "object"`) {
		t.Error("the page does not follow the run")
	}
	b.keep("plan-waits")
	b.tabTo("button[value=approve]")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.holds(`!!document.querySelector("input[value=English]")`)
	b.tabTo("input[name=option]")
	b.do(chromedp.KeyEvent(" "))
	b.tabTo("section.waiting button")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.holds(`document.querySelector(".state")?.textContent === "approved"`)
	if !b.is(`[...document.querySelectorAll(".timeline li")].every((e, i, all) => !i || +e.id.slice(1) > +all[i-1].id.slice(1))`) {
		t.Error("the rows came out of order")
	}
	run, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.pathname.slice(1)`))
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1100, 360} {
		b.do(chromedp.EmulateViewport(width, 800))
		for _, page := range []string{
			"", run, run + "/plan", run + "/diff", run + "/cost", "decisions", "batches", "skills", "memory", "new",
		} {
			b.do(chromedp.Navigate(c.at.URL + page))
			if !b.is(`document.documentElement.scrollWidth <= innerWidth`) {
				t.Errorf("%q is wider than %d pixels", page, width)
			}
			if b.is(`window.hit === 1 || !!document.querySelector("img")`) {
				t.Errorf("%q runs what a run says", page)
			}
			if strings.HasSuffix(page, "/cost") {
				b.holds(`!!document.querySelector(".plot canvas")`)
			}
			b.keep(strings.ReplaceAll("page-"+page, "/", "-") + map[bool]string{true: "-narrow"}[width == 360])
		}
	}
}
