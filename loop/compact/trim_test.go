package compact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/internal/casetable"
)

// turnsOfWork makes a conversation: a request, and turns that each read a file of
// this many bytes.
func turnsOfWork(turns, bytes int) []plan.Message {
	messages := []plan.Message{plan.UserText("Make it so.")}
	for i := range turns {
		id := fmt.Sprintf("c%d", i)
		body := strings.Repeat(fmt.Sprintf("line of file %d\n", i), bytes/15+1)[:bytes]
		messages = append(messages,
			plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
				{Type: plan.BlockText, Text: fmt.Sprintf("Reading file %d.", i)},
				{Type: plan.BlockToolCall, Call: id, Name: "write", Args: fmt.Sprintf(`{"path":"f%d","content":%q,"n":1.50}`, i, body)},
			}},
			plan.Message{Role: plan.RoleTool, Blocks: []plan.Block{
				{Type: plan.BlockToolResult, Call: id, Name: "write", Text: body},
			}})
	}
	return messages
}

func safely(window int64) *Compactor {
	return &Compactor{Level: Safe, Room: NewRoom(window), Size: plainSize}
}

func TestTrim(t *testing.T) {
	t.Parallel()
	messages := turnsOfWork(12, 9000)
	messages[6].Blocks[0].Blob = "feed" // the tool itself has cut this one
	messages[20].Blocks[0].Name = "ask"
	before, err := plan.MarshalCompact(messages)
	if err != nil {
		t.Fatal(err)
	}
	c := safely(96_000)
	c.Verbatim = func(tool string) bool { return tool == "ask" }
	tokens := plainSize(messages) + 1000
	if o := c.Due(messages, tokens); o != DueAuto {
		t.Fatalf("due: %q at %d tokens", o, tokens)
	}
	out, rep := c.trim(DueAuto, messages, tokens, false)
	if !rep.Worthwhile() || rep.Before != tokens || rep.After != plainSize(out)+1000 || rep.After > c.Room.goal(DueAuto) {
		t.Errorf("report %+v, goal %d", rep, c.Room.goal(DueAuto))
	}
	if after, err := plan.MarshalCompact(messages); err != nil || string(after) != string(before) {
		t.Error("the input was modified")
	}
	if len(rep.Blobs) != 12 { // the one that the tool has kept is not kept again
		t.Errorf("%d blobs", len(rep.Blobs))
	}
	blobs := map[string]string{}
	for _, b := range rep.Blobs {
		blobs[b.Hash] = string(b.Data)
	}
	results, args := 0, 0
	for i, m := range out {
		for j, b := range m.Blocks {
			old := messages[i].Blocks[j]
			if b.Text != old.Text {
				results++
				if i >= len(messages)-10 || !strings.Contains(b.Text, `read path "blob:`+b.Blob+`"`) {
					t.Errorf("message %d was shortened to %q", i, b.Text)
				}
				if i == 6 && b.Blob != "feed" || i != 6 && blobs[b.Blob] != old.Text {
					t.Errorf("message %d points to %s, which is not the whole of it", i, b.Blob)
				}
				if !strings.HasPrefix(b.Text, "line of file") || !strings.HasPrefix(old.Text, b.Text[:15]) {
					t.Errorf("message %d lost its beginning: %q", i, b.Text)
				}
			}
			if b.Args != old.Args {
				args++
				var a struct {
					Path, Content string
					N             json.Number
				}
				casetable.Parse(t, []byte(b.Args), &a)
				if a.Path == "" || a.N != "1.50" || !strings.HasPrefix(a.Content, stubMark) || !CopiesStub(json.RawMessage(b.Args)) {
					t.Errorf("message %d has the arguments %s", i, b.Args)
				}
				hash := a.Content[strings.Index(a.Content, "blob:")+5:]
				if blobs[strings.TrimSuffix(hash, `"]`)] != old.Args {
					t.Errorf("the arguments %s do not point to the whole of them", b.Args)
				}
			}
		}
	}
	// Of 12 results, five are spared and so is the person's answer, which is
	// not one of the five.
	if results != rep.Results || args != rep.Args || results != 6 || args != 7 {
		t.Errorf("%d results and %d arguments shortened, reported %d and %d", results, args, rep.Results, rep.Args)
	}
}

func TestTrimTriesTheLeastFirst(t *testing.T) {
	t.Parallel()
	messages := turnsOfWork(40, 3000)
	for _, c := range []struct {
		name    string
		window  int64
		o       Occasion
		gently  bool
		longest int // of the oldest result
		latest  bool
	}{
		{"the first step is enough", 200_000, DueAuto, false, resultBytes, true},
		{"stubs are needed", 60_000, DueAuto, false, stubBytes, true},
		{"all but the live turn", 12_000, DueAuto, false, stubBytes, false},
		{"an early trim spares the latest", 12_000, DueTrim, false, stubBytes, true},
		{"gently", 12_000, DueAuto, true, resultBytes, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, _ := safely(c.window).trim(c.o, messages, plainSize(messages), c.gently)
			if n := len(out[2].Blocks[0].Text); n > c.longest || n < c.longest/2 {
				t.Errorf("the oldest result has %d bytes", n)
			}
			if latest := out[len(out)-3].Blocks[0].Text == messages[len(out)-3].Blocks[0].Text; latest != c.latest {
				t.Errorf("the latest results are spared: %v", latest)
			}
			if diff := cmp.Diff(messages[len(messages)-2:], out[len(out)-2:]); diff != "" {
				t.Errorf("the live turn was touched:\n%s", diff)
			}
		})
	}
	if out, rep := safely(1).trim(NotDue, messages, 5, false); rep.Worthwhile() || &out[0] != &messages[0] {
		t.Error("something was done when nothing was due")
	}
}

