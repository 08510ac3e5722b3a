package main

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/model/scripted"
)

// wiretap is what was sent to a server, headers and all.
type wiretap struct {
	mu   sync.Mutex
	sent []string
}

// tap puts a wiretap before a server and returns its address.
func tap(t *testing.T, s *scripted.Server) (*wiretap, string) {
	t.Helper()
	to, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	w := &wiretap{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host})
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		dump, _ := httputil.DumpRequest(r, true)
		w.mu.Lock()
		w.sent = append(w.sent, string(dump))
		w.mu.Unlock()
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	return w, front.URL + to.Path
}

func (w *wiretap) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

// TestReviewByAnotherHouse: the implementer's provider and the reviewer's each see
// their own phases and their own key, whatever their wires.
func TestReviewByAnotherHouse(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"responses", "anthropic"}, {"anthropic", "chat"}, {"chat", "responses"}}
	for _, wires := range sampling.Pick(sampling.New(t), 1, pairs) {
		t.Run(wires[0]+" and "+wires[1], func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			maker := h.serve("maker", usual(scripted.Gateway{Wires: []scripted.Wire{scripted.Wire(wires[0])}}))
			judge := h.serve("judge", usual(scripted.Gateway{Wires: []scripted.Wire{scripted.Wire(wires[1])}}))
			toMaker, makerURL := tap(t, maker)
			toJudge, judgeURL := tap(t, judge)
			tables := strings.NewReplacer("{maker}", makerURL, "{judge}", judgeURL).
				Replace(providerTable("maker", wires[0]) + providerTable("judge", wires[1]))
			h.settings("model = \"maker/m\"\n[phase.review]\nmodel = \"judge/m\"\n" + tables)
			p := h.run()
			p.approved()
			if diff := cmp.Diff([]string{"explore", "implement", "plan"}, phasesOf(maker)); diff != "" {
				t.Errorf("the maker's phases (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"review"}, phasesOf(judge)); diff != "" {
				t.Errorf("the judge's phases (-want +got):\n%s", diff)
			}
			for i, s := range []*scripted.Server{maker, judge} {
				want := "Authorization"
				if wires[i] == "anthropic" {
					want = "X-Api-Key"
				}
				for _, r := range s.Requests() {
					if r.KeyHeader != want {
						t.Errorf("%s: the key is in %q, want %q", r.Path, r.KeyHeader, want)
					}
				}
			}
			if n, m := holds(toMaker.texts(), keyOf("judge")), holds(toJudge.texts(), keyOf("maker")); n+m > 0 || len(toJudge.texts()) == 0 {
				t.Errorf("a key was sent to the other server: %d and %d times", n, m)
			}
			h.keepsKeys(p)
		})
	}
}

// keepsKeys fails the test where a key stands in the home, settings excepted, or
// in what the program printed.
func (h *modelHome) keepsKeys(shown ...played) {
	h.t.Helper()
	var keys []string
	for name := range h.servers {
		keys = append(keys, keyOf(name))
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(h.dir, "home"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files++
		for _, key := range keys {
			if bytes.Contains(data, []byte(key)) && entry.Name() != "config.toml" {
				h.t.Errorf("%s holds a key", path)
			}
		}
		return err
	})
	if err != nil || files < 2 {
		h.t.Errorf("%d files, %v", files, err)
	}
	for _, p := range shown {
		for _, key := range keys {
			if strings.Contains(p.out+p.shown, key) {
				h.t.Errorf("a key is shown:\n%s%s", p.out, p.shown)
			}
		}
	}
}

// keyCase is a way to have a key and to send it.
type keyCase struct {
	name   string
	table  string // of the provider's settings
	header string
	query  string
}

// TestKeys: a key comes from where the settings say and is sent as they say; it is
// in no file of the home and in nothing that is shown, also where a model repeats it.
func TestKeys(t *testing.T) {
	t.Parallel()
	key := keyOf("x")
	for _, c := range []keyCase{
		{
			name:   "a variable",
			table:  "key_env = \"X_KEY\"\n",
			header: "Authorization",
		},
		{
			name:   "a command",
			table:  "key_command = \"echo the-key-of-x-alone\"\n",
			header: "Authorization",
		},
		{
			name:   "Azure",
			table:  "key_env = \"X_KEY\"\nauth = \"api-key\"\nquery = {api-version = \"2026-01-01\"}\n",
			header: "Api-Key",
			query:  "api-version=2026-01-01",
		},
		{
			name:   "a header of one's own",
			table:  "auth = \"none\"\nheaders = {X-Api-Key = \"$X_KEY\"}\n",
			header: "X-Api-Key",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			s := h.serve("x", usual(scripted.Gateway{}, scripted.Reply{
				Phase: "plan", Text: "# Plan\nThe key is " + key + ".\n",
			}))
			if !strings.Contains(c.table, "X_KEY") {
				h.env = nil // the program has it from the command alone
			}
			h.settings("model = \"x/m\"\n[providers.x]\nwire = \"chat\"\nbase_url = \"{x}\"\n" + c.table)
			p := h.run("--plan-only")
			p.planned()
			for _, r := range s.Requests() {
				if r.KeyHeader != c.header || r.Query != c.query {
					t.Errorf("the key is in %q and the query is %q", r.KeyHeader, r.Query)
				}
			}
			doctor, models, config := h.plan("doctor", "--provider", "x"), h.plan("models", "--offered", "--json"), h.plan("config")
			if doctor.code != plan.ExitOK || models.code != plan.ExitOK || !strings.Contains(models.out, `"offered":true`) {
				t.Errorf("doctor ended with %d, models with %d\n%s%s%s", doctor.code, models.code, doctor.out, doctor.shown, models.out)
			}
			h.keepsKeys(p, doctor, models, config)
		})
	}
}
