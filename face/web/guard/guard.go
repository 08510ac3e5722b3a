// Package guard decides which requests reach the pages and the API: those that carry the
// token, or the cookie that was given for it, that name this server, and that no page of
// another site has sent. It must not know what is behind it.
package guard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// EnterPath takes the token of an address and gives a cookie for it.
const EnterPath = "/enter"

// Names of what carries a CSRF token.
const (
	CSRFHeader = "X-CSRF-Token"
	CSRFField  = "csrf"
)

// MaxBody is how long a request may be, in bytes.
const MaxBody = 1 << 20

// policy lets a page have scripts, styles and connections of this server alone, and none
// in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard is what stands before the pages and the API of one server.
type Guard struct {
	token   string
	origins []string
	secure  bool
}

// New makes a guard. Origins are the addresses by which browsers reach the server, such as
// http://127.0.0.1:7000. Secure says that they do so over TLS alone.
func New(token string, secure bool, origins ...string) *Guard {
	return &Guard{
		token:   token,
		origins: origins,
		secure:  secure,
	}
}

// derived is a secret for one purpose, of which the token cannot be told.
func (g *Guard) derived(purpose string) string {
	mac := hmac.New(sha256.New, []byte(g.token))
	mac.Write([]byte(purpose))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CSRF is what a form of this server's pages carries.
func (g *Guard) CSRF() string { return g.derived("csrf") }

// cookieName has the port: the cookies of a host are sent to each of its ports.
func (g *Guard) cookieName() string {
	name := "plan"
	if at, err := url.Parse(g.origins[0]); err == nil && at.Port() != "" {
		name += "-" + at.Port()
	}
	if g.secure {
		return "__Host-" + name
	}
	return name
}

// Wrap lets requests through that may pass. Public are paths that need no token: they
// answer the same to everyone.
func (g *Guard) Wrap(next http.Handler, public ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header(), g.secure)
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		switch {
		case !g.named(r):
			http.Error(w, "this server is not called "+r.Host, http.StatusMisdirectedRequest)
		case !g.sameSite(r):
			http.Error(w, "a page of another site sent this", http.StatusForbidden)
		case r.URL.Path == EnterPath:
			g.enter(w, r)
		case slices.Contains(public, r.URL.Path), g.bearer(r):
			next.ServeHTTP(w, r)
		case !g.hasCookie(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(
				w,
				"the token is missing or wrong: open the address that plan serve printed",
				http.StatusUnauthorized,
			)
		case !isSafe(r.Method) && !g.hasCSRF(r):
			http.Error(w, "the form is not one of this server, or of an earlier one: load the page again",
				http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func setHeaders(h http.Header, secure bool) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// named reports whether a request names this server. Another name is one that an
// attacker lets point here.
func (g *Guard) named(r *http.Request) bool {
	return slices.ContainsFunc(g.origins, func(origin string) bool {
		_, host, _ := strings.Cut(origin, "://")
		return strings.EqualFold(host, r.Host)
	})
}

// sameSite reports whether no page of another site sent a request, as far as its browser
// says so.
func (g *Guard) sameSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && !slices.Contains(g.origins, origin) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	// A link on another page may lead here, and its cookie stays at home (SameSite).
	return isSafe(r.Method) && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func (g *Guard) bearer(r *http.Request) bool {
	return equal(r.Header.Get("Authorization"), "Bearer "+g.token)
}

func (g *Guard) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(g.cookieName())
	return err == nil && equal(c.Value, g.derived("cookie"))
}

func (g *Guard) hasCSRF(r *http.Request) bool {
	if got := r.Header.Get(CSRFHeader); got != "" {
		return equal(got, g.CSRF())
	}
	return equal(r.PostFormValue(CSRFField), g.CSRF())
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// enter gives a cookie for the token, and leads to the first page.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request) {
	if !isSafe(r.Method) || !equal(r.URL.Query().Get("token"), g.token) {
		http.Error(w, "the token is wrong: open the address that plan serve printed last", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // on this machine alone it is sent without TLS
		Name:     g.cookieName(),
		Value:    g.derived("cookie"),
		Path:     "/",
		HttpOnly: true,
		Secure:   g.secure,
		SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// Server is an HTTP server that slow clients do not hold up. What streams sets deadlines
// of its own.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
}
