package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/hint"
)

// maxBody is how long a request may be, in bytes.
const maxBody = 4 << 20

// Served is where a server listens.
type Served struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// ServeHTTP listens at an address of this machine until ctx ends, and returns once every
// run that it drove is parked or has ended. A client needs the token, as
// "Authorization: Bearer TOKEN". Began is called once it listens.
func ServeHTTP(ctx context.Context, h *host.Host, address string, o Options, began func(Served) error) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	at, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		_ = listener.Close()
		return hint.Usage("%s can be reached from elsewhere: listen on 127.0.0.1 or [::1]", address)
	}
	s := newServer(ctx, h, o)
	token := rand.Text()
	handler := sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return s.protocol() },
		&sdk.StreamableHTTPOptions{
			EventStore:          sdk.NewMemoryEventStore(nil),
			SessionTimeout:      time.Hour,
			MaxRequestBodyBytes: maxBody,
		},
	)
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.NewCrossOriginProtection().Handler(withToken(token, handler)))
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = began(Served{
		URL:   fmt.Sprintf("http://%s/mcp", listener.Addr()),
		Token: token,
	})
	if err == nil {
		select {
		case err = <-served:
		case <-ctx.Done():
		}
	}
	s.runs.Park()
	s.runs.Wait()
	err = errors.Join(err, server.Close())
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// withToken lets in who has the token.
func withToken(token string, next http.Handler) http.Handler {
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token that plan mcp printed is missing or wrong", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
