package record_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/record"
)

const secret = `pa"ss\word<&>ü-7261`

func redact(s string) string { return strings.ReplaceAll(s, secret, "«secret DB»") }

// No secret reaches the file, wherever it stands and however it is written,
// and the recording still answers the calls it was made of.
func TestSecretsAreLeftOut(t *testing.T) {
	t.Parallel()
	escaped, err := json.Marshal(map[string]string{"command": "login -p " + secret})
	if err != nil {
		t.Fatal(err)
	}
	nested, err := json.Marshal(map[string]string{"body": string(escaped)})
	if err != nil {
		t.Fatal(err)
	}
	const key, shaped = "sk-test-0123456789abcdefghijklmnop", "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
	said := "The password is " + secret + ", the key " + key + ", that is all: " + secret
	args := string(nested)
	inner := generate(func(_ context.Context, _ loop.Call, live func(loop.Delta)) (loop.Answer, error) {
		for text := range slices.Chunk([]rune(said), 3) {
			live(loop.Delta{Kind: plan.BlockText, Text: string(text)})
		}
		for text := range slices.Chunk([]rune(args), 1) {
			live(loop.Delta{Kind: plan.BlockToolCall, Call: "c1", Name: "bash", Text: string(text)})
		}
		return loop.Answer{Message: assistant(
			plan.Block{Type: plan.BlockText, Text: said},
			plan.Block{Type: plan.BlockToolCall, Call: "c1", Name: "bash", Args: args, Opaque: json.RawMessage(escaped)},
		), Stop: loop.StopTools, Model: "m " + key}, nil
	})

	c := call("explore", "Log in with "+secret+"; the token is "+shaped+" and mine is hunter2-hunter2.")
	c.System = "The key is " + key
	c.Tools = []loop.Spec{{Name: "bash", Description: secret, Schema: json.RawMessage(escaped)}}
	c.Format = &loop.Format{Name: "f", Schema: json.RawMessage(nested)}
	c.Messages = append(c.Messages,
		assistant(plan.Block{Type: plan.BlockToolCall, Call: "c0", Name: "bash", Args: string(nested)}),
		plan.Message{Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: "c0", Text: "Bearer " + key + "abc"}}})
	c.Headers["Authorization"] = "Bearer hunter2-hunter2"
	c.Headers["x-goog-api-key"] = "short"
	c.Headers["X-Note"] = secret

	file := filepath.Join(t.TempDir(), "run.jsonl")
	r := recorder(t, inner, file, redact)
	if got := ask(t, r, c); got.Answer.Message.Blocks[0].Text != said {
		t.Errorf("the recorder changed what its caller gets: %q", got.Answer.Message.Blocks[0].Text)
	}
	failing := recorder(
		t,
		fails(&loop.ModelError{Kind: loop.ErrAuth, Message: "no such key: " + key + " " + secret}),
		file+"2",
		redact,
	)
	ask(t, failing, c)
	for _, file := range []string{file, file + "2"} {
		data := read(t, file)
		for _, leak := range []string{
			"hunter2", "Authorization", "Goog", "short", "01RUN", "X-Plan-Run", key, "0123456789", shaped, `pa\`, "7261",
		} {
			if strings.Contains(data, leak) {
				t.Errorf("%q is in the file:\n%s", leak, data)
			}
		}
		if !strings.Contains(data, "«secret DB»") || !strings.Contains(data, "[redacted]") {
			t.Error("nothing was replaced")
		}
	}

	got := ask(t, player(t, file, redact), c)
	var text, argText string
	for _, p := range got.Pieces {
		if p.Kind == plan.BlockText {
			text += p.Text
		} else {
			argText += p.Text
		}
	}
	same(t, "the pieces of text together", text, got.Answer.Message.Blocks[0].Text)
	same(t, "the pieces of arguments together", argText, got.Answer.Message.Blocks[1].Args)
	if !json.Valid([]byte(argText)) || !strings.Contains(argText, "«secret DB»") {
		t.Errorf("the arguments are %s", argText)
	}

	// What a diff shows is as clean as the file.
	c.System += "!"
	_, err = player(t, file, redact).Generate(t.Context(), c, nil)
	if err == nil || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "7261") {
		t.Errorf("the error shows a secret, or there is none: %v", err)
	}
}

// Ordinary text stays as it is.
func TestOrdinaryTextIsKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "the bearer of this letter", "Basic internationalization of authors", `req.Header.Set("Authorization", "Bearer "+key)`,
		"task-list", "sk-short", "Authorization: Bearer $OPENAI_API_KEY", "-----BEGIN PRIVATE KEY-----", "AKIA", "eyJhbGciOi",
		`{ "b" : 1.0, "a":"\u00e9\/", "n":12345678901234567890 }`, "[1, 2", `{"a":"{\"b\" : \"c\"}"}`,
	} {
		if got := record.Clean(nil, text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEow+/IBAAKCAQEA\n", 5) + "-----END RSA PRIVATE KEY-----"
	for _, text := range []string{
		"Authorization: Basic dXNlcjpwYXNz", `{"authorization": "Bearer abcd1234"}`, "bearer abcdefghij1234567890", pem,
		"AKIAABCDEFGHIJKLMNOP", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123_-xyz", "xoxb-1234567890-abc", "AIza" + strings.Repeat(
			"x",
			35,
		),
		"github_pat_11ABCDEFG0abcdefghijklmn", "glpat-abcdefghij0123456789", "sk-proj-abcdefghijklmnopqrst",
	} {
		got := record.Clean(nil, "a "+text+" b")
		if !strings.Contains(got, "[redacted]") || !strings.HasPrefix(got, "a ") || !strings.HasSuffix(got, " b") {
			t.Errorf("%q becomes %q", text, got)
		}
		if again := record.Clean(nil, got); again != got {
			t.Errorf("%q becomes %q when it is cleaned again", got, again)
		}
	}
}

// A value that begins like another one does not leave the other's end behind,
// and a mark that is longer than what it stands for is shown whole.
func TestOverlappingSecrets(t *testing.T) {
	t.Parallel()
	c := call("explore", "One is 12345678, the other 12345678-and-more.")
	c.Headers["X-A-Token"], c.Headers["X-B-Token"] = "12345678", "12345678-and-more"
	file := filepath.Join(t.TempDir(), "run.jsonl")
	mark := func(s string) string { return strings.ReplaceAll(s, "pw", "«the secret of the test»") }
	ask(t, recorder(t, says("it is p pw"), file, mark), c)
	if data := read(t, file); strings.Contains(data, "1234") || strings.Contains(data, "and-more") {
		t.Errorf("a part of a secret is left in\n%s", data)
	}
	var shown string
	for _, p := range ask(t, player(t, file, mark), c).Pieces {
		shown += p.Text
	}
	same(t, "what was shown", shown, "it is p «the secret of the test»")
}

// Each call is in the file, whole, by the time it returns; the file is its
// owner's alone.
func TestDurable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	r := recorder(t, says("Here."), file, nil)
	for n := 1; n <= 3; n++ {
		ask(t, r, call("explore", strings.Repeat("Where? ", n)))
		if data := read(t, file); strings.Count(data, "\n") != n+1 || !strings.HasSuffix(data, "}\n") {
			t.Errorf("after %d calls the file is\n%s", n, data)
		}
	}
	if !strings.HasPrefix(read(t, file), `{"plan_recording":1}`+"\n"+
		`{"request":{"headers":{"X-Plan-Attempt":"1","X-Plan-Phase":"explore"},"model":"m"`) {
		t.Errorf("the file is\n%s", read(t, file))
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the file's mode", info.Mode().String(), "-rw-------")
}

func TestModeIsNarrowed(t *testing.T) {
	t.Parallel()
	file := write(t, `{"plan_recording":1}`+"\n")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	recorder(t, says("Here."), file, nil)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the file's mode", info.Mode().String(), "-rw-------")
}

// What cannot be recorded does not happen: the caller gets an error that is
// not tried again, and the model is not asked any more.
func TestDiskFailure(t *testing.T) {
	t.Parallel()
	asked := 0
	inner := generate(func(context.Context, loop.Call, func(loop.Delta)) (loop.Answer, error) {
		asked++
		return loop.Answer{}, &loop.ModelError{Kind: loop.ErrServed, Message: "no"}
	})
	file := filepath.Join(t.TempDir(), "run.jsonl")
	r := recorder(t, inner, file, nil)
	if err := record.BreakDisk(r); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := r.Generate(t.Context(), call("explore", "Where?"), nil)
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("Generate: %v, want an error with the file's name", err)
		}
		if _, ok := loop.AsModelError(err); ok {
			t.Errorf("the error is a model error, which may be tried again: %v", err)
		}
	}
	if asked != 1 {
		t.Errorf("the model was asked %d times", asked)
	}
}

func TestUnencodable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	bad := json.RawMessage(`{"a":`)
	inner := generate(func(context.Context, loop.Call, func(loop.Delta)) (loop.Answer, error) {
		return loop.Answer{Message: assistant(plan.Block{Opaque: bad})}, nil
	})
	r := recorder(t, inner, file, nil)
	if _, err := r.Generate(t.Context(), call("explore", "Where?"), nil); err == nil {
		t.Error("an answer that cannot be recorded is given")
	}
	c := call("explore", "Where?")
	c.Tools = []loop.Spec{{Schema: bad}}
	if _, err := r.Generate(t.Context(), c, nil); err == nil {
		t.Error("a call that cannot be recorded is made")
	}
	same(t, "the file", read(t, file), `{"plan_recording":1}`+"\n")
}

// One recorder at a time, and then the next one goes on.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	first, err := record.New(says("One."), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.New(says("Two."), file, nil); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("a second recorder: %v", err)
	}
	ask(t, first, call("explore", "1?"))
	for range 2 {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.Generate(t.Context(), call("explore", "2?"), nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a call after Close: %v", err)
	}
	ask(t, recorder(t, says("Two."), file, nil), call("explore", "2?"))
	p := player(t, file)
	same(t, "the second answer", ask(t, p, call("explore", "2?")).Answer.Message.Text(), "Two.")
	same(t, "the first answer", ask(t, p, call("explore", "1?")).Answer.Message.Text(), "One.")
}
