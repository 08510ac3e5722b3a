package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/model/scripted"
)

// fleet are homes on one machine that stand for several: one that serves a queue, and
// workers, all with the same scripted model and a repository that is reached by a URL.
type fleet struct {
	t     *testing.T
	dir   string
	repo  string
	model *scripted.Server

	environ []string

	url       string // of the queue, as workers reach it
	tokenFile string
}

// newFleet makes one, whose model plays the replies before its own.
func newFleet(t *testing.T, replies ...string) *fleet {
	t.Helper()
	w := hosttest.New(t, replies...)
	gittest.Write(t, w.Dir, map[string]string{".gitconfig": "[user]\n\tname = A Person\n\temail = a@example.org\n"})
	return &fleet{
		t:       t,
		dir:     w.Dir,
		repo:    w.Repo,
		model:   w.Model,
		environ: w.Config.Environ,
	}
}

// start makes a command of the program in a home.
func (m *fleet) start(home string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(m.t.Context(), program(m.t), append([]string{"-C", m.dir}, args...)...)
	cmd.Env = append(slices.Clip(m.environ), "PLAN_HOME="+filepath.Join(m.dir, home), "PLAN_QUEUE_TOKEN=")
	if home != "home" { // that which serves the queue knows its token
		cmd.Env = append(cmd.Env, "PLAN_QUEUE_TOKEN_FILE="+m.tokenFile)
	}
	return cmd
}

// serve begins to serve the queue from the home "home".
func (m *fleet) serve(address string, flags ...string) *exec.Cmd {
	m.t.Helper()
	serve := m.start("home", append([]string{"queue", "serve", "--listen", address, "--json"}, flags...)...)
	out, err := serve.StdoutPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	var served struct {
		URL       string
		TokenFile string `json:"token_file"`
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &served)
	}
	if err != nil {
		m.t.Fatalf("it says %q: %v", line, err)
	}
	m.url = served.URL
	m.tokenFile = served.TokenFile
	return serve
}

// run runs a command in a home on the queue.
func (m *fleet) run(home string, args ...string) (string, error) {
	text, err := m.start(home, append(args, "--queue", m.url)...).CombinedOutput()
	return string(text), err
}

// must is run, of a command that succeeds.
func (m *fleet) must(home string, args ...string) string {
	m.t.Helper()
	text, err := m.run(home, args...)
	if err != nil {
		m.t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return text
}

// jobs writes a list of jobs, one a line, and returns its path.
func (m *fleet) jobs(name string, lines ...string) string {
	m.t.Helper()
	text := ""
	for _, line := range lines {
		text += line + "\n"
	}
	path := filepath.Join(m.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return path
}
