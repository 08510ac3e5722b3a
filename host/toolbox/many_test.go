package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/tools/catalog"
	"github.com/plan-engine/plan/tools/outside"
)

// services are kinds of servers with what each has: 25 with 20 tools make 500.
var services = map[string]string{
	"tracker": "issue", "forge": "pull request", "wiki": "page", "chat": "message", "mail": "email",
	"calendar": "meeting", "drive": "document", "crm": "customer", "billing": "invoice", "shop": "order",
	"deploy": "release", "cluster": "pod", "metrics": "dashboard", "logs": "log line", "alerts": "incident",
	"db": "table", "queue": "job", "cache": "cache key", "dns": "domain record", "certs": "certificate",
	"flags": "feature flag", "secrets": "credential", "survey": "questionnaire", "hr": "employee", "maps": "place",
}

// operations are what can be done with each, and how a server puts it.
var operations = []struct{ name, text, argument string }{
	{"get", "Fetch one %s with all of its details.", "id of the %s"},
	{"list", "List every %s, a page at a time.", "number of the page"},
	{"search", "Search by words for a %s.", "words to look for"},
	{"create", "Create a new %s.", "title of the new %s"},
	{"update", "Change the fields of a %s.", "fields to change"},
	{"delete", "Delete a %s for good.", "id of the %s"},
	{"archive", "Put a %s away without deleting it.", "id of the %s"},
	{"restore", "Bring an archived %s back.", "id of the %s"},
	{"comment", "Add a comment to a %s.", "text of the comment"},
	{"assign", "Assign a %s to a person.", "name of the person"},
	{"label", "Put a label on a %s.", "the label"},
	{"close", "Close a %s as done.", "reason for closing"},
	{"reopen", "Reopen a closed %s.", "id of the %s"},
	{"share", "Share a %s with a team.", "the team"},
	{"export", "Export a %s as a file.", "format of the file"},
	{"import", "Import a %s from a file.", "path of the file"},
	{"watch", "Subscribe to changes of a %s.", "where notices go"},
	{"history", "Show who changed a %s, and when.", "id of the %s"},
	{"copy", "Duplicate a %s.", "id of the %s"},
	{"count", "Count how many there are of a %s by state.", "state"},
}

// questions are what a model would look for, and what it should find among the first.
var questions = map[string]string{
	"create issue": "tracker.create", "read the details of an issue": "tracker.get",
	"comment on an issue": "tracker.comment", "search issues by words": "tracker.search",
	"close an issue": "tracker.close", "assign issue to someone": "tracker.assign",
	"label an issue": "tracker.label", "who changed this issue": "tracker.history",
	"open pull request": "forge.create", "list pull requests": "forge.list",
	"comment on a pull request": "forge.comment", "close pull request": "forge.close",
	"write a wiki page": "wiki.create", "find a page in the wiki": "wiki.search",
	"history of a wiki page": "wiki.history", "send a chat message": "chat.create",
	"list chat messages": "chat.list", "send an email": "mail.create",
	"search my emails": "mail.search", "schedule a meeting": "calendar.create",
	"list meetings in the calendar": "calendar.list", "delete a meeting": "calendar.delete",
	"share a document with the team": "drive.share", "export document as pdf file": "drive.export",
	"look up a customer": "crm.search", "update customer fields": "crm.update",
	"create an invoice": "billing.create", "export invoices": "billing.export",
	"count orders by state": "shop.count", "get order details": "shop.get",
	"create a release": "deploy.create", "list releases": "deploy.list",
	"list pods of the cluster": "cluster.list", "delete a pod": "cluster.delete",
	"show the metrics dashboard": "metrics.get", "search log lines": "logs.search",
	"close the incident": "alerts.close", "assign incident": "alerts.assign",
	"list database tables": "db.list", "export a table": "db.export",
	"restore job in the queue": "queue.restore", "delete cache key": "cache.delete",
	"create a domain record": "dns.create", "list certificates": "certs.list",
	"change a feature flag": "flags.update", "get a credential": "secrets.get",
	"copy the questionnaire": "survey.copy", "import employees from a file": "hr.import",
	"search for a place": "maps.search", "subscribe to changes of an incident": "alerts.watch",
}

