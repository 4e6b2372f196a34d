package webhook_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/ingest/webhook"
)

// chunked hides the length of a body.
type chunked struct{ io.Reader }

func TestRefusals(t *testing.T) {
	b := serve(t, func(cfg *webhook.Config) {
		cfg.Clusters = []string{"prod"}
		cfg.MaxBodyBytes = 1000
		cfg.MaxInFlightBytes = 5000
	})
	long := strings.Repeat(" ", 940) + list
	bomb := zipped(t, "{"+strings.Repeat(" ", 100<<10)) // itself smaller than the limit
	for _, c := range []struct {
		name   string
		path   string
		body   io.Reader
		change func(*http.Request)
		code   int
		text   string
	}{
		{name: "no token", change: func(r *http.Request) { r.Header.Del("Authorization") }, code: 401},
		{name: "another token", change: func(r *http.Request) { r.Header.Set("Authorization", "Bearer x"+token) }, code: 401},
		{name: "empty token", change: func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, code: 401},
		{name: "another scheme", change: func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) }, code: 401},
		{name: "another path", path: "/", code: 404, text: "events go to /audit/<cluster>\n"},
		{name: "longer path", path: "/auditor", code: 404},
		{name: "deeper path", path: "/audit/prod/x", code: 404, text: "no such cluster\n"},
		{name: "another cluster", path: "/audit/test", code: 404, text: "no such cluster\n"},
		{name: "path that climbs", path: "/audit/../prod", code: 404},
		{name: "method", change: func(r *http.Request) { r.Method = http.MethodGet }, code: 405},
		{name: "content type", change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, code: 415},
		{name: "no content type", change: func(r *http.Request) { r.Header.Del("Content-Type") }, code: 415},
		{name: "protobuf", change: func(r *http.Request) { r.Header.Set("Content-Type", "application/vnd.kubernetes.protobuf") }, code: 415},
		{name: "encoding", change: func(r *http.Request) { r.Header.Set("Content-Encoding", "br") }, code: 415},
		{name: "no gzip", change: func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, code: 400},
		{name: "cut gzip", body: bytes.NewReader(zipped(t, list)[:20]), change: func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, code: 400},
		{name: "gzip bomb", body: bytes.NewReader(bomb), change: func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, code: 413},
		{name: "empty", body: http.NoBody, code: 400, text: "the body is no EventList\n"},
		{name: "array", body: strings.NewReader("[]"), code: 400},
		{name: "too large", body: strings.NewReader(long), code: 413},
		{name: "too large, of a length not told", body: chunked{strings.NewReader(long)}, code: 413,
			text: "the body is larger than 1000 bytes: let the apiserver send fewer events in a batch, or truncate them\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.path == "" {
				c.path = "/audit/prod"
			}
			r := b.request(c.path, []byte(list))
			if c.body != nil {
				var err error
				r, err = http.NewRequest(http.MethodPost, b.url(c.path), c.body)
				must(t, err)
				r.Header = b.request(c.path, nil).Header
			}
			if c.change != nil {
				c.change(r)
			}
			got := do(b.client(), r)
			if got.code != c.code || c.text != "" && got.text != c.text || got.err != nil {
				t.Errorf("reply %+v, want %d %q", got, c.code, c.text)
			}
			if st := b.source.Stats(); st.InFlight != 0 || st.InFlightBytes != 0 || st.Requests[c.code] == 0 {
				t.Errorf("stats %+v", st)
			}
		})
	}
	b.store()
	exact := strings.Repeat(" ", 1000-len(list)) + list
	for _, body := range []io.Reader{strings.NewReader(exact), chunked{strings.NewReader(exact)}} {
		r, err := http.NewRequest(http.MethodPost, b.url("/audit/prod"), body)
		must(t, err)
		r.Header = b.request("/", nil).Header
		if got := do(b.client(), r); got.code != http.StatusOK {
			t.Errorf("as large as may be: %+v", got)
		}
	}
}

