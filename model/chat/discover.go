package openai

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// probeTime bounds the search for each local server.
const probeTime = 300 * time.Millisecond

// Server is a model server on this machine.
type Server struct {
	Name    string
	BaseURL string
	Models  []string // what it offers; empty until it was asked
}

// LocalServers lists where model servers usually listen, the preferred first.
func LocalServers() []Server {
	return []Server{
		{Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1"},
		{Name: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1"},
		{Name: "llama.cpp", BaseURL: "http://127.0.0.1:8080/v1"},
		{Name: "vLLM", BaseURL: "http://127.0.0.1:8000/v1"},
	}
}

// Discover asks the candidates, or [LocalServers] if there are none, at once
// and returns the first of them, in their order, that offers a model. It takes
// at most about 300 ms. A nil probe means a client of its own.
func Discover(ctx context.Context, probe *http.Client, candidates ...Server) (Server, bool) {
	if len(candidates) == 0 {
		candidates = LocalServers()
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answers := make([]chan []string, len(candidates))
	for i, server := range candidates {
		answers[i] = make(chan []string, 1)
		asking.Go(func() { answers[i] <- offered(ctx, probe, server.BaseURL) })
	}
	for i, server := range candidates {
		if models := <-answers[i]; len(models) > 0 {
			server.Models = models
			return server, true
		}
	}
	return Server{}, false
}

// offered lists the models of a server, none if there is no server.
func offered(ctx context.Context, probe *http.Client, baseURL string) []string {
	client, err := New(Config{BaseURL: baseURL, HTTP: probe})
	if err != nil {
		return nil
	}
	if probe == nil {
		defer client.Close()
	}
	models, err := client.Models(ctx)
	if err != nil {
		return nil
	}
	return models
}
