package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/vapshadow/vapshadow/dashboards/report/document"
	"github.com/vapshadow/vapshadow/sink"
)

// replayDocuments are the outputs of a replay that are documents of a store: the same as those of "vapshadow report".
var replayDocuments = []string{"html", "csv", "markdown", "junit", "openreports", "policyreport"}

func (o *replayOptions) wantsDocument() bool { return slices.Contains(replayDocuments, o.Output) }

// documentStore is a store for one replay, from which its document is made.
type documentStore struct {
	sink.Database
	dir string
}

func newDocumentStore(ctx context.Context) (*documentStore, error) {
	dir, err := os.MkdirTemp("", "vapshadow-replay-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the rows of the replay: %w", err)
	}
	db, err := openStore(ctx, "sqlite:"+filepath.Join(dir, "replay.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &documentStore{db, dir}, nil
}

// Close removes the store.
func (d *documentStore) Close() error { return errors.Join(d.Database.Close(), os.RemoveAll(d.dir)) }

// write writes what the replay came to. The period is that of the log, however short: a log of an hour that fails nothing
// is no evidence for a week.
func (d *documentStore) write(ctx context.Context, s stdio, output string) error {
	return writeDocument(ctx, s, d, document.Options{Versions: documentVersions()}, output)
}
