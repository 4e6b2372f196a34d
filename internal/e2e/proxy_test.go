package e2e_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// badNetwork is a TCP proxy that delays what passes, and cuts connections at random moments.
type badNetwork struct {
	listener net.Listener
	target   string
	// cutAfter is about how long a connection lasts, and delay how long a piece of data takes at most.
	cutAfter, delay time.Duration

	mu   sync.Mutex
	good bool
	cuts int
}

// newBadNetwork stands before a server until the test ends.
func newBadNetwork(t testing.TB, target string, cutAfter, delay time.Duration) *badNetwork {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &badNetwork{listener: listener, target: target, cutAfter: cutAfter, delay: delay}
	ctx, cancel := context.WithCancel(context.Background())
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { b.carry(ctx, c) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		connections.Wait()
	})
	return b
}

func (b *badNetwork) addr() string { return b.listener.Addr().String() }

// heal lets connections be from now on.
func (b *badNetwork) heal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.good = true
}

func (b *badNetwork) carry(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", b.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			b.copy(way[1], way[0])
			done <- struct{}{}
		}()
	}
	var cut <-chan time.Time
	b.mu.Lock()
	if !b.good {
		cut = time.After(b.cutAfter/2 + rand.N(b.cutAfter))
	}
	b.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	case <-cut:
		b.mu.Lock()
		b.cuts++
		b.mu.Unlock()
	}
}

func (b *badNetwork) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		b.mu.Lock()
		good := b.good
		b.mu.Unlock()
		if !good && b.delay > 0 {
			time.Sleep(rand.N(b.delay))
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
