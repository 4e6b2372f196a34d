package kafka

import (
	"context"
	"net"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// leaveTime is how long leaving the group may take. A member that joins waits for all others, and cannot be told to stop.
const leaveTime = 3 * time.Second

// tracked knows the connections of a consumer group, to be able to cut them.
type tracked struct {
	from *dialer

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	cut   bool
}

func newTracked(d *dialer) *tracked { return &tracked{from: d, conns: make(map[net.Conn]struct{})} }

func (t *tracked) dialer() *kafkago.Dialer {
	return &kafkago.Dialer{
		ClientID:      t.from.clientID,
		Timeout:       dialTimeout,
		TLS:           t.from.tls,
		SASLMechanism: t.from.sasl,
		DialFunc:      t.dial,
	}
}

func (t *tracked) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	t.conns[conn] = struct{}{}
	return &trackedConn{Conn: conn, forget: t.forget}, nil
}

func (t *tracked) forget(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, conn)
}

// closing waits for leave, and cuts the connections if it takes too long: the group finds out by itself then.
func (t *tracked) closing(leave func() error) {
	timer := time.AfterFunc(leaveTime, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.cut = true
		for conn := range t.conns {
			_ = conn.Close()
		}
	})
	defer timer.Stop()
	_ = leave() // says nothing
}

type trackedConn struct {
	net.Conn
	forget func(net.Conn)
}

func (c *trackedConn) Close() error {
	c.forget(c.Conn)
	return c.Conn.Close()
}
