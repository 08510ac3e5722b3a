package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeScenario(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scenario.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServeAnswersUntilStandardInputCloses(t *testing.T) {
	t.Parallel()
	first := writeScenario(t, "name = \"one\"\n[[reply]]\nphase = \"explore\"\ntext = \"from the first\"\n")
	second := writeScenario(t, "name = \"two\"\n[server]\ncost = 0.25\n[[reply]]\ntext = \"from the second\"\n")
	in, hold := io.Pipe()
	where, out := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		a := &app{in: in, out: out, err: &stderr}
		ended <- a.main(t.Context(), []string{"__serve", first, second})
	}()
	lines := bufio.NewScanner(where)
	next := func(name string) string {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no line %s; exit %d, stderr %s", name, <-ended, stderr.String())
		}
		value, ok := strings.CutPrefix(lines.Text(), name+"=")
		if !ok {
			t.Fatalf("line %q, want %s=…", lines.Text(), name)
		}
		return value
	}
	url, key := next("OPENAI_BASE_URL"), next("OPENAI_API_KEY")

	ask := func(phase string) (string, error) {
		body := `{"model":"any","messages":[{"role":"user","content":"hello"}]}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("X-Plan-Phase", phase)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	for phase, want := range map[string]string{"explore": "from the first", "review": "from the second", "plan": `"cost":0.25`} {
		if got, err := ask(phase); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s is answered with %s, %v; want %q", phase, got, err, want)
		}
	}

	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit %d, stderr %s", code, stderr.String())
	}
	if got, err := ask("explore"); err == nil {
		t.Errorf("it still answers: %s", got)
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	all := writeScenario(t, "[[reply]]\ntext = \"a\"\n")
	bad := writeScenario(t, "[[reply]]\ntxt = \"a\"\n")
	ways := writeScenario(t, "[server]\nno_finish = true\n[[reply]]\nphase = \"plan\"\ntext = \"a\"\n")
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no file":       {nil, 2, "needs a scenario file"},
		"missing file":  {[]string{"nowhere.toml"}, 1, "nowhere.toml"},
		"unknown key":   {[]string{all, bad}, 1, bad + `: line 2: unknown key "reply.txt"`},
		"two servers":   {[]string{ways, ways}, 1, ways + " has a [server] table"},
		"hidden by all": {[]string{all, all}, 1, "never served"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr}
			code := a.main(t.Context(), append([]string{"__serve"}, tt.args...))
			if code != tt.code || !strings.Contains(stderr.String(), tt.want) || stdout.Len() > 0 {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and %q", code, stdout.String(), stderr.String(), tt.code, tt.want)
			}
		})
	}
}

func TestServeIsHidden(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr}
	if code := a.main(t.Context(), []string{"--help"}); code != 0 || strings.Contains(stdout.String(), "__serve") || stdout.Len() == 0 {
		t.Errorf("exit %d, help:\n%s%s", code, stdout.String(), stderr.String())
	}
}
