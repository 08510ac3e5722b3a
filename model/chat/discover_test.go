package openai_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/openai"
)

const modelList = `{"object":"list","data":[{"id":"b","object":"model"},{"id":"a","object":"model"},{"id":""}]}`

func TestModels(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, r *http.Request, _ int, _ string) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-1234" {
			t.Errorf("request is %s %s %v", r.Method, r.URL.Path, r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, modelList)
	})
	got, err := f.client(t, withKey("sk-1234")).Models(t.Context())
	if diff := cmp.Diff([]string{"b", "a"}, got); diff != "" || err != nil {
		t.Errorf("Models: %v (-want +got):\n%s", err, diff)
	}
	for _, text := range []string{"<html>", "{", ""} {
		_, err := serveText(t, "application/json", text).client(t).Models(t.Context())
		modelError(t, err, loop.ErrServed)
	}
	_, err = serveText(t, "text/html", "<html>").client(t).Models(t.Context())
	modelError(t, err, loop.ErrServed)
}

// TestDiscover has servers that must answer within the probe time, so nothing
// runs beside it.
//
//nolint:paralleltest // see above
func TestDiscover(t *testing.T) {
	good := serveText(t, "application/json", modelList)
	other := serveText(t, "application/json", `{"data":[{"id":"other"}]}`)
	empty := serveText(t, "application/json", `{"data":[]}`)
	page := serveText(t, "text/html", "<html>a wiki</html>")
	silent := serve(t, hang(""))
	gone := serveText(t, "", "")
	gone.Close()
	at := func(f *fake) openai.Server { return openai.Server{Name: f.URL, BaseURL: f.URL + "/v1"} }
	tests := []struct {
		name   string
		at     []openai.Server
		want   *fake
		models []string
	}{
		{"the first that answers", []openai.Server{at(gone), at(page), at(empty), at(good), at(other)}, good, []string{"b", "a"}},
		{"the preferred, not the fastest", []openai.Server{at(silent), at(other), at(good)}, other, []string{"other"}},
		{"nobody", []openai.Server{at(gone), at(silent), {BaseURL: "nonsense"}}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			got, ok := openai.Discover(t.Context(), nil, tt.at...)
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %s", took)
			}
			if ok != (tt.want != nil) {
				t.Fatalf("found %v %+v", ok, got)
			}
			if !ok {
				return
			}
			want := at(tt.want)
			want.Models = tt.models
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
		})
	}
	var names []string
	for _, s := range openai.LocalServers() {
		names = append(names, s.Name+" "+s.BaseURL)
	}
	want := []string{
		"Ollama http://127.0.0.1:11434/v1", "LM Studio http://127.0.0.1:1234/v1",
		"llama.cpp http://127.0.0.1:8080/v1", "vLLM http://127.0.0.1:8000/v1",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("local servers (-want +got):\n%s", diff)
	}
}
