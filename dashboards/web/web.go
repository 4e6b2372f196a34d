// Package web serves the pages that a person reads what a store holds on. They need no script, read only, and show no
// object content: the rows have none.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// Reader is what the pages read.
type Reader interface {
	sink.Reader
	sink.Counter
	Marks(ctx context.Context, source string) ([]sink.PartitionMark, error)
}

// Config says what is served, and to whom.
type Config struct {
	// Reader has to be set.
	Reader Reader
	// Title is shown on each page: the name of the installation.
	Title string
	// Version is that of vapshadow.
	Version string
	// Token, where it is set, has to be shown: as a bearer token, or in the login form. At least 16 bytes.
	Token string
	// TrustedHeader, where it is set, is a header by which a proxy says who the user is. It is believed, so nothing but
	// the proxy may reach the address.
	TrustedHeader string
	// Timeout is how long the queries of a page may take; 0 is a minute.
	Timeout time.Duration
	// Criteria say how much evidence makes a binding ready; the zero value has the defaults.
	Criteria sink.Criteria
	// Log gets what goes wrong on the side of the server; nil is slog.Default.
	Log *slog.Logger
}

// atOnce is how many pages are made at a time: each keeps one connection to the database busy, and a service that stores
// what it evaluates needs the others.
const atOnce = 2

type server struct {
	Config
	slots chan struct{}
}

// page answers one kind of request. What it returns is given to the template of its name.
type page struct {
	nav string
	// make gathers what the page shows. A *problem is told to the person.
	make func(ctx context.Context, s *server, q query) (view, error)
}

// New makes the pages. Links in them are relative, so that they may be served below any path that ends in a slash.
func New(c Config) (http.Handler, error) {
	if c.Reader == nil {
		return nil, errors.New("the pages need a store to read")
	}
	if c.Token != "" && len(c.Token) < minToken {
		return nil, fmt.Errorf("the token of the pages has %d bytes: at least %d are needed, such as `openssl rand -hex 32` writes", len(c.Token), minToken)
	}
	if c.Title == "" {
		c.Title = "vapshadow"
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	s := &server{Config: c, slots: make(chan struct{}, atOnce)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static/{file}", static)
	mux.HandleFunc("GET /login", s.login)
	mux.HandleFunc("POST /login", s.enter)
	mux.HandleFunc("POST /logout", s.leave)
	for name, p := range map[string]page{
		"overview":   {"overview", overview},
		"policy":     {"overview", policy},
		"namespaces": {"namespaces", namespaces},
		"namespace":  {"namespaces", namespace},
		"workload":   {"namespaces", workload},
		"unknowns":   {"unknowns", unknowns},
		"agreement":  {"agreement", agreement},
		"sources":    {"sources", sources},
		"search":     {"search", search},
		"decision":   {"search", decision},
	} {
		path := "/" + name
		if name == "overview" {
			path = "/{$}"
		}
		mux.Handle("GET "+path, s.guard(s.show(name, p)))
	}
	mux.Handle("/", s.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.fail(w, r, http.StatusMethodNotAllowed, "This page is only there to be read.")
			return
		}
		s.fail(w, r, http.StatusNotFound, "There is no such page.")
	})))
	return secured(s, http.NewCrossOriginProtection().Handler(mux)), nil
}

// show answers a request with a page.
func (s *server) show(name string, p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
		defer cancel()
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			s.failed(w, r, ctx.Err())
			return
		}
		q, err := s.query(ctx, r)
		if err != nil {
			s.failed(w, r, err)
			return
		}
		v, err := p.make(ctx, s, q)
		if err != nil {
			s.failed(w, r, err)
			return
		}
		v.Nav, v.Query = p.nav, q
		s.render(w, r, http.StatusOK, name, v)
	})
}

// problem is told to the person who asked.
type problem struct {
	code int
	text string
}

func (p *problem) Error() string { return p.text }

func wrong(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// failed tells what the person can do about an error, and keeps the rest for the log: it may name hosts and tables.
func (s *server) failed(w http.ResponseWriter, r *http.Request, err error) {
	if p, ok := errors.AsType[*problem](err); ok {
		s.fail(w, r, p.code, p.text)
		return
	}
	if r.Context().Err() != nil {
		return // nobody waits for it any more
	}
	s.Log.Error("a page could not be made", "page", r.URL.Path, "error", err)
	if errors.Is(err, context.DeadlineExceeded) {
		s.fail(w, r, http.StatusGatewayTimeout, "Reading the store took too long. Choose a shorter period, or one policy.")
		return
	}
	s.fail(w, r, http.StatusInternalServerError, "The store could not be read. The log of vapshadow says why.")
}
