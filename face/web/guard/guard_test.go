package guard_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan/face/web/guard"
)

const (
	token  = "the-token"
	origin = "http://127.0.0.1:7000"
)

// asked is a request as its parts differ from one that may pass.
type asked struct {
	method, path, host, body string
	header                   map[string]string
}

func (a asked) request() *http.Request {
	if a.method == "" {
		a.method = http.MethodGet
	}
	if a.path == "" {
		a.path = "/runs"
	}
	r := httptest.NewRequestWithContext(context.Background(), a.method, a.path, strings.NewReader(a.body))
	r.Host = "127.0.0.1:7000"
	if a.host != "" {
		r.Host = a.host
	}
	for k, v := range a.header {
		r.Header.Set(k, v)
	}
	return r
}

// cookie is what a browser has that came in with the token.
func cookie(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, asked{path: guard.EnterPath + "?token=" + token}.request())
	got := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || len(got) != 1 || !got[0].HttpOnly || got[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("the token's address answers %d with the cookies %v", w.Code, got)
	}
	if strings.Contains(got[0].Value, token) {
		t.Error("the cookie has the token")
	}
	return got[0].Name + "=" + got[0].Value
}

func TestWhoMayPass(t *testing.T) {
	t.Parallel()
	g := guard.New(token, false, origin, "http://localhost:7000")
	h := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	}), "/public")
	has := cookie(t, h)
	form := map[string]string{"Cookie": has, "Content-Type": "application/x-www-form-urlencoded"}
	with := func(more ...string) map[string]string {
		out := map[string]string{"Cookie": has}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	bearer := map[string]string{"Authorization": "Bearer " + token}
	long := strings.Repeat("x", guard.MaxBody+1)
	for name, tt := range map[string]struct {
		asked
		want int
	}{
		"nothing":                  {asked{}, 401},
		"the cookie":               {asked{header: with()}, 200},
		"the token":                {asked{header: bearer}, 200},
		"another token":            {asked{header: map[string]string{"Authorization": "Bearer x"}}, 401},
		"the token as a cookie":    {asked{header: map[string]string{"Cookie": "plan-7000=" + token}}, 401},
		"a public path":            {asked{path: "/public"}, 200},
		"a foreign host":           {asked{host: "evil.example", header: bearer}, 421},
		"another port's host":      {asked{host: "127.0.0.1:7001", header: bearer}, 421},
		"the other name":           {asked{host: "localhost:7000", header: bearer}, 200},
		"a public path elsewhere":  {asked{path: "/public", host: "evil.example"}, 421},
		"a foreign origin":         {asked{header: with("Origin", "http://evil.example")}, 403},
		"no origin of a sandbox":   {asked{header: with("Origin", "null")}, 403},
		"the own origin":           {asked{header: with("Origin", origin)}, 200},
		"a foreign page's picture": {asked{header: with("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image")}, 403},
		"a foreign page's link": {asked{header: with(
			"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")}, 200},
		"a foreign page's frame": {asked{header: with(
			"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe")}, 403},
		"a foreign page's form": {asked{method: "POST", header: with(
			"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document",
			guard.CSRFHeader, g.CSRF())}, 403},
		"a form without the secret":    {asked{method: "POST", header: form, body: "a=b"}, 403},
		"a form with another":          {asked{method: "POST", header: form, body: "csrf=x"}, 403},
		"a form with it":               {asked{method: "POST", header: form, body: "csrf=" + g.CSRF()}, 200},
		"a header with it":             {asked{method: "DELETE", header: with(guard.CSRFHeader, g.CSRF())}, 200},
		"a program that writes":        {asked{method: "POST", header: bearer}, 200},
		"a body that is too long":      {asked{method: "POST", header: bearer, body: long}, 413},
		"a form that is too long":      {asked{method: "POST", header: form, body: long + "&csrf=" + g.CSRF()}, 403},
		"the address of another token": {asked{path: guard.EnterPath + "?token=x"}, 401},
		"the address by a form":        {asked{method: "POST", path: guard.EnterPath + "?token=" + token}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, tt.request())
			if w.Code != tt.want {
				t.Errorf("%d, want %d: %s", w.Code, tt.want, w.Body)
			}
			if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") ||
				strings.Contains(csp, "unsafe") {
				t.Errorf("the policy is %q", csp)
			}
		})
	}
}

func TestOverTLS(t *testing.T) {
	t.Parallel()
	h := guard.New(token, true, "https://plan.example.org").Wrap(http.NotFoundHandler())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, asked{path: guard.EnterPath + "?token=" + token, host: "plan.example.org"}.request())
	c := w.Result().Cookies()
	if len(c) != 1 || !c[0].Secure || c[0].Name != "__Host-plan" || w.Header().Get("Strict-Transport-Security") == "" {
		t.Errorf("the cookies are %v, the headers %v", c, w.Header())
	}
}

func TestWhereItListens(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place guard.Place
		want  string // an error; "" for none
	}{
		"this machine":            {guard.Place{Address: "127.0.0.1:0"}, ""},
		"this machine, six":       {guard.Place{Address: "[::1]:0"}, ""},
		"everywhere":              {guard.Place{Address: "0.0.0.0:0"}, "--tls-cert"},
		"everywhere, without one": {guard.Place{Address: ":0"}, "--tls-cert"},
		"behind a proxy":          {guard.Place{Address: "0.0.0.0:0", Proxy: "https://plan.example.org"}, ""},
		"behind a plain one":      {guard.Place{Address: "0.0.0.0:0", Proxy: "http://plan.example.org"}, "--behind-proxy"},
		"behind a path":           {guard.Place{Address: "0.0.0.0:0", Proxy: "https://plan.example.org/x"}, "--behind-proxy"},
		"a certificate alone":     {guard.Place{Address: "0.0.0.0:0", Cert: "x"}, "go together"},
		"none that is there":      {guard.Place{Address: "0.0.0.0:0", Cert: "nowhere", Key: "nowhere"}, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := tt.place.Listen(t.Context())
			if err == nil {
				_ = l.Close()
			}
			switch {
			case tt.want == "" && err != nil && !strings.Contains(err.Error(), "cannot assign"): // no IPv6 here
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %q", err, tt.want)
			case tt.place.Proxy != "" && err == nil && (!l.Secure || l.Origins[0] != tt.place.Proxy):
				t.Errorf("it is reached at %v", l.Origins)
			}
		})
	}
}

// A client that dawdles over its head is let go.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := guard.Server(http.NotFoundHandler())
	for name, d := range map[string]time.Duration{
		"header": s.ReadHeaderTimeout,
		"read":   s.ReadTimeout,
		"write":  s.WriteTimeout,
		"idle":   s.IdleTimeout,
	} {
		if d <= 0 || d > 2*time.Minute {
			t.Errorf("the time for %s is %v", name, d)
		}
	}
}
