package webhook_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/ingest/webhook"
)

func TestClientCertificates(t *testing.T) {
	clients, strangers := newAuthority(t, "clients"), newAuthority(t, "strangers")
	for _, tokens := range []bool{false, true} {
		b := serve(t, func(cfg *webhook.Config) {
			cfg.ClientCAFile = write(t, filepath.Join(t.TempDir(), "ca.crt"), clients.pem)
			if !tokens {
				cfg.TokenFiles = nil
			}
		})
		b.store()
		try := func(withToken bool, certs ...tls.Certificate) reply {
			r := b.request("/audit/prod", []byte(list))
			if !withToken {
				r.Header.Del("Authorization")
			}
			return do(b.client(certs...), r)
		}
		if got := try(false, clients.clientCert(5)); got.code != http.StatusOK {
			t.Errorf("certificate, tokens %t: %+v", tokens, got)
		}
		if got := try(true, strangers.clientCert(5)); got.err == nil {
			t.Errorf("certificate of strangers, tokens %t: %+v", tokens, got)
		}
		if got := try(true); (got.code == http.StatusOK) != tokens {
			t.Errorf("token, tokens %t: %+v", tokens, got)
		}
		if got := try(false); got.code == http.StatusOK {
			t.Errorf("neither, tokens %t: %+v", tokens, got)
		}
	}
}

func TestTLSVersions(t *testing.T) {
	b := serve(t, nil)
	client := b.client()
	config := client.Transport.(*http.Transport).TLSClientConfig
	config.MaxVersion = tls.VersionTLS11
	if got := do(client, b.request("/audit/prod", []byte(list))); got.err == nil {
		t.Errorf("TLS 1.1: %+v", got)
	}
	b.store()
	resp, err := b.client().Do(b.request("/audit/prod", []byte(list)))
	must(t, err)
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
		t.Errorf("%s, code %d", resp.Proto, resp.StatusCode)
	}
}

func TestFilesAreReadAgain(t *testing.T) {
	b := serve(t, nil)
	b.store()
	post := func(token string) int {
		r := b.request("/audit/prod", []byte(list))
		r.Header.Set("Authorization", "Bearer "+token)
		return do(b.client(), r).code
	}
	serial := func() int64 {
		conn := b.dial()
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not in time: %s", what)
			}
		}
	}
	if post("new") != http.StatusUnauthorized || serial() != 2 {
		t.Fatal("the new token or certificate is there already")
	}
	write(t, filepath.Join(b.dir, "token"), []byte("new"))
	eventually("the new token counts", func() bool { return post("new") == http.StatusOK })
	if code := post(token); code != http.StatusUnauthorized {
		t.Errorf("the old token: code %d", code)
	}
	// A key without its certificate changes nothing, until the certificate is there too.
	cert, key := b.ca.issue(3)
	write(t, filepath.Join(b.dir, "tls.key"), key)
	eventually("an error is counted", func() bool { return serial() == 2 && b.source.Stats().ReloadErrors > 0 })
	write(t, filepath.Join(b.dir, "tls.crt"), cert)
	eventually("the new certificate counts", func() bool { return serial() == 3 })
	must(t, os.Remove(filepath.Join(b.dir, "token")))
	before := b.source.Stats().ReloadErrors
	eventually("the missing file is counted", func() bool {
		return post("new") == http.StatusOK && b.source.Stats().ReloadErrors > before
	})
}

func TestConfigErrors(t *testing.T) {
	dir := t.TempDir()
	cert, key := newAuthority(t, "servers").issue(2)
	certFile, keyFile := write(t, filepath.Join(dir, "tls.crt"), cert), write(t, filepath.Join(dir, "tls.key"), key)
	tokenFile := write(t, filepath.Join(dir, "token"), []byte("x"))
	empty := write(t, filepath.Join(dir, "empty"), []byte(" \n"))
	two := write(t, filepath.Join(dir, "two"), []byte("a\nb\n"))
	for _, c := range []struct {
		name string
		cfg  webhook.Config
		want string // empty where it is good
	}{
		{"plain on loopback", webhook.Config{Address: "127.0.0.1:0"}, ""},
		{"plain for others, as asked", webhook.Config{Address: ":0", PlainHTTP: true, TokenFiles: []string{tokenFile}}, ""},
		{"all for others", webhook.Config{Address: ":0", CertFile: certFile, KeyFile: keyFile, TokenFiles: []string{tokenFile}}, ""},
		{"anonymous, as asked", webhook.Config{Address: ":0", CertFile: certFile, KeyFile: keyFile, Anonymous: true}, ""},
		{"no address", webhook.Config{}, "no address to listen on"},
		{"bad address", webhook.Config{Address: "nonsense"}, "missing port"},
		{"plain for others", webhook.Config{Address: ":0", TokenFiles: []string{tokenFile}}, "ask for plain HTTP"},
		{"anonymous for others", webhook.Config{Address: ":0", CertFile: certFile, KeyFile: keyFile}, "ask for anonymous clients"},
		{"anonymous and tokens", webhook.Config{Address: ":0", PlainHTTP: true, Anonymous: true, TokenFiles: []string{tokenFile}}, "choose one"},
		{"certificate without key", webhook.Config{Address: "127.0.0.1:0", CertFile: certFile}, "a certificate needs its key"},
		{"client certificates without TLS", webhook.Config{Address: "127.0.0.1:0", ClientCAFile: certFile}, "need TLS"},
		{"key of another kind", webhook.Config{Address: "127.0.0.1:0", CertFile: certFile, KeyFile: certFile}, certFile},
		{"CA without certificates", webhook.Config{Address: "127.0.0.1:0", CertFile: certFile, KeyFile: keyFile, ClientCAFile: keyFile}, "holds no certificate"},
		{"no token file", webhook.Config{Address: "127.0.0.1:0", TokenFiles: []string{dir + "/none"}}, "none"},
		{"empty token file", webhook.Config{Address: "127.0.0.1:0", TokenFiles: []string{tokenFile, empty}}, empty},
		{"two tokens in a file", webhook.Config{Address: "127.0.0.1:0", TokenFiles: []string{two}}, "one token"},
		{"cluster of no name", webhook.Config{Address: "127.0.0.1:0", Clusters: []string{"a/b"}}, `"a/b"`},
		{"body larger than all", webhook.Config{Address: "127.0.0.1:0", MaxBodyBytes: 2, MaxInFlightBytes: 1}, "let more be under way"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := webhook.New(c.cfg)
			if c.want == "" {
				must(t, err)
				must(t, s.Close())
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestListenerIsClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	if _, err := webhook.New(webhook.Config{Listener: l, CertFile: "none"}); err == nil {
		t.Fatal("no error")
	}
	if err := l.Close(); err == nil {
		t.Error("the listener is still open")
	}
}
