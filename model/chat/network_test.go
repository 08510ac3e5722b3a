package chat_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// hijack answers with raw bytes and closes the connection, with a reset if asked.
func hijack(t *testing.T, w http.ResponseWriter, raw string, reset bool) {
	t.Helper()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Errorf("hijack: %v", err)
		return
	}
	fmt.Fprint(buffered, raw)
	if err := buffered.Flush(); err != nil {
		t.Errorf("flush: %v", err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		if err := tcp.SetLinger(0); err != nil {
			t.Errorf("linger: %v", err)
		}
	}
	_ = conn.Close()
}

func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunk := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	he := chunk("data: " + deltaOf(`{"content":"he"}`, "") + "\n\n")
	tests := []struct {
		name, raw string
		reset     bool
		kind      loop.ErrorKind
	}{
		{"closed before the headers", "", false, loop.ErrUnserved},
		{"reset before the headers", "", true, loop.ErrUnserved},
		{"cut within the headers", head[:30], false, loop.ErrUnserved},
		{"closed mid-stream", head + he, false, loop.ErrServed},
		{"closed mid-chunk", head + he + "40\r\ndata: {", false, loop.ErrServed},
		{"closed within a document", "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{\"choices\":", false, loop.ErrServed},
		{"closed within an error", "HTTP/1.1 500 Oops\r\nContent-Length: 999\r\n\r\n{\"error\":", false, loop.ErrServed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) { hijack(t, w, tt.raw, tt.reset) })
			_, err := clientOf(t, f).Generate(t.Context(), call("hi"), nil)
			wiretest.ModelError(t, err, tt.kind)
			if f.Count() != 1 {
				t.Errorf("%d requests, want 1", f.Count())
			}
		})
	}
	t.Run("reset mid-stream", func(t *testing.T) {
		t.Parallel()
		seen := make(chan struct{})
		f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Errorf("hijack: %v", err)
				return
			}
			defer conn.Close()
			fmt.Fprint(buffered, head+he)
			_ = buffered.Flush()
			<-seen
			_ = conn.(*net.TCPConn).SetLinger(0)
		})
		_, err := clientOf(t, f).Generate(t.Context(), call("hi"), func(loop.Delta) { close(seen) })
		wiretest.ModelError(t, err, loop.ErrServed)
	})
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		f := wiretest.ServeText(t, "", "")
		client := clientOf(t, f)
		f.Close()
		_, err := client.Generate(t.Context(), call("hi"), nil)
		if me := wiretest.ModelError(t, err, loop.ErrUnreachable); !strings.Contains(me.Message, f.URL) || !me.Transient() {
			t.Errorf("error = %+v, want the address in it", me)
		}
	})
	t.Run("no such host", func(t *testing.T) {
		t.Parallel()
		client, err := chat.New(chat.Config{Config: wire.Config{BaseURL: "http://host.invalid/v1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.Generate(t.Context(), call("hi"), nil)
		wiretest.ModelError(t, err, loop.ErrUnreachable)
	})
	t.Run("no handshake", func(t *testing.T) {
		t.Parallel()
		for name, speaks := range map[string]func(*httptest.Server){
			"an old TLS": func(s *httptest.Server) { s.TLS = &tls.Config{MaxVersion: tls.VersionTLS11} },
			"nothing": func(s *httptest.Server) {
				s.Config.ConnState = func(c net.Conn, _ http.ConnState) { _ = c.Close() }
			},
		} {
			srv := httptest.NewUnstartedServer(http.NotFoundHandler())
			srv.Config.ErrorLog = log.New(io.Discard, "", 0)
			speaks(srv)
			srv.StartTLS()
			defer srv.Close()
			client, err := chat.New(chat.Config{Config: wire.Config{BaseURL: srv.URL}})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err = client.Generate(t.Context(), call("hi"), nil); err != nil {
				t.Log(name, err)
			}
			wiretest.ModelError(t, err, loop.ErrUnreachable)
		}
	})
	t.Run("an unknown certificate", func(t *testing.T) {
		t.Parallel()
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ErrorLog = nil
		srv.StartTLS()
		defer srv.Close()
		client, err := chat.New(chat.Config{Config: wire.Config{BaseURL: srv.URL}})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.Generate(t.Context(), call("hi"), nil)
		wiretest.ModelError(t, err, loop.ErrUnreachable)
	})
}

func TestCompleteAnswerSurvivesABadEnd(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	event := "data: " + deltaOf(`{"content":"hello"}`, "stop") + "\n\n"
	f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		hijack(t, w, head+fmt.Sprintf("%x\r\n%s\r\n", len(event), event), false)
	})
	answer, err := clientOf(t, f).Generate(t.Context(), call("hi"), nil)
	if err != nil || answer.Message.Text() != "hello" {
		t.Errorf("answer = %+v, %v", answer, err)
	}
}

