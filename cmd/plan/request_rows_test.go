package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
)

// TestCommandRows drives the rows of the table of verdicts that are about the
// command itself: a blank request is a mistake in its usage, however it comes.
// The other system can be switched off; this one cannot.
func TestCommandRows(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../review/testdata/dirge_verdict.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		var kind struct{ Input struct{ Kind string } }
		if err := json.Unmarshal(in.Bytes(), &kind); err != nil || kind.Input.Kind != "command" {
			continue
		}
		var row struct {
			Name  string
			Input struct {
				Enabled *bool
				Request string
			}
			Expected struct{ Next string }
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		n++
		for how, args := range map[string][]string{"as an argument": {row.Input.Request}, "in words": strings.Split(row.Input.Request, " "), "on standard input": {"-"}} {
			a := &app{in: strings.NewReader(row.Input.Request)}
			text, err := a.request(args, "plan run x")
			usage := host.ExitCode(err) == plan.ExitUsage
			if blank := strings.TrimSpace(row.Input.Request) == ""; usage != blank || blank && row.Expected.Next != "usage" {
				t.Errorf("%s %s: %q, %v; want %s", row.Name, how, text, err, row.Expected.Next)
			}
		}
	}
	if n == 0 {
		t.Fatal("no rows of kind command")
	}
	a := &app{in: strings.NewReader("\ufeff \r\n")}
	if text, err := a.request([]string{"-"}, "plan run x"); err == nil {
		t.Errorf("a byte order mark alone is taken as the request %q", text)
	}
}
