// Package arch proves the floors of the house: who may import whom.
package arch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/plan-engine/plan"

// floors gives every package its floor: the ground is 0, the roof 7.
var floors = map[string]int{
	"": 0, "internal": 0,
	"engine": 1, "loop": 1, "review": 1, "skills": 1, "memory": 1, "sandbox": 1,
	"model": 2, "tools": 2, "checks": 2, "worktree": 2, "config": 2,
	"phases": 3,
	"batch":  4,
	"host":   5,
	"face":   6,
	"cmd":    7, "bench": 7,
}

// owners says which package alone may import a library.
var owners = map[string]string{
	"github.com/openai/openai-go":            "model/chat model/responses bench/floor",
	"github.com/anthropics/anthropic-sdk-go": "model/anthropic",
	"github.com/mattn/go-sqlite3":            "memory bench/floor",
	"github.com/klauspost/compress":          "memory batch/nats",
	"github.com/looplab/fsm":                 "engine",
	"github.com/spf13/cobra":                 "cmd/plan cmd/plan/command cmd/plan/demo cmd/plan/machines cmd/plan/manual cmd/plan/runflags cmd/plan/serveflags",
	"github.com/coder/acp-go-sdk":            "face/acp",
	"github.com/modelcontextprotocol/go-sdk": "tools/mcp face/mcp",
	"github.com/getkin/kin-openapi":          "tools/openapi",
	"github.com/theory/jsonpath":             "tools/openapi",
	"github.com/tree-sitter":                 "tools/syntax",
	"charm.land/catwalk":                     "model/catalog",
	"github.com/tiktoken-go":                 "model/tokens",
	"github.com/pelletier/go-toml":           "config model/scripted",
	"github.com/nats-io":                     "batch/nats batch/nats/natstest batch/nats/server",
	"charm.land/bubbletea":                   "face/tui",
	"charm.land/lipgloss":                    "face/tui/draw",
	"github.com/charmbracelet/x/ansi":        "face/tui face/tui/draw face/tui/composer",
}

// apart says which rooms a package may not import although they lie below it.
var apart = map[string]string{
	"batch": "memory", // a queue of jobs can be elsewhere
}

// plain are packages that must not link what speaks to servers: their tests, and
// those of what imports them, link in half the time.
var plain = []string{"config", "model/catalog", "model/wire", "tools", "batch"}

// speakers are what speaks to servers, with large libraries.
var speakers = []string{"model/chat", "model/responses", "model/anthropic"}

type pkg struct {
	ImportPath   string
	Doc          string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,TestImports,XTestImports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.ImportPath, "/internal/") {
			all = append(all, p)
		}
	}
	if len(all) < 12 {
		t.Fatalf("go list found %d packages; the house has more", len(all))
	}
	return all
}

func rel(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

// violation says what is wrong with one import, or "".
func violation(from, to string) string {
	if !strings.HasPrefix(to, module) {
		for lib, owner := range owners {
			if (to == lib || strings.HasPrefix(to, lib+"/")) && !slices.Contains(strings.Fields(owner), from) {
				return fmt.Sprintf("%s imports %s, which is %s's alone", from, to, owner)
			}
		}
		return ""
	}
	to = rel(to)
	fromRoom, _, _ := strings.Cut(from, "/")
	toRoom, _, _ := strings.Cut(to, "/")
	fromFloor, known := floors[fromRoom]
	toFloor, also := floors[toRoom]
	switch {
	case !known:
		return fmt.Sprintf("%s stands on no floor", from)
	case !also:
		return fmt.Sprintf("%s imports %s, which stands on no floor", from, to)
	case fromRoom == "face" && toRoom == "face" && faceOf(from) != faceOf(to):
		return fmt.Sprintf("%s imports %s: faces do not know each other", from, to)
	case fromRoom == toRoom:
		return ""
	case toRoom != "" && apart[fromRoom] == toRoom:
		return fmt.Sprintf("%s imports %s, from which it stays apart", from, to)
	case toFloor > fromFloor:
		return fmt.Sprintf("%s (floor %d) imports %s above it (floor %d)", from, fromFloor, to, toFloor)
	case toFloor == fromFloor && fromFloor == 1:
		return fmt.Sprintf("%s imports its sibling %s", from, to)
	}
	return ""
}

// faceOf is the face that a room belongs to: a face may have rooms of its own below.
func faceOf(room string) string {
	parts := strings.SplitN(room, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func TestFloors(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if v := violation(rel(p.ImportPath), imp); v != "" {
				t.Error(v)
			}
		}
	}
}

// linked adds what a package links, through all that it imports.
func linked(all map[string]pkg, from string, out map[string]bool) {
	for _, imp := range all[from].Imports {
		if to := rel(imp); strings.HasPrefix(imp, module) && !out[to] {
			out[to] = true
			linked(all, to, out)
		}
	}
}

func TestDataLinksNoServers(t *testing.T) {
	t.Parallel()
	all := map[string]pkg{}
	for _, p := range packages(t) {
		all[rel(p.ImportPath)] = p
	}
	for _, name := range plain {
		links := map[string]bool{}
		linked(all, name, links)
		if len(links) == 0 {
			t.Errorf("%s links nothing: is it gone?", name)
		}
		for _, speaker := range speakers {
			if links[speaker] {
				t.Errorf("%s links %s, which speaks to servers", name, speaker)
			}
		}
	}
	links := map[string]bool{}
	linked(all, "host", links)
	if server := "batch/nats/server"; links[server] || all[server].ImportPath == "" {
		t.Errorf("host links %s, or it is gone: a program that takes part in a queue serves none", server)
	}
}

func TestFloorsCatchViolations(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"engine", module + "/phases"},
		{"loop", module + "/review"},
		{"memory", module + "/engine"},
		{"", module + "/loop"},
		{"tools", module + "/phases"},
		{"batch", module + "/memory"},
		{"phases", "github.com/openai/openai-go/v3"},
		{"engine", "github.com/mattn/go-sqlite3"},
		{"somewhere", module + "/loop"},
		{"host", module + "/face/render"},
		{"host", module + "/cmd/plan"},
		{"face/render", module + "/cmd/plan"},
		{"face/web", module + "/face/render"},
		{"face/tui/draw", module + "/face/render"},
		{"cmd/plan", "charm.land/bubbletea/v2"},
		{"batch", "github.com/nats-io/nats.go"},
		{"face/render", "charm.land/lipgloss/v2"},
	} {
		if violation(c[0], c[1]) == "" {
			t.Errorf("%s importing %s goes unnoticed", c[0], c[1])
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// TestCommandsStaySmall holds the commands to flags, one call and one view: what they
// have beyond that is a rule of the domain, which goes to host, or a view.
func TestCommandsStaySmall(t *testing.T) {
	t.Parallel()
	const most = 4500
	files, err := filepath.Glob("../../cmd/plan/*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(data, []byte{'\n'})
	}
	if lines < 1000 || lines > most {
		t.Errorf("cmd/plan has %d lines without its tests, and may have %d: "+
			"move rules of the domain to host and views to face/render", lines, most)
	}
}
