package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/plan-engine/plan/internal/hint"
)

// Place says where a server listens, and how it is reached.
type Place struct {
	// Address is what it listens at, such as 127.0.0.1:0.
	Address string

	// Cert and Key are files of a certificate: with them it speaks TLS.
	Cert, Key string

	// Proxy is the address by which a proxy that speaks TLS has browsers reach it, such
	// as https://plan.example.org.
	Proxy string
}

// Listener is one that listens, and the addresses by which browsers reach it, of which the
// first is told to people.
type Listener struct {
	net.Listener
	Origins []string
	Secure  bool
}

// Listen listens at a place. One beyond this machine needs TLS, its own or that of a proxy.
func (p Place) Listen(ctx context.Context) (*Listener, error) {
	proxy, err := p.proxyOrigin()
	if err != nil {
		return nil, err
	}
	if (p.Cert == "") != (p.Key == "") {
		return nil, hint.Usage("--tls-cert and --tls-key go together")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.Address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	at, ok := l.Addr().(*net.TCPAddr)
	switch {
	case !ok:
		err = hint.Usage("%s is no address of TCP", p.Address)
	case !at.IP.IsLoopback() && p.Cert == "" && proxy == "":
		err = hint.Usage("%s can be reached from elsewhere: give --tls-cert and --tls-key, or --behind-proxy with the "+
			"address of a proxy that speaks TLS; or listen on 127.0.0.1", p.Address)
	}
	out := &Listener{Listener: l}
	if err == nil {
		err = out.open(p, at, proxy)
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return out, nil
}

// proxyOrigin is the origin of the proxy's address.
func (p Place) proxyOrigin() (string, error) {
	if p.Proxy == "" {
		return "", nil
	}
	at, err := url.Parse(p.Proxy)
	if err != nil || at.Scheme != "https" || at.Host == "" || strings.Trim(at.Path, "/") != "" || at.User != nil {
		return "", hint.Usage(
			"--behind-proxy %q: write the address that browsers see, such as https://plan.example.org",
			p.Proxy,
		)
	}
	return at.Scheme + "://" + at.Host, nil
}

// open adds TLS, where that is wanted, and says how the listener is reached.
func (l *Listener) open(p Place, at *net.TCPAddr, proxy string) error {
	port := fmt.Sprint(at.Port)
	l.Secure = p.Cert != "" || proxy != ""
	scheme := "http"
	var names []string
	if p.Cert != "" {
		pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		names = namesOf(pair)
		scheme = "https"
		l.Listener = tls.NewListener(l.Listener, &tls.Config{
			Certificates: []tls.Certificate{pair},
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"},
		})
	}
	if proxy != "" {
		l.Origins = append(l.Origins, proxy)
	}
	if !at.IP.IsUnspecified() {
		names = append(names, at.IP.String())
	}
	if at.IP.IsLoopback() || at.IP.IsUnspecified() {
		names = append(names, "localhost")
	}
	for _, name := range names {
		host := net.JoinHostPort(name, port)
		if scheme == "https" && port == "443" {
			host = name
		}
		l.Origins = append(l.Origins, scheme+"://"+host)
	}
	return nil
}

// namesOf are the hosts that a certificate is for.
func namesOf(pair tls.Certificate) []string {
	leaf := pair.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil
		}
	}
	var out []string
	for _, name := range leaf.DNSNames {
		if !strings.Contains(name, "*") {
			out = append(out, name)
		}
	}
	for _, ip := range leaf.IPAddresses {
		out = append(out, ip.String())
	}
	return out
}