// dial speaks HTTP/1.1 by hand.
func (b *bench) dial() *tls.Conn {
	b.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(b.ca.cert)
	conn, err := tls.Dial("tcp", b.source.Addr().String(), &tls.Config{RootCAs: pool})
	must(b.t, err)
	b.t.Cleanup(func() { _ = conn.Close() })
	must(b.t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

func readReply(t testing.TB, conn *tls.Conn) int {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}

const head = "POST /audit/prod HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + token + "\r\n"

func TestHostileClients(t *testing.T) {
	b := serve(t, func(cfg *webhook.Config) {
		cfg.BodyTimeout = 50 * time.Millisecond
		cfg.MaxBodyBytes = 100_000
	})
	t.Run("body that stops", func(t *testing.T) {
		conn := b.dial()
		_, err := io.WriteString(conn, head+"Content-Length: 1000\r\n\r\n{")
		must(t, err)
		if code := readReply(t, conn); code != http.StatusRequestTimeout {
			t.Errorf("code %d", code)
		}
	})
	t.Run("connection that ends", func(t *testing.T) {
		before := b.source.Stats().Requests[http.StatusBadRequest]
		conn := b.dial()
		_, err := io.WriteString(conn, head+"Content-Length: 1000\r\n\r\n{")
		must(t, err)
		must(t, conn.CloseWrite())
		b.await("refusal", func(st webhook.Stats) bool { return st.Requests[http.StatusBadRequest] == before+1 })
	})
	t.Run("chunks without end", func(t *testing.T) {
		conn := b.dial()
		_, err := io.WriteString(conn, head+"Transfer-Encoding: chunked\r\n\r\n")
		must(t, err)
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			for range 1000 { // The other side closes the connection; its reply may be lost with what is on the way.
				if _, err := fmt.Fprintf(conn, "1000\r\n{%s\r\n", strings.Repeat(" ", 0xfff)); err != nil {
					return
				}
			}
		}()
		b.await("refusal", func(st webhook.Stats) bool { return st.Requests[http.StatusRequestEntityTooLarge] == 1 })
		must(t, conn.Close())
		<-wrote
	})
	t.Run("headers without end", func(t *testing.T) {
		conn := b.dial()
		go func() {
			_, _ = io.WriteString(conn, head+strings.Repeat("X-Filler: "+strings.Repeat("x", 1000)+"\r\n", 100))
		}()
		if code := readReply(t, conn); code != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("code %d", code)
		}
	})
	t.Run("two lengths", func(t *testing.T) {
		conn := b.dial()
		_, err := io.WriteString(conn, head+"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}")
		must(t, err)
		if code := readReply(t, conn); code != http.StatusBadRequest {
			t.Errorf("code %d", code)
		}
	})
	t.Run("no TLS", func(t *testing.T) {
		got := do(b.client(), func() *http.Request {
			r := b.request("/audit/prod", []byte(list))
			r.URL.Scheme = "http"
			return r
		}())
		if got.code != http.StatusBadRequest {
			t.Errorf("reply %+v", got)
		}
	})
	b.await("room", func(st webhook.Stats) bool { return st.InFlightBytes == 0 && st.InFlight == 0 })
	b.store()
	if got := b.post("/audit/prod", list); got.code != http.StatusOK {
		t.Errorf("a good client is served: %+v", got)
	}
}

// TestSlowBodiesTakeRoom: what is being read counts as what is under way.
func TestSlowBodiesTakeRoom(t *testing.T) {
	b := serve(t, func(cfg *webhook.Config) {
		cfg.MaxBodyBytes = 1000
		cfg.MaxInFlightBytes = 1500
	})
	conn := b.dial()
	_, err := io.WriteString(conn, head+"Content-Length: 1000\r\n\r\n{")
	must(t, err)
	b.await("room taken", func(st webhook.Stats) bool { return st.InFlightBytes == 1000 })
	if got := b.post("/audit/prod", list+strings.Repeat(" ", 900)); got.code != http.StatusTooManyRequests {
		t.Errorf("reply %+v", got)
	}
	must(t, conn.Close())
	b.await("room given back", func(st webhook.Stats) bool { return st.InFlightBytes == 0 })
}
