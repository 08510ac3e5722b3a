package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/wire"
)

const (
	// probeTime bounds the search for each local server.
	probeTime = 300 * time.Millisecond
	// detailTime bounds the questions about what the models of one can do.
	detailTime = time.Second
	// mostAsked is how many models a server is asked about.
	mostAsked = 24
	// maxDetail is how many bytes of an answer about a model are read.
	maxDetail = 4 << 20
)

// Server is a model server on this machine.
type Server struct {
	Name    string
	BaseURL string
	// Details is the path below the host that says what a model can do: Ollama's
	// is asked for each model, LM Studio's lists all. "" for neither.
	Details string
}

// LocalModel is a server on this machine with a model that can do the work.
type LocalModel struct {
	Server
	Model string
	Why   string // why it is this model, in a few words
}

// LocalServers lists where model servers usually listen, the preferred first.
func LocalServers() []Server {
	return []Server{
		{Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", Details: "/api/show"},
		{Name: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1", Details: "/api/v0/models"},
		{Name: "llama.cpp", BaseURL: "http://127.0.0.1:8080/v1"},
		{Name: "vLLM", BaseURL: "http://127.0.0.1:8000/v1"},
	}
}

// Discover asks the candidates, or [LocalServers] if there are none, at once. It
// returns the first of them, in their order, that offers a model which can chat
// and call tools; a model of which that is not known comes after all of which it
// is. Passed over says what was found and could not be used.
func Discover(
	ctx context.Context,
	probe *http.Client,
	candidates ...Server,
) (local LocalModel, ok bool, passed []string) {
	if len(candidates) == 0 {
		candidates = LocalServers()
	}
	own := http.Client{Transport: &http.Transport{}}
	if probe != nil {
		own = *probe
	} else {
		defer own.CloseIdleConnections()
	}
	// What is asked here stays here.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	probe = &own
	answers := make([][]wire.Offer, len(candidates))
	var asking sync.WaitGroup
	for i, server := range candidates {
		asking.Go(func() { answers[i] = offered(ctx, probe, server) })
	}
	asking.Wait()
	var fallback LocalModel
	for i, server := range candidates {
		for _, o := range answers[i] {
			switch {
			case !chats(o):
				passed = append(passed, fmt.Sprintf("%s at %s does not chat", o.Name, server.Name))
			case o.Tools == nil && fallback.Model == "":
				fallback = LocalModel{
					Server: server,
					Model:  o.Name,
					Why:    "the first that it offers; it does not say which can call tools",
				}
			case o.Tools != nil && !*o.Tools:
				passed = append(passed, fmt.Sprintf("%s at %s cannot call tools", o.Name, server.Name))
			case o.Tools != nil:
				return LocalModel{
					Server: server,
					Model:  o.Name,
					Why:    "it says that it can call tools",
				}, true, passed
			}
		}
	}
	return fallback, fallback.Model != "", passed
}

// notChats are parts of names of models that are for something else.
var notChats = []string{
	"embed",
	"rerank",
	"whisper",
	"tts",
	"bge-",
	"clip",
	"moderation",
	"dall-e",
	"stable-diffusion",
}

func chats(o wire.Offer) bool {
	if o.Chat != nil {
		return *o.Chat
	}
	name := strings.ToLower(o.Name)
	return !slices.ContainsFunc(notChats, func(part string) bool { return strings.Contains(name, part) })
}

// offered lists the models of a server, none if there is no server, with what they
// can do where the server says it.
func offered(ctx context.Context, probe *http.Client, server Server) []wire.Offer {
	client, err := chat.New(chat.Config{Config: wire.Config{BaseURL: server.BaseURL, HTTP: probe}})
	if err != nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	list, err := client.Models(within)
	if err != nil || len(list) == 0 {
		return nil
	}
	within, cancel = context.WithTimeout(ctx, detailTime)
	defer cancel()
	root := strings.TrimSuffix(server.BaseURL, "/v1")
	switch server.Details {
	case "/api/show":
		for i := range min(len(list), mostAsked) {
			list[i].Chat, list[i].Tools = capabilities(within, probe, root+server.Details, list[i].Name)
		}
	case "/api/v0/models":
		if own, err := listed(within, probe, root+"/api/v0/"); err == nil && len(own) > 0 {
			return own
		}
	}
	return list
}

// listed is a list with more in it, at another path.
func listed(ctx context.Context, probe *http.Client, base string) ([]wire.Offer, error) {
	client, err := chat.New(chat.Config{Config: wire.Config{BaseURL: base, HTTP: probe}})
	if err != nil {
		return nil, err
	}
	return client.Models(ctx)
}

// capabilities asks Ollama what a model can do.
func capabilities(ctx context.Context, probe *http.Client, address, model string) (chat, tools *bool) {
	body, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return nil, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil
	}
	res, err := probe.Do(req)
	if err != nil {
		return nil, nil
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	var says struct {
		Capabilities []string `json:"capabilities"`
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxDetail))
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(data, &says) != nil ||
		len(says.Capabilities) == 0 {
		return nil, nil
	}
	can := func(capability string) *bool {
		yes := slices.Contains(says.Capabilities, capability)
		return &yes
	}
	return can("completion"), can("tools")
}
