package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/dashboards/web"
	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

func newUICommand(s stdio) *cobra.Command {
	var store, address, title string
	var pages config.Pages
	cmd := &cobra.Command{
		Use:   "ui --store URL [flags]",
		Short: "Serve pages that show what a database holds",
		Long: `Serve pages that show what a database holds: which policies may be enforced, who breaks,
what changed, and how far the answer can be trusted. They only read.

Unless the address is of this machine alone (127.0.0.1, ::1 or localhost), those who look
have to say who they are: by a token, as a bearer token or in the login form, or by a
header of a proxy that nothing else can go around.`,
		Example: `  vapshadow ui --store sqlite:vapshadow.db
  vapshadow ui --store "$VAPSHADOW_STORE" --listen 0.0.0.0:9081 --token-file /etc/vapshadow/token`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !web.Guarded(address, pages.TokenFile, pages.TrustedHeader) {
				return wrongUsage(cmd, "others than this machine reach %s: give --token-file, or --trusted-header behind a proxy, or listen on 127.0.0.1", address)
			}
			return serveUI(cmd.Context(), store, address, title, pages, s)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&store, "store", "sqlite:vapshadow.db", "`URL` of the database: postgres://… or sqlite:FILE")
	flags.StringVar(&address, "listen", "127.0.0.1:9081", "`ADDRESS` to listen on")
	flags.StringVar(&pages.TokenFile, "token-file", "", "`FILE` with the token that who looks has to know")
	flags.StringVar(&pages.TrustedHeader, "trusted-header", "", "`NAME` of the header in which a proxy says who looks")
	flags.StringVar(&title, "title", "vapshadow", "what to call the pages")
	return cmd
}

// serveUI serves the pages until the context ends, which is its regular end.
func serveUI(ctx context.Context, store, address, title string, pages config.Pages, s stdio) (err error) {
	log := newLogger(config.Default().Log, s.err)
	db, err := connect.Open(ctx, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	handler, err := newPages(db, title, pages, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", address, err)
	}
	if _, err := fmt.Fprintf(s.err, "vapshadow ui: http://%s/\n", listener.Addr()); err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // What is asked for here is worth no waiting.
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", address, err)
	}
	return nil
}

// withPages puts the pages beside those for who runs the service. Where others reach the address, and nobody has to say
// who they are, there are none.
func withPages(operations http.Handler, c *config.Config, db sink.Database, log *slog.Logger) (http.Handler, error) {
	if !web.Guarded(c.Listen, c.Pages.TokenFile, c.Pages.TrustedHeader) {
		log.Warn("the pages are not served: others than this machine reach the address; set pages.tokenFile or pages.trustedHeader", "address", c.Listen)
		return operations, nil
	}
	pages, err := newPages(db, c.Name, c.Pages, log)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		mux.Handle(path, operations)
	}
	mux.Handle("/", pages)
	return mux, nil
}

// newPages makes the pages for a store.
func newPages(db sink.Database, title string, pages config.Pages, log *slog.Logger) (http.Handler, error) {
	token := ""
	if pages.TokenFile != "" {
		content, err := os.ReadFile(pages.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token of the pages: %w", err)
		}
		if token = strings.TrimSpace(string(content)); token == "" {
			return nil, fmt.Errorf("reading the token of the pages: %s is empty", pages.TokenFile)
		}
	}
	return web.New(web.Config{Reader: db, Title: title, Version: readVersion().Version, Token: token, TrustedHeader: pages.TrustedHeader, Log: log})
}
