package webhook_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// authority signs certificates for tests.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	der, a.key = a.sign(template, nil)
	a.cert, _ = x509.ParseCertificate(der)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func (a *authority) sign(template *x509.Certificate, parent *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	signer := a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(a.t, err)
	return der, key
}

// issue returns a certificate and its key, as PEM.
func (a *authority) issue(serial int64) (cert, key []byte) {
	a.t.Helper()
	der, k := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "issued"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert)
	keyDER, err := x509.MarshalECPrivateKey(k)
	must(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

func (a *authority) clientCert(serial int64) tls.Certificate {
	c, err := tls.X509KeyPair(a.issue(serial))
	must(a.t, err)
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path string, data []byte) string {
	t.Helper()
	next := path + ".next"
	must(t, os.WriteFile(next, data, 0o600))
	must(t, os.Rename(next, path))
	return path
}

// bench is a source that is served with TLS, and a client that has the token.
type bench struct {
	t      testing.TB
	dir    string
	ca     *authority
	source *webhook.Source
	stop   func() error // ends the source and waits for it
}

const token = "a-token-of-the-tests"

func serve(t testing.TB, change func(*webhook.Config)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), ca: newAuthority(t, "servers")}
	cert, key := b.ca.issue(2)
	cfg := webhook.Config{
		Address:    "127.0.0.1:0",
		CertFile:   write(t, filepath.Join(b.dir, "tls.crt"), cert),
		KeyFile:    write(t, filepath.Join(b.dir, "tls.key"), key),
		TokenFiles: []string{write(t, filepath.Join(b.dir, "token"), []byte(token+"\n"))},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	b.source, err = webhook.New(cfg)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	told := make(chan ingest.Assignment, 1)
	go func() { ended <- b.source.Watch(ctx, func(a ingest.Assignment) { told <- a }) }()
	if a := <-told; len(a.All) != 1 || a.All[0] != webhook.Partition || len(a.Own) != 1 {
		t.Errorf("assignment %+v", a)
	}
	b.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = b.stop() })
	return b
}

func (b *bench) url(path string) string { return "https://" + b.source.Addr().String() + path }

// client trusts the source. It has no token of its own.
func (b *bench) client(certs ...tls.Certificate) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(b.ca.cert)
	config := &tls.Config{RootCAs: pool}
	if len(certs) > 0 { // whether the other side would have it or not
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certs[0], nil }
	}
	tr := &http.Transport{
		TLSClientConfig:   config,
		ForceAttemptHTTP2: true,
	}
	b.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func (b *bench) request(path string, body []byte) *http.Request {
	r, err := http.NewRequest(http.MethodPost, b.url(path), bytes.NewReader(body))
	must(b.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// reply is what came of a request.
type reply struct {
	code  int
	text  string
	retry string
	err   error
}

func do(c *http.Client, r *http.Request) reply {
	resp, err := c.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{code: resp.StatusCode, text: string(text), retry: resp.Header.Get("Retry-After"), err: err}
}

func (b *bench) post(path, body string) reply {
	return do(b.client(), b.request(path, []byte(body)))
}

// goPost posts in a goroutine.
func (b *bench) goPost(path, body string) <-chan reply {
	c := make(chan reply, 1)
	client, r := b.client(), b.request(path, []byte(body))
	go func() { c <- do(client, r) }()
	return c
}

func (b *bench) open() ingest.Stream {
	b.t.Helper()
	s, err := b.source.Open(context.Background(), webhook.Partition, ingest.Mark{})
	must(b.t, err)
	return s
}

// take waits for a chunk.
func (b *bench) take() ingest.Chunk {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s := b.open()
	for {
		c, err := s.Next(ctx)
		must(b.t, err)
		if len(c.Entries) > 0 {
			return c
		}
	}
}

// store ends all chunks well until the test ends.
func (b *bench) store() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s := b.open()
	go func() {
		defer close(done)
		for {
			c, err := s.Next(ctx)
			if err != nil {
				return
			}
			if c.Done != nil {
				c.Done(nil)
			}
		}
	}()
	b.t.Cleanup(func() { cancel(); <-done })
}

func (b *bench) await(what string, ok func(webhook.Stats) bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !ok(b.source.Stats()); {
		if time.Now().After(deadline) {
			b.t.Fatalf("no %s: %+v", what, b.source.Stats())
		}
		time.Sleep(time.Millisecond)
	}
}

func (b *bench) awaitReply(c <-chan reply) reply {
	b.t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(patience):
		b.t.Fatal("no reply")
		return reply{}
	}
}