func TestEndsCutCharactersWhole(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("àх語🙂", 200)
	for n := range 60 {
		head, tail := ends(text, n)
		if len(head)+len(tail) > n || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
			t.Fatalf("%d: %q, %q", n, head, tail)
		}
		if s := head + tail; strings.ToValidUTF8(s, "") != s {
			t.Fatalf("%d cuts a character: %q, %q", n, head, tail)
		}
	}
	head, tail := ends("first line\nsecond line\nthird line\nfourth line\nfifth line\nlast line\n", 40)
	if head != "first line\nsecond line" || tail != "last line\n" {
		t.Errorf("%q, %q", head, tail)
	}
}

func TestCopiesStub(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		`{"content":"[left out of the history: 9 bytes; …]"}`:               true,
		`{"edits":[{"new":" [left out of the history: 9 bytes"}]}`:          true,
		`{"content":"const stubMark = \"[left out of the history: \" // "}`: false,
		`{"content":"x"}`: false,
		``:                false,
	} {
		if got := CopiesStub(json.RawMessage(args)); got != want {
			t.Errorf("copiesStub(%s) = %v", args, got)
		}
	}
}

// drawnConversation draws what a loop can hold: users speak, assistants call, and
// each batch of calls is answered at once.
func drawnConversation(t *rapid.T) []plan.Message {
	texts := rapid.OneOf(rapid.StringN(0, 40, -1), rapid.Map(rapid.StringN(1, 30, -1), func(s string) string { return strings.Repeat(s+"\n", 80) }))
	origins := rapid.SampledFrom([]string{"", plan.OriginSteering, plan.OriginFollowUp, plan.OriginNotice, plan.OriginSummary})
	messages := []plan.Message{plan.UserText(texts.Draw(t, "request"))}
	for i := range rapid.IntRange(0, 16).Draw(t, "messages") {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			m := plan.UserText(texts.Draw(t, "user"))
			m.Origin = origins.Draw(t, "origin")
			messages = append(messages, m)
		case 1:
			messages = append(messages, plan.Message{Role: plan.RoleExtension, Blocks: []plan.Block{{Type: plan.BlockExtension, Kind: "x"}}})
		default:
			ask := plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: texts.Draw(t, "answer")}}}
			reply := plan.Message{Role: plan.RoleTool}
			for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
				id := fmt.Sprintf("%d-%d", i, j)
				args := texts.Draw(t, "args")
				if rapid.Bool().Draw(t, "json") {
					args = string(quotedArgs(args))
				}
				ask.Blocks = append(ask.Blocks, plan.Block{Type: plan.BlockToolCall, Call: id, Name: "tool", Args: args})
				reply.Blocks = append(reply.Blocks, plan.Block{Type: plan.BlockToolResult, Call: id, Name: "tool", Text: texts.Draw(t, "result")})
			}
			messages = append(messages, ask)
			if len(reply.Blocks) > 0 {
				messages = append(messages, reply)
			}
		}
	}
	return messages
}

func quotedArgs(content string) []byte {
	data, err := plan.MarshalCompact(map[string]string{"path": "f", "content": content})
	if err != nil {
		panic(err)
	}
	return data
}

// callOrder lists calls and results in their order.
func callOrder(messages []plan.Message) []string {
	var out []string
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Call != "" {
				out = append(out, string(b.Type)+" "+b.Call)
			}
		}
	}
	return out
}

func TestTrimProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := drawnConversation(t)
		before, err := plan.MarshalCompact(messages)
		if err != nil {
			t.Fatal(err)
		}
		o := rapid.SampledFrom([]Occasion{DueTrim, DueAuto}).Draw(t, "occasion")
		c, tokens := safely(rapid.Int64Range(0, 20_000).Draw(t, "window")), plainSize(messages)
		out, rep := c.trim(o, messages, tokens, rapid.Bool().Draw(t, "gently"))
		if after, err := plan.MarshalCompact(messages); err != nil || string(after) != string(before) {
			t.Fatal("the input was modified")
		}
		if diff := cmp.Diff(callOrder(messages), callOrder(out)); diff != "" {
			t.Fatal(diff)
		}
		live := liveTurn(messages)
		for i, m := range messages {
			if m.Role != plan.RoleTool && m.Role != plan.RoleAssistant || i >= live {
				if diff := cmp.Diff(m, out[i]); diff != "" {
					t.Fatalf("message %d: %s", i, diff)
				}
			}
			for j, b := range m.Blocks {
				if json.Valid([]byte(b.Args)) && !json.Valid([]byte(out[i].Blocks[j].Args)) {
					t.Fatalf("message %d: arguments are no JSON any more: %s", i, out[i].Blocks[j].Args)
				}
			}
		}
		if rep.After > rep.Before || rep.After != plainSize(out) {
			t.Fatalf("report %+v, size %d", rep, plainSize(out))
		}
		again, rep2 := c.trim(o, out, rep.After, false)
		if rep.After <= c.Room.goal(o) && len(rep2.Blobs) > 0 {
			t.Fatalf("a goal that was reached was not left alone:\n%s", cmp.Diff(out, again))
		}
		third, _ := c.trim(o, again, rep2.After, false)
		if diff := cmp.Diff(again, third); diff != "" {
			t.Fatalf("trimming again changes something:\n%s", diff)
		}
	})
}
