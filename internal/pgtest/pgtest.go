// Package pgtest runs a real Postgres for tests.
//
// New gives a test an empty database of its own on a server that all tests of a test binary use. Start gives a test a
// server of its own, to be stopped, killed and started again.
//
// It needs the programs of Postgres (apt-get install postgresql), not a running server. Data lives in a temporary
// folder. A server ends, and its folder goes, with the test binary, however that ends.
package pgtest

import (
	"fmt"
	"sync"
	"testing"
)

// shared is the server of the test binary. It is never stopped: its watchdog ends it with the process.
var shared = sync.OnceValues(func() (*Server, error) { return start(Config{}) })

// New makes an empty database on the server that the tests of this binary share, and returns its URL, for a superuser.
func New(t testing.TB) string {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return server.Database(t)
}

// Start starts a server for one test; it is stopped and removed when the test ends.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	server, err := start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.remove(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func start(cfg Config) (*Server, error) {
	server, err := newServer(cfg)
	if err != nil {
		return nil, fmt.Errorf("starting a Postgres for tests: %w", err)
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("starting a Postgres for tests: %w", err)
	}
	return server, nil
}