// hang answers with some text and then waits until the client has gone.
func hang(text string) func(http.ResponseWriter, *http.Request, int, string) {
	return func(w http.ResponseWriter, r *http.Request, _ int, _ string) {
		if text != "" {
			fmt.Fprint(w, text)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	he := "data: " + deltaOf(`{"content":"he"}`, "") + "\n\n"
	for name, text := range map[string]string{"before the headers": "", "between chunks": he, "within an " +
		"event": he + "data: {", "in a document": "{"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := clientOf(t, wiretest.Serve(t, hang(text)),
				func(c *chat.Config) { c.Idle, c.FirstByte = 30*time.Millisecond, 30*time.Millisecond },
			)
			_, err := client.Generate(t.Context(), call("hi"), nil)
			if me := wiretest.ModelError(t, err, loop.ErrIdle); !strings.Contains(me.Message, "30ms") || !me.Transient() {
				t.Errorf("error = %+v", me)
			}
		})
	}
	t.Run("in an error", func(t *testing.T) {
		t.Parallel()
		client := clientOf(t, wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, n int, body string) {
			w.WriteHeader(http.StatusInternalServerError)
			hang("{")(w, r, n, body)
		}), func(c *chat.Config) { c.Idle = 30 * time.Millisecond })
		_, err := client.Generate(t.Context(), call("hi"), nil)
		wiretest.ModelError(t, err, loop.ErrServed) // as its status says
	})
	t.Run("after the reason", func(t *testing.T) {
		t.Parallel()
		url := wiretest.Serve(t, hang("data: "+deltaOf(`{"content":"hello"}`, "stop")+"\n\n"))
		client := clientOf(t, url, func(c *chat.Config) { c.Idle = 500 * time.Millisecond })
		answer, err := client.Generate(t.Context(), call("hi"), nil)
		if err != nil || answer.Message.Text() != "hello" {
			t.Errorf("answer = %+v, %v", answer, err)
		}
	})
}

// TestKeepAliveBreaksTheSilence sends comments for several times the idle
// timeout; the ticker is the server's, nothing is timed by the test.
func TestKeepAliveBreaksTheSilence(t *testing.T) {
	t.Parallel()
	const idle = 500 * time.Millisecond
	f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		tick := time.NewTicker(idle / 10)
		defer tick.Stop()
		for range 20 {
			fmt.Fprint(w, ": ping\n\n")
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
		fmt.Fprint(w, sse(stopped))
	})
	client := clientOf(t, f, func(c *chat.Config) { c.Idle = idle })
	if _, err := client.Generate(t.Context(), call("hi"), nil); err != nil {
		t.Error(err)
	}
}

// TestContextEnds measures how long it takes, so nothing runs beside it.
//
//nolint:paralleltest // see above
func TestContextEnds(t *testing.T) {
	why := errors.New("the run was cancelled")
	he := "data: " + deltaOf(`{"content":"he"}`, "") + "\n\n"
	done := he + "data: " + stopped + "\n\n"
	for name, text := range map[string]string{"between chunks": he, "after the reason": done} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var at time.Time
			_, err := clientOf(t, wiretest.Serve(t, hang(text))).Generate(ctx, call("hi"), func(loop.Delta) { at = time.Now(); cancel(why) })
			if took := time.Since(at); !errors.Is(err, why) || took > 100*time.Millisecond {
				t.Errorf("error after %s = %v, want the cause within 100ms", took, err)
			}
			if _, ok := loop.AsModelError(err); ok {
				t.Errorf("error is a model error: %v", err)
			}
		})
	}
	t.Run("before the headers", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := clientOf(t, wiretest.Serve(t, func(_ http.ResponseWriter, r *http.Request, _ int, _ string) {
			cancel(why)
			<-r.Context().Done()
		})).Generate(ctx, call("hi"), nil)
		if !errors.Is(err, why) {
			t.Errorf("error = %v, want the cause", err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := clientOf(t, wiretest.Serve(t, hang(he))).Generate(ctx, call("hi"), nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline's", err)
		}
	})
	t.Run("already", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		f := wiretest.ServeText(t, "", sse(stopped))
		if _, err := clientOf(t, f).Generate(ctx, call("hi"), nil); !errors.Is(err, why) || f.Count() != 0 {
			t.Errorf("error = %v after %d requests, want the cause and none", err, f.Count())
		}
	})
}

// TestSlowEnd has a server that takes its time for the usage after the reason
// for stopping, and for the end of the body after the end mark: the usage must
// count, and the connection must be used again.
func TestSlowEnd(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for _, event := range []string{stopped, usageOf(`"prompt_tokens":5,"completion_tokens":2`), "[DONE]"} {
			fmt.Fprintf(w, "data: %s\n\n", event)
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	client, err := chat.New(chat.Config{Config: wire.Config{BaseURL: srv.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 3 {
		answer, err := client.Generate(t.Context(), call("hi"), nil)
		if err != nil || answer.Usage.Input != 5 {
			t.Fatalf("answer = %+v, %v; want the usage in it", answer, err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
