package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestLostReply cuts the connection around a commit. The caller cannot tell whether the batch was written; its second
// try tells, and all is there once.
func TestLostReply(t *testing.T) {
	address := migrated(t)
	for i, test := range []struct {
		name    string
		how     cut
		written bool
	}{
		{"before the server gets the COMMIT", cutBefore, false},
		{"before the client gets the answer", cutAfter, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProxy(t, address)
			s := open(t, p.url)
			partition := fmt.Sprint("audit/", i)
			first, second := sinktest.Sample(partition, 0, 3), sinktest.Sample(partition, 3, 3)
			if err := s.Commit(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			p.cut.Store(int32(test.how))
			err := s.Commit(t.Context(), second)
			if moved := new(*sink.MovedError); err == nil || errors.As(err, moved) {
				t.Fatalf("the connection is lost, and Commit says %v", err)
			}
			err = s.Commit(t.Context(), second)
			if !test.written {
				if err != nil {
					t.Fatalf("nothing was written, and the second try says %v", err)
				}
				return
			}
			var moved *sink.MovedError
			if !errors.As(err, &moved) {
				t.Fatalf("the batch was written, and the second try says %v", err)
			}
			m := second.Moves[0]
			want := []sink.PartitionMark{{Source: m.Source, Partition: m.Partition, Mark: m.To, EventTime: m.EventTime}}
			if diff := cmp.Diff(want, moved.Now); diff != "" {
				t.Errorf("MovedError (- expected, + found):\n%s", diff)
			}
		})
	}
	all := &sink.Batch{}
	for i := range 2 {
		appendRows(all, sinktest.Sample(fmt.Sprint("audit/", i), 0, 6))
	}
	expect(t, open(t, address), all)
}

type cut int32

const (
	cutNever cut = iota
	// cutBefore ends the connection instead of handing on a COMMIT.
	cutBefore
	// cutAfter hands it on, waits for the answer, and ends the connection instead of handing on that.
	cutAfter
)

// proxy stands between a store and its server.
type proxy struct {
	url    string
	server string
	cut    atomic.Int32
	wg     sync.WaitGroup
}

func newProxy(t *testing.T, address string) *proxy {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: u.Host}
	u.Host = l.Addr().String()
	p.url = u.String()
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	var mute atomic.Bool
	answered := make(chan struct{})
	p.wg.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if n > 0 && mute.Load() {
				close(answered)
				return
			}
			if _, writeErr := client.Write(buf[:n]); err != nil || writeErr != nil {
				return
			}
		}
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		switch commit := bytes.Contains(buf[:n], []byte("commit\x00")); {
		case commit && p.cut.CompareAndSwap(int32(cutBefore), int32(cutNever)):
			return
		case commit && p.cut.CompareAndSwap(int32(cutAfter), int32(cutNever)):
			mute.Store(true)
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
			<-answered
			return
		}
		if _, err := io.Copy(server, bytes.NewReader(buf[:n])); err != nil {
			return
		}
	}
}
