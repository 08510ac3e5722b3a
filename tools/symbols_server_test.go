package tools_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/tools"
)

// serverEnv names how this program behaves as a language server.
const serverEnv = "PLAN_TEST_LANGUAGE_SERVER"

// serveLanguage is a language server that knows what is scripted: for a place
// "a.go:2:5" of a question the places of the answer, in a file beside the tree. The
// words that it was told go to another.
func serveLanguage(how string) {
	in := bufio.NewReader(os.Stdin)
	log, err := os.OpenFile("../told", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	dir, _ := os.Getwd()
	for {
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			length, _ = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "Content-Length:")))
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		_ = json.Unmarshal(body, &m)
		fmt.Fprintln(log, m.Method, strings.ReplaceAll(string(m.Params), dir, "DIR"))
		switch {
		case m.Method == "initialize" && how == "dies":
			fmt.Fprintln(os.Stderr, "no such workspace")
			os.Exit(3)
		case m.Method == "initialize" && how == "talks":
			fmt.Print("this is no protocol\n\n")
		case m.Method == "initialize":
			send(`{"jsonrpc":"2.0","id":"c1","method":"workspace/configuration","params":{"items":[{},{}]}}`)
			send(`{"jsonrpc":"2.0","method":"window/logMessage","params":{}}`)
			send(`{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{}}}`, m.ID)
		case how == "hangs" || len(m.ID) == 0 || m.Method == "":
		case how == "refuses":
			send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}`, m.ID)
		default:
			script, _ := os.ReadFile("../script")
			var at struct {
				TextDocument struct{ URI string }
				Position     struct{ Line, Character int }
			}
			_ = json.Unmarshal(m.Params, &at)
			asked := fmt.Sprintf("%s:%d:%d", strings.TrimPrefix(at.TextDocument.URI, "file://"+dir+"/"), at.Position.Line, at.Position.Character)
			var found []string
			for line := range strings.Lines(string(script)) {
				question, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
				for _, place := range strings.Fields(answer) {
					part := strings.Split(place, ":")
					if question == asked {
						found = append(found, fmt.Sprintf(`{"uri":"file://%s","range":{"start":{"line":%s,"character":%s}}}`,
							filepath.Join(dir, part[0]), part[1], part[2]))
					}
				}
			}
			send(`{"jsonrpc":"2.0","id":%s,"result":[%s]}`, m.ID, strings.Join(found, ","))
		}
	}
}

func send(format string, args ...any) {
	body := fmt.Sprintf(format, args...)
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// served is a tree whose Go a scripted server knows, and what that was told.
func served(t *testing.T, how, script string) (set *tools.Set, dir string, told func() string) {
	t.Helper()
	return servedWith(t, tools.Config{}, how, script)
}

func servedWith(t *testing.T, cfg tools.Config, how, script string) (set *tools.Set, dir string, told func() string) {
	t.Helper()
	around := t.TempDir()
	dir = filepath.Join(around, "tree")
	for name, text := range (files{
		"tree/a.go":    "package p\n\nfunc Löad() {}\n\nfunc (c *C) Load() {}\n\nfunc Load() {}\n",
		"tree/b.go":    "package p\n\nfunc b(c *C) {\n\t/* ü𝄞 */ c.Load()\n\tf := Load\n\tLoad()\n}\n",
		"tree/c.js":    "function Load() {}\nLoad();\n",
		"tree/impl.go": "package p\n\ntype Other struct{}\n\nfunc (o Other) Load() {}\n",
		"script":       script,
	}) {
		must(t, os.MkdirAll(filepath.Join(around, filepath.Dir(name)), 0o755))
		must(t, os.WriteFile(filepath.Join(around, name), []byte(text), 0o644))
	}
	gitIn(t, dir, "init", "-q")
	shell, err := sandbox.New(sandbox.Config{})
	must(t, err)
	program, err := os.Executable()
	must(t, err)
	cfg.Root, cfg.Shell = dir, shell
	cfg.Servers = map[string]string{"go": fmt.Sprintf("env %s=%s '%s'", serverEnv, how, program)}
	cfg.Patience = map[bool]time.Duration{true: 300 * time.Millisecond, false: time.Minute}[how == "hangs"]
	set = openSet(t, cfg)
	return set, dir, func() string {
		text, _ := os.ReadFile(filepath.Join(around, "told"))
		return string(text)
	}
}

// TestSymbolsByServer: where there is a server, it says what refers to a name, in the
// form that answers by syntax have; it hears of changes, and is started once.
func TestSymbolsByServer(t *testing.T) {
	t.Parallel()
	set, dir, told := served(t, "answers", `a.go:4:12 b.go:3:13 ../outside.go:1:1
