// Package kafkatest runs the real Apache Kafka for tests: one node that is broker and controller at once, with its data
// in a temporary folder. It needs Java 17 or newer and, the first time, Maven and a network.
package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Listener names one of the doors of a broker.
type Listener string

// Listeners of a broker. All but Plaintext are there only with Options.Security.
const (
	Plaintext Listener = "PLAINTEXT"
	// TLS takes any client.
	TLS Listener = "TLS"
	// MutualTLS asks for a client certificate.
	MutualTLS Listener = "MTLS"
	// SASL takes PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 in the clear.
	SASL Listener = "SASL"
	// SASLOverTLS takes the same inside TLS.
	SASLOverTLS Listener = "SASLTLS"
)

// Users that a broker with Options.Security knows.
const (
	// User may do everything.
	User, Password = "auditor", "correct horse"
	// Stranger logs in and may do nothing.
	Stranger, StrangersPassword = "stranger", "battery staple"
)

// Options say what is special about a broker.
type Options struct {
	// Security adds the listeners with TLS and SASL, and an authorizer.
	Security bool
	// Properties are added to the broker's configuration.
	Properties map[string]string
}

// Broker is a running Kafka.
type Broker struct {
	// Addr is host and port of the listener without TLS and SASL.
	Addr string
	// CAFile holds the certificate that the others are signed with; ClientCertFile and ClientKeyFile are for MutualTLS.
	// OtherCAFile is an authority that signed none of them. Empty without Options.Security.
	CAFile, ClientCertFile, ClientKeyFile, OtherCAFile string

	dir     string
	libs    string
	ports   map[Listener]int
	exited  <-chan *os.ProcessState
	process *os.Process
}

const (
	startTime = 90 * time.Second
	stopTime  = 30 * time.Second
	// Somebody else may take a free port before the broker does.
	attempts = 3
)

// Start runs a broker until the test ends.
func Start(t testing.TB, o Options) *Broker {
	t.Helper()
	b, err := Run(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Run runs a broker with its files in a folder: for a TestMain whose tests share one. The caller stops it.
func Run(ctx context.Context, dir string, o Options) (*Broker, error) {
	libs, err := fetch(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := range attempts {
		b := &Broker{dir: filepath.Join(dir, fmt.Sprintf("kafka%d", attempt)), libs: libs}
		if err = b.prepare(ctx, o); err != nil {
			return nil, err
		}
		if err = b.launch(ctx); err == nil {
			return b, nil
		}
	}
	return nil, err
}

// prepare makes the folder of a broker: certificates, configuration, formatted storage.
func (b *Broker) prepare(ctx context.Context, o Options) (err error) {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if b.ports, err = freePorts(o.Security); err != nil {
		return err
	}
	b.Addr = b.AddrOf(Plaintext)
	if o.Security {
		if err := b.writeCertificates(); err != nil {
			return fmt.Errorf("making certificates: %w", err)
		}
	}
	if err := os.WriteFile(b.file("log4j2.xml"), log4j, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(b.file("server.properties"), b.properties(o), 0o644); err != nil {
		return err
	}
	return b.format(ctx, o)
}

// AddrOf returns host and port of a listener.
func (b *Broker) AddrOf(l Listener) string {
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(b.ports[l]))
}

func (b *Broker) file(name string) string { return filepath.Join(b.dir, name) }

// Stop shuts the broker down, as an administrator would.
func (b *Broker) Stop() error { return b.end(syscall.SIGTERM) }

// Kill ends the broker at once, as a power cut would.
func (b *Broker) Kill() error { return b.end(syscall.SIGKILL) }

// Restart starts a broker that was stopped or killed, with the same data and ports.
func (b *Broker) Restart(ctx context.Context) error {
	if b.process != nil {
		return errors.New("the broker is running")
	}
	return b.launch(ctx)
}

func (b *Broker) end(signal syscall.Signal) error {
	if b.process == nil {
		return nil
	}
	if err := b.process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending the broker: %w", err)
	}
	select {
	case <-b.exited:
	case <-time.After(stopTime):
		_ = b.process.Kill()
		<-b.exited
	}
	b.process = nil
	return nil
}

// DataDir is the folder that has one folder a partition.
func (b *Broker) DataDir() string { return b.file("data") }
