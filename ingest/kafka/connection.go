package kafka

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/sasl"
)

const (
	dialTimeout = 10 * time.Second
	// requestTimeout is beyond what a broker may take to answer.
	requestTimeout = 30 * time.Second
)

// Versions of the requests that are sent. All brokers since 2.1 know them: the first with zstd.
const (
	saslHandshakeVersion    = 1
	saslAuthenticateVersion = 0
	metadataVersion         = 5
	listOffsetsVersion      = 2
	fetchVersion            = 10
)

// dialer opens connections.
type dialer struct {
	clientID string
	tls      *tls.Config
	sasl     sasl.Mechanism
}

func newDialer(a Access) (*dialer, error) {
	config, err := a.TLS.config()
	if err != nil {
		return nil, err
	}
	mechanism, err := a.SASL.mechanism()
	if err != nil {
		return nil, err
	}
	return &dialer{clientID: a.ClientID, tls: config, sasl: mechanism}, nil
}

// connection carries one request at a time.
type connection struct {
	net.Conn
	reader   *bufio.Reader
	clientID string
	// correlation numbers the requests.
	correlation int32
}

func (c *connection) Read(p []byte) (int, error) { return c.reader.Read(p) }

// connect opens a connection and logs in.
func (d *dialer) connect(ctx context.Context, addr string) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if d.tls != nil {
		if conn, err = handshake(ctx, conn, d.tls, addr); err != nil {
			return nil, fmt.Errorf("TLS with broker %s: %w", addr, hint(err, "does it speak TLS at this port?"))
		}
	}
	c := &connection{Conn: conn, reader: bufio.NewReader(conn), clientID: d.clientID}
	if d.sasl != nil {
		if err := c.login(ctx, d.sasl); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("logging in to broker %s: %w", addr, hint(err, "does it want SASL, or TLS, at this port?"))
		}
	}
	return c, nil
}

func handshake(ctx context.Context, conn net.Conn, config *tls.Config, addr string) (net.Conn, error) {
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr) // what was dialled is host:port
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// login speaks SASL until the broker is content.
func (c *connection) login(ctx context.Context, mechanism sasl.Mechanism) error {
	answer, err := c.roundTrip(ctx, saslHandshakeVersion, &saslhandshake.Request{Mechanism: mechanism.Name()})
	if err != nil {
		return err
	}
	if h := answer.(*saslhandshake.Response); h.ErrorCode != 0 {
		return fmt.Errorf("the broker takes %v, not %s: %w", h.Mechanisms, mechanism.Name(), kafkago.Error(h.ErrorCode))
	}
	session, message, err := mechanism.Start(ctx)
	for done := false; err == nil && !done; {
		answer, err = c.roundTrip(ctx, saslAuthenticateVersion, &saslauthenticate.Request{AuthBytes: message})
		if err != nil {
			return err
		}
		a := answer.(*saslauthenticate.Response)
		if a.ErrorCode != 0 {
			return fmt.Errorf("%s: %w", a.ErrorMessage, kafkago.Error(a.ErrorCode))
		}
		done, message, err = session.Next(ctx, a.AuthBytes)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", kafkago.SASLAuthenticationFailed, err)
	}
	return nil
}

// roundTrip sends a request and returns its answer.
func (c *connection) roundTrip(ctx context.Context, version int16, request protocol.Message) (protocol.Message, error) {
	defer c.bound(ctx)()
	c.correlation++
	return protocol.RoundTrip(c, version, c.correlation, c.clientID, request)
}

// bound ends reading and writing with the context, or when a broker takes too long. The function that it returns lifts
// the bounds.
func (c *connection) bound(ctx context.Context) func() {
	deadline := time.Now().Add(requestTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	_ = c.SetDeadline(deadline) // on a closed connection the request itself fails
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	return func() { stop() }
}
