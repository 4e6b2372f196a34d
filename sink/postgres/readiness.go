package postgres

import (
	"context"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/readiness"
)

// Readiness implements sink.Reader.
func (s *Store) Readiness(ctx context.Context, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	return s.readiness(ctx, f, c, readiness.Read)
}

// ReadinessByNamespace implements sink.Reader.
func (s *Store) ReadinessByNamespace(ctx context.Context, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	return s.readiness(ctx, f, c, readiness.ReadByNamespace)
}

type readinessFunc func(context.Context, readiness.Snapshot, sink.Filter, sink.Criteria) ([]sink.Readiness, error)

func (s *Store) readiness(ctx context.Context, f sink.Filter, c sink.Criteria, read readinessFunc) (out []sink.Readiness, err error) {
	err = s.within(ctx, func(one snapshot) error {
		out, err = read(ctx, one, f, c)
		return err
	})
	return out, err
}
