package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/model/provider"
)

// local starts a server with answers by path; one that is "hang" does not come.
func local(t *testing.T, name, details string, answers map[string]string) provider.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer, ok := answers[r.URL.Path]
		if own, asked := answers[r.URL.Path+" "+string(body)]; asked {
			answer, ok = own, true
		}
		switch {
		case !ok:
			http.NotFound(w, r)
		case answer == "hang":
			<-r.Context().Done()
		case strings.HasPrefix(answer, "http"):
			http.Redirect(w, r, answer, http.StatusTemporaryRedirect)
		default:
			fmt.Fprint(w, answer)
		}
	}))
	t.Cleanup(srv.Close)
	return provider.Server{Name: name, BaseURL: srv.URL + "/v1", Details: details}
}

const (
	ollama   = "/api/show"
	lmStudio = "/api/v0/models"
)

// TestDiscover has servers that must answer within the time of the search, so
// nothing runs beside it.
//
//nolint:paralleltest // see above
func TestDiscover(t *testing.T) {
	models := func(names ...string) string {
		return `{"object":"list","data":[{"id":"` + strings.Join(names, `"},{"id":"`) + `"}]}`
	}
	show := func(name string) string { return ollama + ` {"model":"` + name + `"}` }
	vllm := local(t, "vLLM", "", map[string]string{"/v1/models": `{"data":[{"id":"qwen","max_model_len":32768}]}`})
	tooled := local(t, "Ollama", ollama, map[string]string{
		"/v1/models":        models("nomic-embed", "llama", "qwen"),
		show("nomic-embed"): `{"capabilities":["embedding"]}`,
		show("llama"):       `{"capabilities":["completion"]}`,
		show("qwen"):        `{"capabilities":["completion","tools","thinking"]}`,
	})
	old := local(t, "old Ollama", ollama, map[string]string{"/v1/models": models("llama"), ollama: `{"modelfile":"x"}`})
	stuck := local(t, "stuck Ollama", ollama, map[string]string{"/v1/models": models("llama", "qwen"), ollama: "hang"})
	studio := local(t, "LM Studio", lmStudio, map[string]string{
		"/v1/models": models("text-embedding", "gemma", "qwen"),
		lmStudio: `{"data":[{"id":"text-embedding","type":"embeddings"},{"id":"gemma","type":"llm","capabilities":["vision"]},` +
			`{"id":"qwen","type":"llm","capabilities":["tool_use"],"loaded_context_length":4096}]}`,
	})
	embeds := local(t, "embeddings", "", map[string]string{"/v1/models": models("bge-m3", "all-embed", "rerank-1")})
	empty := local(t, "empty", "", map[string]string{"/v1/models": models()[:len(`{"object":"list","data":[`)] + "]}"})
	page := local(t, "a wiki", "", map[string]string{"/v1/models": "<html>a wiki</html>"})
	silent := local(t, "silent", "", map[string]string{"/v1/models": "hang"})
	away := local(t, "a redirect", "", map[string]string{"/v1/models": vllm.BaseURL + "/models"})
	shownAway := local(t, "a redirect of Ollama", ollama, map[string]string{"/v1/models": models("llama"), ollama: vllm.BaseURL})
	hostile := local(t, "hostile", "", map[string]string{"/v1/models": `{"data":[{"id":"a\u001b[31m\nb"},` +
		`{"id":"` + strings.Repeat("x", 9000) + `"}]}`})
	nothing := provider.Server{Name: "nothing", BaseURL: "http://127.0.0.1:1/v1"}
	tests := []struct {
		name         string
		at           []provider.Server
		model, where string
		passed       []string
	}{
		{
			"Ollama says what can call tools",
			[]provider.Server{tooled},
			"qwen", "Ollama",
			[]string{"nomic-embed at Ollama does not chat", "llama at Ollama cannot call tools"},
		},
		{"an old Ollama does not say", []provider.Server{old}, "llama", "old Ollama", nil},
		{
			"LM Studio",
			[]provider.Server{studio},
			"qwen", "LM Studio",
			[]string{"text-embedding at LM Studio does not chat", "gemma at LM Studio cannot call tools"},
		},
		{"vLLM does not say", []provider.Server{vllm}, "qwen", "vLLM", nil},
		{
			"what is known before what is not",
			[]provider.Server{vllm, tooled},
			"qwen", "Ollama",
			[]string{"nomic-embed at Ollama does not chat", "llama at Ollama cannot call tools"},
		},
		{
			"embeddings only",
			[]provider.Server{embeds},
			"", "",
			[]string{
				"bge-m3 at embeddings does not chat",
				"all-embed at embeddings does not chat",
				"rerank-1 at embeddings does not chat",
			},
		},
		{
			"the preferred, not the fastest",
			[]provider.Server{silent, nothing, page, empty, old, vllm},
			"llama",
			"old Ollama",
			nil,
		},
		{"one that is slow to say", []provider.Server{stuck}, "llama", "stuck Ollama", nil},
		{"nowhere else", []provider.Server{away}, "", "", nil},
		{"nowhere else for a model", []provider.Server{shownAway}, "llama", "a redirect of Ollama", nil},
		{"names that are none", []provider.Server{hostile}, "", "", nil},
		{"none", []provider.Server{silent, nothing, {BaseURL: "nonsense"}}, "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			found, ok, passed := provider.Discover(t.Context(), nil, tt.at...)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("it took %s", took)
			}
			if ok != (tt.model != "") || found.Model != tt.model || found.Name != tt.where || ok && found.Why == "" {
				t.Errorf("found %v %+v", ok, found)
			}
			if diff := cmp.Diff(tt.passed, passed); diff != "" {
				t.Errorf("passed over (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLocalServers(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range provider.LocalServers() {
		names = append(names, s.Name+" "+s.BaseURL)
	}
	want := []string{
		"Ollama http://127.0.0.1:11434/v1", "LM Studio http://127.0.0.1:1234/v1",
		"llama.cpp http://127.0.0.1:8080/v1", "vLLM http://127.0.0.1:8000/v1",
	}
	if !slices.Equal(names, want) {
		t.Errorf("local servers are %q", names)
	}
}
