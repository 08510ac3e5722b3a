package main

import (
	"cmp"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// status is a fault that answers with a status, once.
func status(code int, body string) *scripted.Fault {
	return &scripted.Fault{Kind: scripted.FaultStatus, Status: code, Body: body}
}

// TestRateLimits: how long to wait after a 429 is taken from where servers say it.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	seconds, millis, limits, date := status(429, ""), status(429, ""), status(429, ""), status(429, "")
	seconds.RetryAfter = "0.04"
	millis.Headers = map[string]string{"retry-after-ms": "50"}
	limits.Headers = map[string]string{"x-ratelimit-reset-requests": "60ms", "x-ratelimit-remaining-requests": "0"}
	date.RetryAfter = "Sun, 06 Nov 1994 08:49:37 GMT" // is over
	inText := status(429, `{"error":{"message":"Rate limit reached for m. Please try again in 70ms.","type":"tokens",`+
		`"code":"rate_limit_exceeded"}}`)
	inBody := status(429, `[{"error":{"code":429,"message":"Resource exhausted",`+
		`"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.08s"}]}}]`)

	h := newModelHome(t)
	h.serve("x", usual(scripted.Gateway{},
		scripted.Reply{Phase: "explore", User: 1, Turn: at(0), Fault: seconds},
		scripted.Reply{Phase: "explore", User: 1, Turn: at(1), Fault: millis},
		scripted.Reply{Phase: "plan", Fault: limits},
		scripted.Reply{Phase: "implement", Turn: at(0), Fault: inText},
		scripted.Reply{Phase: "implement", Turn: at(1), Fault: inBody},
		scripted.Reply{Phase: "review", Turn: at(0), Fault: date},
	))
	h.settings("model = \"x/m\"\n" + providerTable("x", "chat"))
	p := h.run()
	p.approved()
	var waits []int64
	for _, r := range bodiesOf[plan.Retry](p) {
		if r.Status != http.StatusTooManyRequests {
			t.Errorf("%+v", r)
		}
		waits = append(waits, r.WaitMS)
	}
	if n := len(waits); n == 0 || waits[n-1] > 5 {
		t.Fatalf("waits of %v ms; the last limit is over", waits)
	}
	if diff := gocmp.Diff([]int64{40, 50, 60, 70, 80}, waits[:len(waits)-1]); diff != "" {
		t.Errorf("waits in ms (-want +got):\n%s", diff)
	}
}

// parkedCase is a failure that a run parks for, and goes on from.
type parkedCase struct {
	name   string
	wire   string
	fault  *scripted.Fault
	reason plan.ParkReason
	told   string
}

func parkedCases() []parkedCase {
	return []parkedCase{
		{
			name: "a quota", wire: "chat", reason: plan.ParkLimit, told: "You exceeded your current quota",
			fault: status(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.",`+
				`"type":"insufficient_quota","code":"insufficient_quota"}}`),
		},
		{
			name: "Anthropic's balance", wire: "anthropic", reason: plan.ParkLimit, told: "credit balance is too low",
			fault: status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit `+
				`balance is too low to access the Anthropic API."}}`),
		},
		{
			name: "a limit of hours", wire: "chat", reason: plan.ParkRateLimit, told: "429",
			fault: &scripted.Fault{Kind: scripted.FaultStatus, Status: 429, RetryAfter: "7200"},
		},
		{
			name: "a 400 over chat", wire: "chat", reason: plan.ParkRefused, told: "the moon is in the wrong house",
			fault: status(400, `{"error":{"message":"the moon is in the wrong house"}}`),
		},
		{
			name: "a 400 over responses", wire: "responses", reason: plan.ParkRefused, told: "the moon is in the wrong house",
			fault: status(400, `{"error":{"message":"the moon is in the wrong house"}}`),
		},
		{
			name: "a 400 over anthropic", wire: "anthropic", reason: plan.ParkRefused, told: "the moon is in the wrong house",
			fault: status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"the moon is in the wrong house"}}`),
		},
	}
}

// TestParkedByTheServer: what cannot be waited out parks the run with the server's
// words, and the run goes on once it is mended.
func TestParkedByTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range sampledHalf(t, parkedCases()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			h.serve("x", usual(scripted.Gateway{}, scripted.Reply{Phase: "explore", User: 1, Turn: at(1), Fault: c.fault}))
			h.settings("model = \"x/m\"\n" + providerTable("x", c.wire))
			p := h.run("--plan-only")
			p.parked(c.reason, c.told)
			if retries := bodiesOf[plan.Retry](p); len(retries) > 0 {
				t.Errorf("asked again: %+v", retries)
			}
			if park := bodiesOf[plan.Parked](p)[0]; (park.WakeAt != nil) != (c.reason == plan.ParkRateLimit) {
				t.Errorf("%+v", park)
			}
			h.resume().planned()
		})
	}
}

// TestNoServer: where there is no server the run parks soon and says so, and it
// goes on once there is one.
func TestNoServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	unknown := httptest.NewUnstartedServer(http.NotFoundHandler())
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0) // it says of each try what is wrong with it
	unknown.StartTLS()
	t.Cleanup(unknown.Close)
	for _, c := range []struct{ name, wire, address string }{
		{"a closed port", "chat", "http://" + closed + "/v1"},
		{"a name that is not one", "responses", "http://models.invalid/v1"},
		{"an unknown certificate", "anthropic", unknown.URL + "/v1"},
		{"no TLS", "chat", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			s := h.serve("x", usual(scripted.Gateway{}))
			const more = "[retry]\nbase = \"20ms\"\nunreachable_for = \"1s\"\n"
			address := cmp.Or(c.address, strings.Replace(s.URL(), "http:", "https:", 1))
			h.settings("model = \"x/m\"\n" + strings.ReplaceAll(providerTable("x", c.wire), "{x}", address) + more)
			begun := time.Now()
			p := h.run("--plan-only")
			p.parked(plan.ParkUnreachable, strings.TrimSuffix(strings.SplitN(address, "//", 2)[1], "/v1"))
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			if len(bodiesOf[plan.Retry](p)) == 0 {
				t.Error("it was not tried again")
			}
			h.settings("model = \"x/m\"\n" + providerTable("x", c.wire) + more)
			h.resume().planned()
		})
	}
}

// TestWrongKey: a key that is refused is no reason to try again, and neither the
// key that was sent nor any other is told.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	for _, wire := range sampledWires(t) {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			h.serve("x", usual(scripted.Gateway{}))
			h.settings("model = \"x/m\"\n" + providerTable("x", wire))
			h.env = append(h.env, "X_KEY=a-wrong-key-of-mine")
			p := h.run("--plan-only")
			ends := bodiesOf[plan.RunEnd](p)
			if p.code != plan.ExitFailed || len(ends) != 1 || len(bodiesOf[plan.Retry](p)) > 0 {
				t.Fatalf("exit %d, %+v", p.code, ends)
			}
			all := p.out + p.shown
			if strings.Contains(all, "a-wrong-key-of-mine") || !strings.Contains(all, "401") {
				t.Errorf("%s", all)
			}
		})
	}
}
