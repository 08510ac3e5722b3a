package nats_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/server"
)

// certificate makes one for this machine, and a file by which it is trusted.
func certificate(t *testing.T, dir string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:         true,

		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// nkey makes a user: its public key, and a file with its seed.
func nkey(t *testing.T, file string) (public, seedFile string) {
	t.Helper()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err = user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err == nil {
		err = os.WriteFile(file, seed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return public, file
}

// A queue over TLS lets those in that have an nkey it knows, and that trust it.
func TestTLSAndNKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pair, ca := certificate(t, dir)
	public, known := nkey(t, filepath.Join(dir, "known"))
	_, stranger := nkey(t, filepath.Join(dir, "stranger"))
	srv, err := server.Serve(server.Config{
		Dir:   filepath.Join(dir, "queue"),
		TLS:   &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		NKeys: []string{public},
		Token: "secret",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	if !strings.HasPrefix(srv.URL(), "tls://") {
		t.Errorf("it is at %s", srv.URL())
	}
	for name, refused := range map[string]nats.Config{
		"an unknown nkey":             {NKeyFile: stranger, CAFile: ca},
		"a token in place of an nkey": {Token: "secret", CAFile: ca},
		"nothing":                     {CAFile: ca},
		"a server that is unknown":    {NKeyFile: known},
		"no seed":                     {NKeyFile: ca, CAFile: ca},
	} {
		refused.URL = srv.URL()
		if s, err := nats.Open(t.Context(), refused); err == nil {
			t.Errorf("%s was let in", name)
			s.Close()
		}
	}
	s, err := nats.Open(t.Context(), nats.Config{
		URL:      srv.URL(),
		NKeyFile: known,
		CAFile:   ca,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	add(t, s, "A", 1, nil)
	w := worker(t, s, "w", true)
	if err := record(t, w, claim(t, w), batch.JobDone, batch.Result{}); err != nil {
		t.Error(err)
	}
}
