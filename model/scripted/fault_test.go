package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// faulty is a scenario of one reply with a call and the given fault.
func faulty(fault string) string {
	return `
[[reply]]
text = "The answer, in more words than one chunk can hold."
  [[reply.call]]
  name = "read"
  args = { path = "some/long/path/of/a/file.go", limit = 20 }
  [reply.fault]
` + fault
}

// whole checks that a request is now answered without a fault.
func (c *client) whole() {
	c.t.Helper()
	_, data, err := c.post(at("plan", 1), ask(true, user))
	if err != nil {
		c.t.Fatal(err)
	}
	h := listen(c.t, data)
	if !h.Done || h.Finish != "tool_calls" || len(h.Calls) != 1 || !json.Valid([]byte(h.Calls[0].Args)) || h.Text == "" {
		c.t.Errorf("not the whole answer: %+v", h)
	}
}

func TestFaultStatus(t *testing.T) {
	t.Parallel()
	c := start(t, faulty("kind = 'status'\nstatus = 429\nretry_after = '7'\ntimes = 2\n"))
	for range 2 {
		resp, data, err := c.post(at("plan", 1), ask(true, user))
		if err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "7" ||
			errorOf(data) != "scripted fault: Too Many Requests" {
			t.Errorf("%v %v %s", resp, err, data)
		}
	}
	c.whole()
	// Another place has its own count, and so has another run.
	for _, h := range []headers{at("plan", 2), {"X-Plan-Run": "R2", "X-Plan-Phase": "plan", "X-Plan-Attempt": "1"}} {
		if resp, _, err := c.post(h, ask(true, user)); err != nil || resp.StatusCode != 429 {
			t.Errorf("%v: %v %v", h, resp, err)
		}
	}

	c = start(t, faulty("kind = 'status'\nstatus = 503\nbody = 'down'\ntimes = 0\n"))
	for range 3 {
		resp, data, err := c.post(nil, ask(false, user))
		if err != nil || resp.StatusCode != 503 || data != "down" || resp.Header.Get("Retry-After") != "" {
			t.Errorf("%v %v %s", resp, err, data)
		}
	}
}

func TestFaultsInARow(t *testing.T) {
	t.Parallel()
	c := start(t, `
[[reply]]
[reply.fault]
kind = "status"
status = 503
[[reply]]
[reply.fault]
kind = "status"
status = 429
[[reply]]
text = "at last"
`)
	var got []int
	for range 4 {
		resp, _, err := c.post(nil, ask(false, user))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, resp.StatusCode)
	}
	if diff := cmp.Diff([]int{503, 429, 200, 200}, got); diff != "" {
		t.Error(diff)
	}
}

