package wire

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	host = strings.ToLower(host)
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// parseBase checks a base URL and returns it with a path that ends in "/".
func parseBase(text string, suffixes []string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, fmt.Errorf("the model server's base URL is not a URL: %w", err)
	}
	problem := ""
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Hostname() == "":
		problem = "start it with http:// or https:// and a host"
	case base.User != nil:
		problem = "leave the user name and password out and use an API key"
	case base.RawQuery != "" || base.Fragment != "":
		problem = "leave the part after ? or # out; parameters of each request are [providers.NAME.query]"
	}
	for _, end := range suffixes {
		if strings.HasSuffix(strings.TrimRight(base.Path, "/"), end) {
			problem = "leave " + end + " out: it is added"
		}
	}
	if problem != "" {
		return nil, fmt.Errorf("the model server's base URL %q cannot be used: %s", base.Redacted(), problem)
	}
	base.Path = strings.TrimRight(base.Path, "/") + "/"
	return base, nil
}

// httpClient returns a copy of base, or a client of our own, that does not
// follow redirects: net/http would turn the POST into a GET and the server's
// complaint about that would hide the reason.
func httpClient(base *http.Client) *http.Client {
	client := http.Client{}
	if base != nil {
		client = *base
	} else {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
		client.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			MaxIdleConnsPerHost: 8,
			// Compressed event streams arrive late, in lumps.
			DisableCompression: true,
			// A request goes out in one piece. What does not fit is copied
			// through a buffer that is made for each request.
			WriteBufferSize: 64 << 10,
		}
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &client
}