a.go:6:5 b.go:4:6 b.go:5:1 impl.go:4:15
`)
	answer := func(a args) string { return ask(t, set, "symbols", a).Output }
	if got := told(); got != "" {
		t.Fatalf("it is started before it is asked: %s", got)
	}
	_ = answer(args{"query": "Load"})
	_ = answer(args{"query": "b", "kind": "references", "path": "c.js"})
	sameText(t, answer(args{"query": "C.Load", "kind": "references"}),
		"b.go\n4 call in b  /* ü𝄞 */ c.Load()\n[1 more outside of the repository]\n")
	sameText(t, answer(args{"query": "C.Load", "kind": "references", "path": "c.js"}),
		"no reference to C.Load in 1 file (Go, Python, JavaScript, TypeScript, Rust, Java, C, C++); grep finds other mentions\n"+
			"[1 more outside of the repository]\n")
	sameText(t, answer(args{"query": "a.Load", "kind": "callers"}), "b.go\n6 call in b  Load()\n")
	sameText(t, answer(args{"query": "a.Load", "kind": "implementations"}),
		"b.go\n5 use in b  f := Load\n6 call in b  Load()\nimpl.go\n5-5 method Other.Load  func (o Other) Load()\n")
	must(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package p\n\nfunc Load() {}\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "new.go"), []byte("package p\n"), 0o644))
	must(t, os.Remove(filepath.Join(dir, "impl.go")))
	_ = answer(args{"query": "a.Load", "kind": "references"})
	got := told()
	if strings.Count(got, "initialize ") != 1 {
		t.Errorf("it was not started once:\n%s", got)
	}
	for _, want := range []string{
		`workspace/didChangeWatchedFiles`, `{"type":3,"uri":"file://DIR/impl.go"}`, `{"type":1,"uri":"file://DIR/new.go"}`,
		`{"type":2,"uri":"file://DIR/a.go"}`, `textDocument/didClose {"textDocument":{"uri":"file://DIR/a.go"}}`,
		`"context":{"includeDeclaration":false},"position":{"line":2,"character":5}`, `"rootUri":"file://DIR"`,
	} {
		mentions(t, got, want)
	}
}

// TestSymbolsWithoutServer: a server that cannot answer is replaced by the syntax, and
// the answer says so.
func TestSymbolsWithoutServer(t *testing.T) {
	t.Parallel()
	for how, why := range map[string]string{
		"dies":    "it has ended with status 3: no such workspace",
		"talks":   "no message",
		"hangs":   "it did not answer in 300ms",
		"refuses": "it refused: not here (-32601)",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			set, _, told := served(t, how, "")
			for range 3 {
				out := ask(t, set, "symbols", args{"query": "a.Load", "kind": "callers"}).Output
				mentions(t, out, "b.go\n4 call in b  /* ü𝄞 */ c.Load()\n6 call in b  Load()\n")
				mentions(t, out, why)
				mentions(t, out, "; this is by syntax]\n")
			}
			starts := strings.Count(told(), "initialize ")
			slow := how == "hangs" && starts == 0 // it was given up before it had read anything
			if starts != 1 && !slow {
				t.Errorf("it was started %d times", starts)
			}
		})
	}
	set, _, _ := served(t, "answers", "")
	must(t, set.Close())
	none := openSet(t, tools.Config{Root: plant(t, files{"a.go": "package p\nfunc f() { f() }\n"}), Servers: map[string]string{"go": "gopls"}})
	mentions(t, ask(t, none, "symbols", args{"query": "f", "kind": "callers"}).Output, "[gopls: it is not started where no commands run; this is by syntax]")
}

// TestSymbolsByGopls asks the real one, where it is installed.
func TestSymbolsByGopls(t *testing.T) {
	t.Parallel()
	gopls, err := exec.LookPath("gopls")
	if err != nil {
		return // the scripted server stands in for it
	}
	dir := plantGit(t, files{
		"go.mod":   "module example.com/m\n\ngo 1.24\n",
		"a/a.go":   "package a\n\ntype Reader interface{ Read() }\n\ntype File struct{}\n\nfunc (File) Read() {}\n\ntype Tape struct{}\n\nfunc (Tape) Read() {}\n",
		"b/b.go":   "package b\n\nimport \"example.com/m/a\"\n\nfunc Use() { var f a.File; f.Read() }\n\nfunc Play() { var x a.Tape; x.Read() }\n",
		"other.js": "f.Read();\n",
	})
	shell, err := sandbox.New(sandbox.Config{})
	must(t, err)
	set := openSet(t, tools.Config{
		Root:     dir,
		Shell:    shell,
		Servers:  map[string]string{"go": gopls},
		Patience: time.Minute,
	})
	sameText(t, ask(t, set, "symbols", args{"query": "File.Read", "kind": "callers"}).Output,
		"b/b.go\n5 call in Use  func Use() { var f a.File; f.Read() }\n")
	sameText(t, shortened(ask(t, set, "symbols", args{"query": "Reader", "kind": "implementations"}).Output),
		"a/a.go 5-5 struct File; 9-9 struct Tape")
}
