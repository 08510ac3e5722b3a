package record_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plan-engine/plan/model/record"
)

// Whatever a file holds, it is read or refused, and recording to it either
// leaves it as it is or keeps all that could be read.
func FuzzOpen(f *testing.F) {
	head := `{"plan_recording":1}` + "\n"
	whole := head + `{"request":{"headers":{"X-Plan-Phase":"plan"},"messages":[]},"pieces":[{"kind":"text","text":"a"}],` +
		`"answer":{"message":{"role":"assistant","blocks":null},"stop":"stop","usage":{}}}` + "\n" +
		`{"request":{"messages":[]},"error":{"kind":"served","message":"x"}}` + "\n"
	for _, seed := range []string{
		"", head, head[:5], whole, whole[:len(whole)-1], whole[:len(whole)-30], `{"plan_recording":2}`, head + "\n",
		head + `{"request":{},"cancelled":"x"}` + "\n" + `{"request":{},"failed":"x"}` + "\n\x00\x00",
		head + "null\n",
		head + `{"request":{`,
	} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := os.CreateTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		if _, err := file.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		held := 0
		p, openErr := record.Open(file.Name())
		if openErr == nil {
			held = p.Unplayed()
			_, err := p.Generate(t.Context(), call("plan", "?"), nil)
			if err == nil && held == 0 {
				t.Fatal("a call was answered by nothing")
			}
		}
		r, err := record.New(says("x"), file.Name(), nil)
		if err != nil {
			if openErr == nil {
				t.Fatalf("Open takes what New refuses: %v", err)
			}
			if after := read(t, file.Name()); after != string(data) {
				t.Fatalf("New refused the file, and changed it to %q", after)
			}
			return
		}
		ask(t, r, call("plan", "one more"))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		p = player(t, file.Name())
		if n := p.Unplayed(); n != held+1 {
			t.Fatalf("the file held %d calls, and holds %d after one more", held, n)
		}
		ask(t, p, call("plan", "one more"))
	})
}

// However a text is cut, its pieces hold together what the cleaned text holds,
// and JSON stays JSON.
func FuzzClean(f *testing.F) {
	f.Add("the word is hunter2, twice: hunter2", 3)
	f.Add(`{"a":["hunter2","h\u0075nter2",{"hunter2":"{\"b\":\"hunter\\u0032\"}"}]}`, 1)
	f.Add("sk-abcdefghijklmnopqrstuvwxyz äöü🍏 Bearer abcdefghijklmnopqrstuv", 2)
	f.Add(`["sk-abcdefghijklmnopqrstuvwxyz`, 5)
	redact := func(s string) string { return strings.ReplaceAll(s, "hunter2", "«ü»") }
	f.Fuzz(func(t *testing.T, text string, size int) {
		if !utf8.ValidString(text) || size < 1 || strings.Contains(text, "«") {
			return
		}
		clean := record.Clean(redact, text)
		if strings.Contains(clean, "hunter2") {
			t.Fatalf("%q becomes %q", text, clean)
		}
		if again := record.Clean(redact, clean); again != clean {
			t.Fatalf("%q becomes %q, and that becomes %q", text, clean, again)
		}
		var pieces []string
		for rest := []rune(text); len(rest) > 0; {
			n := min(size, len(rest))
			pieces, rest = append(pieces, string(rest[:n])), rest[n:]
		}
		out := record.CleanPieces(redact, pieces)
		if got := strings.Join(out, ""); got != clean || len(out) != len(pieces) {
			t.Fatalf("the pieces of %q make %q, want %q", text, got, clean)
		}
		for _, p := range out {
			if !utf8.ValidString(p) {
				t.Fatalf("a character is cut: %q", out)
			}
		}
		if !json.Valid([]byte(text)) {
			return
		}
		cleaned := record.CleanJSON(redact, text)
		if !json.Valid([]byte(cleaned)) {
			t.Fatalf("%s becomes %s", text, cleaned)
		}
		if same := record.CleanJSON(nil, text); !strings.Contains(same, "[redacted]") && same != text {
			t.Fatalf("%s becomes %s without a secret in it", text, same)
		}
	})
}

// Two requests that differ have a diff, whatever they hold.
func FuzzMismatch(f *testing.F) {
	f.Add("a\nb\nc", "a\nx\nc")
	f.Add("", "\\n\n\\")
	f.Add("\"\\\"\n", "\n\n\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, before, after string) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) || before == after {
			return
		}
		file := filepath.Join(dir, "run.jsonl")
		defer os.Remove(file)
		r := recorder(t, says("x"), file, nil)
		ask(t, r, call("plan", before))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := player(t, file).Generate(t.Context(), call("plan", after), nil)
		if record.Clean(nil, before) == record.Clean(nil, after) {
			return
		}
		if err == nil || !strings.Contains(err.Error(), "\n+") || !strings.Contains(err.Error(), "\n-") {
			t.Fatalf("the error is %v", err)
		}
	})
}
