package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/cmd/plan/demo"
)

// The tables that the server prints work as they are: doctor has each wire's
// model call a tool and answer.
func TestDemoServePrintsWorkingProviders(t *testing.T) {
	t.Parallel()
	file := writeScenario(t, `
[[reply]]
turn = 0
  [[reply.call]]
  name = "lookup"
  args = { key = "colour" }
[[reply]]
turn = 1
text = "green"
`)
	in, hold := io.Pipe()
	where, out := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		a := &app{in: in, out: out, err: &stderr}
		ended <- a.main(t.Context(), []string{"demo", "serve", file, "--json"})
		_ = out.Close()
	}()
	var served demo.Served
	if err := json.NewDecoder(where).Decode(&served); err != nil {
		t.Fatalf("%v; exit %d, stderr %s", err, <-ended, stderr.String())
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(served.Config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wire := range served.Wires {
		name := "scripted"
		if wire != "chat" {
			name += "-" + string(wire)
		}
		var said bytes.Buffer
		a := &app{
			in:      strings.NewReader(""),
			out:     &said,
			err:     &said,
			now:     time.Now,
			environ: []string{"PLAN_HOME=" + home, served.KeyEnv + "=" + served.Key},
		}
		code := a.main(t.Context(), []string{"doctor", "--provider", name})
		if want := name + "/scripted: called a tool and answered over the wire " + string(wire); code != 0 ||
			!strings.Contains(said.String(), want) {
			t.Errorf("exit %d: %s; want %q", code, said.String(), want)
		}
	}
	if len(served.Wires) != 3 {
		t.Errorf("wires %v", served.Wires)
	}
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit %d, stderr %s", code, stderr.String())
	}
}