// Each of these faults leaves a response that a client must not take for a
// whole answer, and the request after it is answered whole.
func TestFaultsThatCut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, fault string
		stream      bool
		check       func(t *testing.T, resp *http.Response, data string, err error)
	}{
		{"truncate", "kind = 'truncate'\nafter_chunks = 3\n", true, func(t *testing.T, _ *http.Response, data string, err error) {
			h := listen(t, data)
			if err != nil || len(events(t, data)) != 3 || h.Done || h.Finish != "" || h.Text == "" {
				t.Errorf("%v %+v", err, h)
			}
		}},
		{
			"truncate at the start",
			"kind = 'truncate'\nafter_chunks = 0\n",
			true,
			func(t *testing.T, resp *http.Response, data string, err error) {
				if err != nil || resp.StatusCode != 200 || data != "" {
					t.Errorf("%v %v %q", err, resp, data)
				}
			},
		},
		{"truncate plain", "kind = 'truncate'\n", false, func(t *testing.T, _ *http.Response, data string, err error) {
			if err != nil || data == "" || json.Valid([]byte(data)) {
				t.Errorf("%v %q", err, data)
			}
		}},
		{"half call", "kind = 'half_call'\n", true, func(t *testing.T, _ *http.Response, data string, err error) {
			h := listen(t, data)
			if err != nil || h.Done || h.Finish != "" || len(h.Calls) != 1 || h.Calls[0].Args == "" ||
				json.Valid([]byte(h.Calls[0].Args)) {
				t.Errorf("%v %+v", err, h)
			}
		}},
		{"half call plain", "kind = 'half_call'\n", false, func(t *testing.T, _ *http.Response, data string, err error) {
			if err != nil || data == "" || json.Valid([]byte(data)) {
				t.Errorf("%v %q", err, data)
			}
		}},
		{"malformed args", "kind = 'malformed_args'\n", true, func(t *testing.T, _ *http.Response, data string, err error) {
			h := listen(t, data)
			if err != nil || !h.Done || h.Finish != "tool_calls" || len(h.Calls) != 1 || h.Calls[0].Args == "" ||
				json.Valid([]byte(h.Calls[0].Args)) {
				t.Errorf("%v %+v", err, h)
			}
		}},
		{"malformed args plain", "kind = 'malformed_args'\n", false, func(t *testing.T, _ *http.Response, data string, err error) {
			h := read(t, data)
			if err != nil || h.Finish != "tool_calls" || len(h.Calls) != 1 || json.Valid([]byte(h.Calls[0].Args)) {
				t.Errorf("%v %+v", err, h)
			}
		}},
		{"error frame", "kind = 'error_frame'\nafter_chunks = 2\n", true, func(t *testing.T, resp *http.Response, data string, err error) {
			list := events(t, data)
			if err != nil || resp.StatusCode != 200 || len(list) != 3 || errorOf(list[2]) != "scripted fault: the model failed" {
				t.Errorf("%v %v %q", err, resp, list)
			}
		}},
		{
			"error frame plain",
			"kind = 'error_frame'\nbody = '{\"error\":{\"message\":\"mine\"}}'\n",
			false,
			func(t *testing.T, resp *http.Response, data string, err error) {
				if err != nil || resp.StatusCode != 500 || errorOf(data) != "mine" {
					t.Errorf("%v %v %q", err, resp, data)
				}
			},
		},
		{"empty", "kind = 'empty'\n", true, func(t *testing.T, _ *http.Response, data string, err error) {
			h := listen(t, data)
			h.Usage = nil
			if diff := cmp.Diff(heard{Finish: "stop", Done: true}, h); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}},
		{"empty plain", "kind = 'empty'\n", false, func(t *testing.T, _ *http.Response, data string, err error) {
			h := read(t, data)
			h.Usage = nil
			if diff := cmp.Diff(heard{Finish: "stop"}, h); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}},
		{"garbage", "kind = 'garbage'\nafter_chunks = 1\n", true, func(t *testing.T, _ *http.Response, data string, err error) {
			list := events(t, data)
			if err != nil || len(list) != 2 || json.Valid([]byte(list[1])) {
				t.Errorf("%v %q", err, list)
			}
		}},
		{
			"garbage of two lines",
			"kind = 'garbage'\nbody = \"a\\nb\"\nafter_chunks = 0\n",
			true,
			func(t *testing.T, _ *http.Response, data string, err error) {
				if err != nil || data != "data: a\ndata: b\n\n" {
					t.Errorf("%v %q", err, data)
				}
			},
		},
		{"garbage plain", "kind = 'garbage'\n", false, func(t *testing.T, resp *http.Response, data string, err error) {
			if err != nil || resp.StatusCode != 200 || json.Valid([]byte(data)) {
				t.Errorf("%v %q", err, data)
			}
		}},
		{"reset", "kind = 'reset'\nafter_chunks = 4\n", true, func(t *testing.T, _ *http.Response, _ string, err error) {
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %v, want a reset", err)
			}
		}},
		{"reset plain", "kind = 'reset'\n", false, func(t *testing.T, _ *http.Response, _ string, err error) {
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %v, want a reset", err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, faulty(tt.fault))
			resp, data, err := c.post(at("plan", 1), ask(tt.stream, user))
			if resp == nil {
				resp = &http.Response{}
			}
			tt.check(t, resp, data, err)
			c.whole()
		})
	}
}

func TestFaultResetBeforeTheResponse(t *testing.T) {
	t.Parallel()
	c := start(t, faulty("kind = 'reset'\nafter_chunks = 0\ntimes = 0\n"))
	resp, err := c.do(t.Context(), nil, ask(true, user))
	if err == nil {
		resp.Body.Close()
		t.Fatalf("got %d, want no response", resp.StatusCode)
	}
}

func TestFaultHang(t *testing.T) {
	t.Parallel()
	t.Run("the client leaves", func(t *testing.T) {
		t.Parallel()
		c := start(t, faulty("kind = 'hang'\nafter_chunks = 2\n"))
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := c.do(ctx, at("plan", 1), ask(true, user))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		cancel()
		if data, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("got %q %v", data, err)
		}
		c.whole()
	})
	t.Run("before the response", func(t *testing.T) {
		t.Parallel()
		c := start(t, faulty("kind = 'hang'\nafter_chunks = 0\n"))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if resp, err := c.do(ctx, nil, ask(true, user)); !errors.Is(err, context.DeadlineExceeded) {
			if err == nil {
				resp.Body.Close()
			}
			t.Errorf("got %v, want silence", err)
		}
	})
	t.Run("the server closes", func(t *testing.T) {
		t.Parallel()
		c := start(t, faulty("kind = 'hang'\nafter_chunks = 2\ntimes = 0\n"))
		resp, err := c.do(t.Context(), nil, ask(true, user))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := c.srv.Close(); err != nil {
			t.Error(err)
		}
		if data, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("a hanging answer ended as if it were whole: %q", data)
		}
	})
}

func TestDelays(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]string{
		"delay": "delay = '2ms'\n[[reply]]\ntext = 'x'\n",
		"slow":  "[[reply]]\ntext = 'x'\n[reply.fault]\nkind = 'slow'\ndelay = '2ms'\n",
	} {
		c := start(t, scenario)
		begin := time.Now()
		_, data, err := c.post(nil, ask(true, user))
		if err != nil {
			t.Fatal(err)
		}
		// A pause is never shorter than asked for, however busy the machine.
		if took, least := time.Since(begin), time.Duration(len(events(t, data)))*2*time.Millisecond; took < least {
			t.Errorf("%s: %v for %d chunks, want %v at least", name, took, len(events(t, data)), least)
		}
		if h := listen(t, data); h.Text != "x" || !h.Done {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
