package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"time"
)

// Config says where a Source listens, and to whom.
type Config struct {
	// Address is the host and port to listen on. It must be set where Listener is not.
	Address string
	// Listener is used in the place of Address, and closed in the end. It speaks TCP, not TLS.
	Listener net.Listener

	// CertFile and KeyFile hold the server's certificate, with those between it and its root, and its key, as PEM.
	// They are read again when they change.
	CertFile, KeyFile string
	// PlainHTTP allows to listen without a certificate on an address that others can reach.
	PlainHTTP bool

	// ClientCAFile holds the certificates, as PEM, that those of the clients are signed by. TokenFiles hold a bearer
	// token each. They are read again when they change. Where both are set, a client needs one of the two.
	ClientCAFile string
	TokenFiles   []string
	// Anonymous allows all to deliver events, where there are neither certificates nor tokens to know them by.
	Anonymous bool

	// Clusters are the names that may stand in the path; none allows every name.
	Clusters []string
	// DefaultCluster is the cluster of what comes without a name. Where it is empty too, the configuration of the
	// source says it.
	DefaultCluster string

	// MaxBodyBytes is the largest body, decompressed: 32 MiB if 0. An apiserver sends 400 events at most in one.
	MaxBodyBytes int64
	// MaxInFlightBytes bounds the bodies that are read and not yet stored: 128 MiB if 0.
	MaxInFlightBytes int64
	// BodyTimeout is how long a body may take to arrive: 30 s if 0.
	BodyTimeout time.Duration
	// StoreTimeout is how long a request waits for its events to be stored: 1 min if 0. An apiserver waits for 30 s.
	StoreTimeout time.Duration
	// DrainTimeout is how long the events under way may take when the source ends: 30 s if 0.
	DrainTimeout time.Duration
	// RetryAfter is what a client is asked to wait before it tries again: 1 s if 0. It is sent in whole seconds.
	RetryAfter time.Duration

	// Log is told of what goes wrong behind the scenes; nil discards it.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	c.MaxBodyBytes = positive(c.MaxBodyBytes, 32<<20)
	c.MaxInFlightBytes = positive(c.MaxInFlightBytes, max(128<<20, c.MaxBodyBytes))
	c.BodyTimeout = positive(c.BodyTimeout, 30*time.Second)
	c.StoreTimeout = positive(c.StoreTimeout, time.Minute)
	c.DrainTimeout = positive(c.DrainTimeout, 30*time.Second)
	c.RetryAfter = positive(c.RetryAfter, time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func positive[T int64 | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}

// clusterName is what may stand in the path. It becomes part of rows and of metrics.
var clusterName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)

func (c Config) validate() error {
	knowsClients := c.ClientCAFile != "" || len(c.TokenFiles) > 0
	switch {
	case c.Address == "" && c.Listener == nil:
		return errors.New("no address to listen on")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("a certificate needs its key, and a key its certificate: name both files, or none")
	case c.CertFile == "" && c.ClientCAFile != "":
		return errors.New("client certificates need TLS: name the files of the server's certificate and key")
	case knowsClients && c.Anonymous:
		return errors.New("clients are to be known by certificates or tokens, and to be anonymous: choose one")
	case c.MaxBodyBytes > c.MaxInFlightBytes:
		return fmt.Errorf("a body may have %d bytes, and all under way only %d: let more be under way", c.MaxBodyBytes, c.MaxInFlightBytes)
	}
	for _, name := range c.Clusters {
		if !clusterName.MatchString(name) {
			return fmt.Errorf("cluster %q cannot stand in a path: use letters, digits, dots, dashes and underscores", name)
		}
	}
	return nil
}

// validateAddress refuses what others could reach without being known or without TLS, unless it is asked for.
func (c Config) validateAddress(addr net.Addr) error {
	tcp, ok := addr.(*net.TCPAddr)
	local := ok && tcp.IP.IsLoopback()
	if c.CertFile == "" && !c.PlainHTTP && !local {
		return fmt.Errorf("without a certificate, events would come in the clear to %s: name certificate and key, listen on a loopback address, or ask for plain HTTP", addr)
	}
	if c.ClientCAFile == "" && len(c.TokenFiles) == 0 && !c.Anonymous && !local {
		return fmt.Errorf("anyone who reaches %s could deliver events: name a client CA or tokens, listen on a loopback address, or ask for anonymous clients", addr)
	}
	return nil
}

// tlsConfig asks for the files at each handshake, so a new certificate counts without a restart.
func (c Config) tlsConfig(f *files) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return f.tls(), nil
		},
	}
}