func nobody(trust.Item) bool { return false }

// fixed is a source whose tools are known.
type fixed struct {
	name  string
	tools []loop.Tool
}

func (f fixed) Name() string                              { return f.name }
func (f fixed) Known() []loop.Tool                        { return f.tools }
func (f fixed) Load(context.Context) ([]loop.Tool, error) { return f.tools, nil }

// sample is a tool that does nothing.
type sample struct{ info loop.Info }

func (d sample) Info() loop.Info { return d.info }

func (sample) Run(context.Context, loop.Input) (loop.Result, error) { return loop.Result{}, nil }

// fiveHundred are the sources of 500 tools.
func fiveHundred(t *testing.T) []outside.Source {
	t.Helper()
	var out []outside.Source
	n := 0
	for service, thing := range services {
		src := fixed{name: "mcp." + service}
		for _, op := range operations {
			with := func(text string) string { return strings.ReplaceAll(text, "%s", thing) }
			schema, err := json.Marshal(map[string]any{
				"type": "object",
				"properties": map[string]any{
					"id":    map[string]any{"type": "string", "description": with(op.argument)},
					"limit": map[string]any{"type": "integer", "description": "how many at the most"},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			src.tools = append(src.tools, sample{loop.Info{
				Spec: loop.Spec{
					Name:        outside.Name("mcp", service, op.name+"_"+strings.ReplaceAll(thing, " ", "_")),
					Description: with(op.text),
					Schema:      schema,
				},
				Effect: plan.EffectUnknown,
				Writes: true,
			}})
			n++
		}
		out = append(out, src)
	}
	slices.SortFunc(out, func(a, b outside.Source) int { return strings.Compare(a.Name(), b.Name()) })
	if n != 500 {
		t.Fatalf("%d tools", n)
	}
	return out
}

// TestFindingAmongFiveHundred: of 50 questions, how many have what they are about among the
// tools that are shown with their schemas.
func TestFindingAmongFiveHundred(t *testing.T) {
	t.Parallel()
	set := outside.New(outside.Config{Sources: fiveHundred(t), Index: newIndex})
	defer set.Close()
	if len(questions) != 50 {
		t.Fatalf("%d questions", len(questions))
	}
	hits, most := 0, 0
	for question, want := range questions {
		service, op, _ := strings.Cut(want, ".")
		got := set.Find(t.Context(), question).Output
		most = max(most, len(got))
		shown, _, _ := strings.Cut(got, "</tools>")
		if strings.Contains(shown, "name: mcp__"+service+"__"+op+"_") {
			hits++
			continue
		}
		t.Logf("%q does not find %s", question, want)
	}
	t.Logf("%d of 50 questions are answered, with %d bytes at the most", hits, most)
	if hits < 45 || most > 16<<10 {
		t.Errorf("%d of 50 questions are answered, with %d bytes at the most", hits, most)
	}
}

// TestWhatFiveHundredToolsCost: a request has those that fit into the budget, those first
// that runs of the kind needed; without a budget it would have all.
func TestWhatFiveHundredToolsCost(t *testing.T) {
	t.Parallel()
	var known []loop.Tool
	all := 0
	for _, src := range fiveHundred(t) {
		known = append(known, src.Known()...)
		for _, tool := range src.Known() {
			all += outside.SchemaBytes(tool.Info().Spec)
		}
	}
	needs := []memory.ToolNeed{
		{Tool: "mcp__hr__count_employee", Request: "Write the report about the staff"},
		{Tool: "mcp__tracker__get_issue", Request: "Mend what issue 12 says about parsing"},
	}
	const request = "Mend what issue 40 says"
	score, err := scores(t.Context(), known, request, needs)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set    int
		window int64
		tokens int
	}{
		{window: 200_000, tokens: 4000},
		{window: 32_000, tokens: 1600},
		{tokens: 4000},
		{set: 1, window: 200_000, tokens: 1},
		{set: 9000, tokens: 9000},
	} {
		budget := outside.Budget(c.set, c.window)
		named := outside.Choose(known, budget, score)
		cost := 0
		for _, info := range named {
			cost += outside.SchemaBytes(info.Spec)
		}
		t.Logf("budget %d tokens: %d tools, %d of %d bytes", budget, len(named), cost, all)
		if budget != c.tokens || cost > 3*budget || cost < 3*budget-600 && c.set != 1 {
			t.Errorf("%+v: a budget of %d, %d bytes", c, budget, cost)
		}
		has := func(name string) bool {
			return slices.ContainsFunc(named, func(info loop.Info) bool { return info.Name == name })
		}
		if c.set != 1 && (!has("mcp__tracker__get_issue") || !has("mcp__tracker__update_issue")) {
			t.Errorf("%+v: what a run of this kind needed, and what fits its words, is not among %d", c, len(named))
		}
	}
}

// TestAnOfferStartsNothing: a server that was never asked is only found; one that is known is
// offered by name, to phases that only look what only reads.
func TestAnOfferStartsNothing(t *testing.T) {
	t.Parallel()
	box := New(Config{
		Settings: config.Config{MCP: map[string]config.MCPConfig{
			"notes": {Command: "exit 1", ReadOnly: []string{"get_*"}, From: config.FromUser},
		}},
		Home:    t.TempDir(),
		Tree:    func() string { return "" },
		Trusted: nobody,
		Getenv:  func(string) string { return "" },
	})
	offer, err := box.Offer(t.Context(), "x", 0, nil)
	if err != nil || len(offer.Named) != 0 || !offer.Further(true) || offer.About != "Sources: mcp.notes." {
		t.Fatalf("%+v, %v", offer, err)
	}
	object := json.RawMessage(`{"type":"object","properties":{}}`)
	list := catalog.List{Accepted: map[string]string{"get_note": "1", "put_note": "2"}}
	for i, name := range []string{"get_note", "put_note"} {
		list.Tools = append(list.Tools, catalog.Tool{
			Name:     name,
			Schema:   object,
			ReadOnly: true,
			Digest:   fmt.Sprint(i + 1),
		})
	}
	if err := box.lists("notes", box.cfg.Settings.MCP["notes"]).Write(list); err != nil {
		t.Fatal(err)
	}
	if offer, err = box.Offer(t.Context(), "x", 0, nil); err != nil || len(offer.Named) != 2 || offer.Further(false) {
		t.Fatalf("%+v, %v", offer, err)
	}
	kit, err := phases.NewKit(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	offer.Reading = offer.Named // a phase that only looks has none that writes, whatever it is given
	kit = kit.WithOutside(offer)
	for p, want := range map[plan.Phase]string{
		plan.Explore:   "mcp__notes__get_note",
		plan.Review:    "mcp__notes__get_note",
		plan.Implement: "mcp__notes__get_note mcp__notes__put_note",
		plan.Critique:  "",
	} {
		var got []string
		for _, name := range kit.Offer[p] {
			if outside.IsOutside(name) || strings.HasSuffix(name, "_tools") || name == "use_tool" {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is offered %v, want %s", p, got, want)
		}
	}
	list.Tools[0].Digest = "changed"
	if err := box.lists("notes", box.cfg.Settings.MCP["notes"]).Write(list); err != nil {
		t.Fatal(err)
	}
	if claims := box.Claims(); len(claims) != 1 || claims[0].Kind != "tools" || !strings.Contains(claims[0].Detail, "get_note has changed") {
		t.Errorf("%+v", claims)
	}
}
