package page

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/internal/eventcases"
	"github.com/plan-engine/plan/internal/planted"
	"github.com/plan-engine/plan/internal/sanitize"
)

// hostile is a text that leaves an attribute, an element and a line, and acts on who reads
// it, if it can.
const hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;\x1b]0;x\x07\u202e\u200b\r\nid: 9\nevent: done\n\n"

// filled is a value with hostile text in all of its fields.
func filled[T any]() T {
	var v T
	planted.Fill(reflect.ValueOf(&v).Elem(), hostile)
	return v
}

func testPages(t *testing.T) *Pages {
	t.Helper()
	p, err := New(&service.Service{Host: host.New(host.Config{
		Environ: []string{"PLAN_HOME=" + t.TempDir()},
		Now:     func() time.Time { return time.Unix(1, 0) },
	})}, nil, "csrf")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// inert finds what is wrong with a page of hostile text; "" for nothing.
func inert(html string) string {
	for _, bad := range []string{"<script>alert", "<img", "<SCRIPT>alert"} {
		if strings.Contains(html, bad) {
			return "has " + bad
		}
	}
	if at := attribute.FindString(html); at != "" {
		return "has the attribute " + at
	}
	if sanitize.Text(html) != html {
		return "has what acts or is not seen"
	}
	return ""
}

// attribute matches one that a script would be run by.
var attribute = regexp.MustCompile(`<[a-z]+[^>"]*(?:"[^"]*"[^>"]*)*\son[a-z]+\s*=`)

// TestHostileText: whatever stands in whichever field, a page is a page.
func TestHostileText(t *testing.T) {
	t.Parallel()
	p := testPages(t)
	run := runPage{
		Run:  filled[service.Run](),
		Rows: []Row{filled[Row]()},
		Live: true,
		Here: "/runs/" + hostile,
	}
	ofJob := run
	run.Job = nil
	asPlan := run
	asPlan.Waiting = []service.Waiting{filled[service.Waiting]()}
	asPlan.Waiting[0].Question = ""
	cost := filled[costPage]()
	cost.Here = run.Here
	for name, of := range map[string]struct {
		template string
		data     any
	}{
		"runs":         {"runs.html", list{Runs: []host.ListedRun{filled[host.ListedRun]()}, State: hostile, Repo: hostile, Words: hostile, Next: "x"}},
		"run":          {"run.html", run},
		"run, a plan":  {"run.html", asPlan},
		"run of a job": {"run.html", ofJob},
		"plan":         {"plan.html", planPage{runPage: run, Version: 2, Other: 1, Text: hostile, Pairs: sideBySide(hostile, hostile+"x")}},
		"plan, whole":  {"plan.html", planPage{runPage: run, Version: 2, Text: hostile}},
		"diff":         {"diff.html", diffPage{runPage: run, Files: []File{filled[File]()}}},
		"diff, as git": {"diff.html", diffPage{runPage: run, Files: filesOf("diff --git a/x b/" + hostile + "\n@@ -1 +1 @@" + hostile + "\n+" + hostile)}},
		"cost":         {"cost.html", cost},
		"decisions": {"decisions.html", map[string]any{
			"Asking": []waitingRun{{Run: filled[host.ListedRun](), Data: asPlan}},
			"Drafts": 1,
		}},
		"batches": {"batches.html", []batches.Batch{filled[batches.Batch]()}},
		"batch":   {"batch.html", filled[batches.Standing]()},
		"skills": {"skills.html", map[string]any{
			"Drafts": []learning.Review{filled[learning.Review]()},
			"Skills": []learning.Listing{filled[learning.Listing]()},
			"Stats":  []learning.Stat{filled[learning.Stat]()},
		}},
		"memory": {"memory.html", map[string]any{"Facts": []plan.Fact{filled[plan.Fact]()}, "Words": hostile}},
		"new":    {"new.html", []string{hostile}},
		"moved":  {"moved.html", filled[host.ApplyResult]()},
		"error":  {"error.html", problem{Error: hostile, Hint: hostile}},
	} {
		html, err := p.render(of.template, frame{Title: hostile, Section: "runs", Data: of.data})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if wrong := inert(html); wrong != "" {
			t.Errorf("%s: the page %s", name, wrong)
		}
		if strings.Count(html, "<form") != strings.Count(html, `name="csrf"`)+strings.Count(html, `method="get"`) {
			t.Errorf("%s: a form that writes lacks its secret", name)
		}
		for _, m := range regexp.MustCompile(`(?:src|href|action)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
			if !strings.HasPrefix(m[1], "/") && !strings.HasPrefix(m[1], "#") || strings.HasPrefix(m[1], "//") {
				t.Errorf("%s: it leads to %q", name, m[1])
			}
		}
	}
}

// TestHostileEvents: an event is one row, and one message of the stream.
func TestHostileEvents(t *testing.T) {
	t.Parallel()
	p := testPages(t)
	rows := 0
	for _, name := range plan.EventTypes() {
		body, err := plan.DecodeBody(name, "{}")
		if err != nil {
			t.Fatal(err)
		}
		v := reflect.New(reflect.TypeOf(body)).Elem()
		planted.Fill(v, hostile)
		body, _ = v.Interface().(plan.Body)
		if b, ok := body.(plan.MessageEnd); ok {
			b.Role, b.Discarded = plan.RoleAssistant, false
			b.Blocks[0].Type = plan.BlockText
			body = b
		}
		turn := 1
		line, err := plan.Event{Run: hostile, Seq: 7, Phase: hostile, Turn: &turn, Parent: "x", Body: body}.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := p.frame(7, line)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := inert(text); wrong != "" {
			t.Errorf("%s: the stream %s: %q", name, wrong, text)
		}
		for at := range strings.Lines(text) {
			if !strings.HasPrefix(at, "data: ") && !slices.Contains(
				[]string{"\n", "id: 7\n", "event: row\n", "event: stand\n"}, at) {
				t.Errorf("%s: the stream has the line %q", name, at)
			}
		}
		if strings.Contains(text, "<li") {
			rows++
		}
	}
	if rows < 35 {
		t.Errorf("only %d types of events have a row", rows)
	}
}

// TestNoRowForgetsAnEvent: what has no row of its own has that of its headline.
func TestNoRowForgetsAnEvent(t *testing.T) {
	t.Parallel()
	show := func(ev plan.Event) string {
		r := rowOf(ev)
		if r == nil {
			return ""
		}
		return r.Label + " " + r.Text
	}
	for _, name := range eventcases.Unshown(t, eventcases.Named(t, "tell"), show) {
		t.Errorf("the timeline forgets %s", name)
	}
}

func TestAChangeByFile(t *testing.T) {
	t.Parallel()
	got := filesOf("diff --git a/a.go b/a.go\nindex 1..2 100644\n--- a/a.go\n+++ b/a.go\n@@ -3,2 +3,3 @@ func x() {\n same\n-gone\n+new\n+more\n" +
		"\\ No newline at end of file\ndiff --git a/old name b/new name\nsimilarity index 90%\nrename from old name\nrename to new name\n" +
		"diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n")
	if len(got) != 3 || got[0].Added != 2 || got[0].Removed != 1 || got[1].Name != "new name" || len(got[2].Lines) != 1 {
		t.Fatalf("the files are %+v", got)
	}
	var numbers []string
	for _, l := range got[0].Lines {
		numbers = append(numbers, l.Look+l.Old+"/"+l.New)
	}
	if want := "hunk/ 3/3 del4/ add/4 add/5 hunk/"; strings.Join(numbers, " ") != want {
		t.Errorf("the lines are %v, want %s", numbers, want)
	}
}

func TestVersionsSideBySide(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range sideBySide("a\nb\nc", "a\nB\nc\nd") {
		got = append(got, p.LeftLook+p.Left+"|"+p.RightLook+p.Right)
	}
	if want := "a|a delb|addB c|c |addd"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
