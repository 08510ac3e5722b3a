package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/demo"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/scripted"
)

// tier is what a request asks the server to keep: a time to live, "" for nothing.
type tier struct {
	name   string
	shared func(phase plan.Phase) string // of tools, system prompt and head; nil leaves the request as plan sent it
	talk   func(phase plan.Phase) string // of the conversation
}

// tiers are the ways to mark a request that are compared. The first is what plan
// sends.
func tiers() []tier {
	always := func(ttl string) func(plan.Phase) string { return func(plan.Phase) string { return ttl } }
	long := func(p plan.Phase) string {
		if p == plan.Implement || p == plan.Review {
			return "1h"
		}
		return "5m"
	}
	return []tier{
		{name: "as sent"},
		{name: "no cache", shared: always(""), talk: always("")},
		{name: "5m for all", shared: always("5m"), talk: always("5m")},
		{name: "1h for what is shared", shared: always("1h"), talk: always("5m")},
		{name: "1h for all of implement and review", shared: long, talk: long},
		{name: "1h for all", shared: always("1h"), talk: always("1h")},
	}
}

// pace is how long things take, which decides what a cache still has.
type pace struct {
	name          string
	turn, command time.Duration // an answer with its tools; a command or a round of checks
	beside        string        // the tier that the first one is compared with
}

func paces() []pace {
	return []pace{
		{"commands of seconds", 20 * time.Second, 20 * time.Second, "no cache"},
		{"commands of 7 minutes", 20 * time.Second, 7 * time.Minute, "5m for all"},
	}
}

// TestClaudeCost prices the same requests with and without cache marks, by
// Claude Sonnet's list prices. The sample is the run whose checks cost nothing, with
// the tiers that are compared. Run it with -v for the table, and with PLAN_TEST=all
// for all of it.
func TestClaudeCost(t *testing.T) {
	t.Parallel()
	entry, ok := catalog.New(nil).LookupAt("anthropic", "claude-sonnet-4-5", "")
	if !ok || !entry.Priced || entry.WriteHourUSD <= entry.WriteUSD {
		t.Fatalf("no prices: %+v", entry)
	}
	for _, run := range []struct {
		name   string
		played func(t *testing.T) claudeRun
		least  float64 // how much dearer it is without a cache
		long   bool
	}{
		{"the demo", demoOnClaude, 1.8, true},
		{"20 reads", readsOnClaude, 3, false},
	} {
		if run.long && !sampling.All() {
			continue
		}
		t.Run(run.name, func(t *testing.T) {
			t.Parallel()
			played := run.played(t)
			for _, p := range paces() {
				costs := priced(t, played, p, entry)
				if p.command > time.Minute && costs["as sent"] >= costs["5m for all"] {
					t.Errorf("%s: keeping for an hour what is shared does not pay: $%.4f, and $%.4f without",
						p.name, costs["as sent"], costs["5m for all"])
				}
				if ratio := costs["no cache"] / costs["as sent"]; p.command < time.Minute && ratio < run.least {
					t.Errorf("%s: without a cache it costs %.2f times as much, want at least %v", p.name, ratio, run.least)
				}
			}
		})
	}
}

// priced plays a run for each tier and returns what it costs in USD.
func priced(t *testing.T, run claudeRun, p pace, entry catalog.Entry) map[string]float64 {
	t.Helper()
	costs := map[string]float64{}
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "%s\trequests\tinput\tread\twritten 5m\twritten 1h\toutput\tUSD\tof as sent\t\n", p.name)
	for _, how := range tiers() {
		if how.name != "as sent" && how.name != p.beside && !sampling.All() {
			continue
		}
		u := run.replay(t, how, p)
		usd, _ := entry.Cost(u)
		costs[how.name] = usd
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.4f\t%.2f\t\n",
			how.name, u.Requests, u.Input, u.Cached, u.Written, u.WrittenHour, u.Output, usd, usd/costs["as sent"])
	}
	if err := tw.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
	return costs
}

