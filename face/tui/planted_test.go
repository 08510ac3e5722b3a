package tui

import (
	"reflect"
	"regexp"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/planted"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/memory"
)

// nasty is a text that acts on a terminal, in each way that there is.
const nasty = "a\x1b]0;PWNED\x07b\x1b[2Jc\u200bd\u202ee\u2066f\U000e0041g\u0085h\x9bi\rj\ufeffk\x1b[8ml"

// nastyEvents are one of each kind, with nasty in each field.
func nastyEvents(t *testing.T) []plan.Event {
	t.Helper()
	var all []plan.Event
	for i, name := range plan.EventTypes() {
		if name == plan.TypeRunEnd {
			continue
		}
		body, err := plan.DecodeBody(name, "{}")
		if err != nil {
			t.Fatal(err)
		}
		filled := reflect.New(reflect.TypeOf(body)).Elem()
		planted.Fill(filled, nasty)
		for n, phase := range []plan.Phase{plan.Implement, nasty} {
			turn := 1
			ev := plan.Event{
				Seq:     int64(2*i + n + 1),
				Time:    time.Unix(int64(i), 0),
				Run:     nasty,
				Phase:   phase,
				Attempt: 2,
				Conv:    nasty,
				Turn:    &turn,
				Body:    filled.Interface().(plan.Body),
			}
			if ev.Live() {
				ev.Seq = 0
			}
			all = append(all, ev)
		}
	}
	return all
}

// sgr are colours, the one kind of sequence that a page may have.
var sgr = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// TestNothingShownActs: whatever stands in whichever field of an event, of a list, or of
// what is asked, nothing of it acts on a terminal, and nothing is there that is not seen.
func TestNothingShownActs(t *testing.T) {
	t.Parallel()
	page := func(name string, m *model) {
		t.Helper()
		v := m.View()
		for what, text := range map[string]string{"page": sgr.ReplaceAllString(v.Content, ""), "title": v.WindowTitle} {
			if sanitize.Text(text) != text {
				t.Errorf("%s: the %s shows what acts or is not seen: %q", name, what, text)
			}
		}
	}
	events := nastyEvents(t)
	m := sat(t, 100, 400, events...)
	if len(m.view.story.Blocks) < 40 {
		t.Fatalf("there are %d blocks", len(m.view.story.Blocks))
	}
	page("run", m)
	m.view.scroll.all = true
	page("run, unfolded", m)
	for at := range m.view.scroll.blocks {
		m.view.scroll.picked = at
		m.view.scroll.blocks[at].Blob = "" // it is in no database
		if msg := m.openBlock()(); msg != nil {
			m.Update(msg)
			page("block", m)
			m.reader = nil
		}
	}
	for _, c := range []string{"/plan", "/checks", "/cost"} {
		if cmd := m.command(c); cmd != nil {
			m.Update(cmd())
			page(c, m)
			m.reader = nil
		}
	}
	var call plan.WaitingCall
	planted.Fill(reflect.ValueOf(&call).Elem(), nasty)
	var it trust.Item
	planted.Fill(reflect.ValueOf(&it).Elem(), nasty)
	asPlan, asCall := call, call
	asPlan.Name, asPlan.Question, asCall.Question = plan.PlanTool, "", ""
	for name, a := range map[string]*ask{
		"question": {waiting: []plan.WaitingCall{call}},
		"call":     {waiting: []plan.WaitingCall{asCall}},
		"plan":     {waiting: []plan.WaitingCall{asPlan}, doc: &plan.PlanDoc{Text: nasty + "\n" + nasty, Version: 1}},
		"drift":    {drift: &plan.Drift{Files: []string{nasty}, Total: 1}},
		"trust":    {trust: &it},
	} {
		m.view.panel = newPanel(a, m.view, m.Now())
		m.arm()
		page(name, m)
	}
	var run memory.RunInfo
	planted.Fill(reflect.ValueOf(&run).Elem(), nasty)
	var batch memory.Batch
	planted.Fill(reflect.ValueOf(&batch).Elem(), nasty)
	var standing batches.Standing
	planted.Fill(reflect.ValueOf(&standing).Elem(), nasty)
	m.Update(listMsg{recent: []memory.RunInfo{run}, waiting: []memory.RunInfo{run}})
	m.screen = atHome
	m.write.files = []string{nasty}
	m.Update(tea.PasteMsg{Content: "@" + nasty})
	m.offer()
	page("home", m)
	m.screen = atWatch
	m.watch.board.Live, m.watch.board.Batches = []memory.RunInfo{run}, []memory.Batch{batch}
	page("watch", m)
	m.openBatch(nasty)
	m.Update(batchMsg{standing: standing})
	page("batch", m)
}