// claudeRun is what a run asked of a server of Anthropic's wire, and the part that
// the server played.
type claudeRun struct {
	scenario *scripted.Scenario
	requests []scripted.Seen
}

// onClaude drives a run in dir to its end and keeps what it asked.
func onClaude(t *testing.T, scenario *scripted.Scenario, dir, request string, flags config.Config) claudeRun {
	t.Helper()
	server, err := scripted.Start(context.WithoutCancel(t.Context()), scenario, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var stdout, stderr bytes.Buffer
	a := &app{
		in:      strings.NewReader(""),
		out:     &stdout,
		err:     &stderr,
		now:     time.Now,
		dir:     dir,
		environ: append(os.Environ(), "PLAN_HOME="+t.TempDir(), "PLAN_DEMO_KEY="+server.Key(), "OPENAI_BASE_URL=", "PLAN_MODEL="),
	}
	settings := demo.Settings(server, anthropic.Name, "PLAN_DEMO_KEY")
	flags.Model, flags.Providers = settings.Model, settings.Providers
	a.host = a.newHost()
	defer a.host.Close()
	r := host.Request{Dir: dir, Text: request, Options: host.Options{Settings: flags}}
	err = a.drive(t.Context(), func(ctx context.Context, face host.Face) (host.End, error) { return a.host.Run(ctx, r, face) })
	var ended *exit
	if err != nil && (!errors.As(err, &ended) || ended.code != plan.ExitNotApproved) {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	return claudeRun{scenario: scenario, requests: server.Requests()}
}

// demoOnClaude is the demo's run.
func demoOnClaude(t *testing.T) claudeRun {
	t.Helper()
	scenario, err := demo.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Delay = 0
	dir := filepath.Join(t.TempDir(), "repo")
	if err := demo.Unpack(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return onClaude(t, scenario, dir, demo.Request, config.Config{})
}

// readsOnClaude is a run whose implementer reads 20 files of 6 KB, one a turn, and
// runs a command twice, and whose reviewer reads ten of them and runs one.
func readsOnClaude(t *testing.T) claudeRun {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	if err := demo.Unpack(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		text := strings.Repeat(fmt.Sprintf("%02d one line of a text that a model reads, and nothing else\n", i), 100)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("notes%02d.txt", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(i int) string { return fmt.Sprintf("name = \"read\"\nargs = { path = \"notes%02d.txt\" }\n", i) }
	const command = "name = \"bash\"\nargs = { command = \"true\" }\n"
	var b strings.Builder
	turns := func(phase plan.Phase, last string, calls ...string) {
		for i, call := range calls {
			fmt.Fprintf(&b, "[[reply]]\nphase = %q\nturn = %d\ntext = \"Next.\"\n[[reply.call]]\n%s", phase, i, call)
		}
		fmt.Fprintf(&b, "[[reply]]\nphase = %q\nturn = %d\ntext = '''%s'''\n", phase, len(calls), last)
	}
	var reads []string
	for i := range 20 {
		reads = append(reads, read(i))
	}
	turns(plan.Explore, "It is all in the notes.", reads[:3]...)
	turns(plan.Plan, "# Plan: write it down\n\n## Files\n- done.txt\n\n## Steps\n1. Write done.txt.\n", reads[:2]...)
	write := "name = \"write\"\nargs = { path = \"done.txt\", content = \"done\" }\n"
	turns(plan.Implement, "It is written down.", slices.Concat(reads[:10], []string{command}, reads[10:], []string{write, command})...)
	verdict := `{"verdict": "NEEDS_FIX", "checklist": [], "missing": ["more"], "commands": []}`
	turns(plan.Review, verdict, slices.Concat(reads[:5], []string{command}, reads[5:10])...)
	scenario, err := scripted.Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return onClaude(t, scenario, dir, "Write down that it is done.", config.Config{
		MaxReviewCycles: new(0),
		// Which checks there are makes no difference to the requests that are compared.
		Checks: config.ChecksConfig{Required: []string{"true"}, Detect: new(bool)},
	})
}

// replay asks a fresh server the same again, with other marks and at a pace of its
// own, and returns what the server counted.
func (r claudeRun) replay(t *testing.T, how tier, p pace) plan.Usage {
	t.Helper()
	var clock atomic.Int64
	now := func() time.Time { return time.Unix(0, clock.Load()) }
	clock.Store(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).UnixNano())
	server, err := scripted.Start(t.Context(), r.scenario, scripted.Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var sum plan.Usage
	last := ""
	for _, seen := range r.requests {
		body, ran := remarked(t, seen, how)
		at := seen.Header.Get("X-Plan-Phase") + seen.Header.Get("X-Plan-Attempt")
		if ran || last != at && last != "" && !strings.HasPrefix(at, "plan") { // between those phases there are checks
			clock.Add(int64(p.command))
		}
		last = at
		clock.Add(int64(p.turn))
		sum = sum.Add(askClaude(t, client, server, seen.Header, body))
	}
	return sum
}

// sharedMark is a mark on a tool or on a block of a message.
var sharedMark = regexp.MustCompile(`,"cache_control":\{[^}]*\}`)

// remarked is a request with other marks, and not streamed. Ran says that it
// brings the result of a command.
func remarked(t *testing.T, seen scripted.Seen, how tier) (body []byte, ran bool) {
	t.Helper()
	var r map[string]json.RawMessage
	var told struct {
		System   []map[string]any `json:"system"`
		Messages []struct {
			Content []struct{ Type, Name string }
		} `json:"messages"`
	}
	if err := errors.Join(json.Unmarshal(seen.Body, &r), json.Unmarshal(seen.Body, &told)); err != nil {
		t.Fatalf("%v: %s", err, seen.Body)
	}
	if n := len(told.Messages); n > 1 {
		for _, block := range told.Messages[n-2].Content {
			ran = ran || block.Name == "bash"
		}
	}
	r["stream"] = json.RawMessage("false")
	if how.shared != nil {
		phase := plan.Phase(seen.Header.Get("X-Plan-Phase"))
		mark := func(m map[string]any, ttl string) {
			delete(m, "cache_control")
			if ttl != "" {
				m["cache_control"] = map[string]string{"type": "ephemeral", "ttl": ttl}
			}
		}
		mark(told.System[len(told.System)-1], how.shared(phase))
		r["system"] = mustJSON(t, told.System)
		again := ""
		if ttl := how.shared(phase); ttl != "" {
			again = `,"cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}`
		}
		for _, part := range []string{"tools", "messages"} {
			r[part] = sharedMark.ReplaceAll(r[part], []byte(again))
		}
		whole := map[string]any{}
		mark(whole, how.talk(phase))
		delete(r, "cache_control")
		if m, ok := whole["cache_control"]; ok {
			r["cache_control"] = mustJSON(t, m)
		}
	}
	return mustJSON(t, r), ran
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := plan.MarshalCompact(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// askClaude makes one request and returns its usage.
func askClaude(t *testing.T, client *http.Client, server *scripted.Server, header http.Header, body []byte) plan.Usage {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+"/messages", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	req.Header.Set("X-Api-Key", server.Key())
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %d %s", err, res.StatusCode, data)
	}
	var answer struct {
		Usage struct {
			Fresh  int64 `json:"input_tokens"`
			Read   int64 `json:"cache_read_input_tokens"`
			Output int64 `json:"output_tokens"`
			Parts  struct {
				Minutes int64 `json:"ephemeral_5m_input_tokens"`
				Hour    int64 `json:"ephemeral_1h_input_tokens"`
			} `json:"cache_creation"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%v %s", err, data)
	}
	u := answer.Usage
	return plan.Usage{
		Requests:    1,
		Input:       u.Fresh + u.Read + u.Parts.Minutes + u.Parts.Hour,
		Cached:      u.Read,
		Written:     u.Parts.Minutes,
		WrittenHour: u.Parts.Hour,
		Output:      u.Output,
	}
}
