package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// snapshot is a daily.Snapshot: a transaction that sees one state of the file.
type snapshot struct{ tx *sql.Tx }

// within reads one state of the file.
func (s *Store) within(ctx context.Context, read func(snapshot) error) error {
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("reading the database: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	return read(snapshot{tx})
}

// Count implements daily.Snapshot.
func (s snapshot) Count(ctx context.Context, kind daily.Kind, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	if kind == daily.Rollups {
		return count(ctx, s.tx, table.Rollups, f, g)
	}
	return count(ctx, s.tx, table.Failures, f, g)
}

// Policies implements readiness.Snapshot.
func (s snapshot) Policies(ctx context.Context, f sink.Filter) iter.Seq2[sink.PolicyText, error] {
	return read(ctx, s.tx, table.Policies, f)
}

// Answers implements daily.Snapshot.
func (s snapshot) Answers(ctx context.Context, question, scope, from, until string) iter.Seq2[daily.Answer, error] {
	return func(yield func(daily.Answer, error) bool) {
		a := daily.Answer{Question: question, Scope: scope}
		query, args := `SELECT day, content FROM v_day_counts WHERE question = ? AND day >= ? AND day < ?`, []any{question, from, until}
		if scope != daily.AnyScope {
			query, args = query+` AND scope = ?`, append(args, scope)
		}
		rows, err := s.tx.QueryContext(ctx, query, args...)
		if err != nil {
			yield(a, fmt.Errorf("reading what days come to: %w", err))
			return
		}
		defer rows.Close() //nolint:errcheck // what went wrong is in rows.Err
		for rows.Next() {
			a.Content = nil
			if err := rows.Scan(&a.Day, &a.Content); err != nil {
				yield(a, fmt.Errorf("reading what days come to: %w", err))
				return
			}
			if !yield(a, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(a, fmt.Errorf("reading what days come to: %w", err))
		}
	}
}

// Seal implements sink.Maintainer.
func (s *Store) Seal(ctx context.Context, before time.Time) error {
	return daily.SealBefore(ctx, sealer{s}, before)
}

// unseal forgets what the days before one come to, and their changes: who is about to seal one then gives up.
func (s *Store) unseal(ctx context.Context, before time.Time) error {
	err := s.write(ctx, func(conn *sql.Conn) error {
		for _, table := range []string{"day_changes", "day_counts"} {
			if _, err := conn.ExecContext(ctx, `DELETE FROM `+table+` WHERE day < ?`, daily.Name(before)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forgetting what days past the retention came to: %w", err)
	}
	return nil
}

// sealer is a daily.Sealer.
type sealer struct{ *Store }

// Renew implements daily.Sealer.
func (s sealer) Renew(ctx context.Context, question string) error {
	return s.write(ctx, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, `INSERT INTO day_changes (day, writer, stamp)
			SELECT DISTINCT day, ?2, ?3 FROM day_counts WHERE day NOT IN (SELECT day FROM day_counts WHERE question = ?1)
			ON CONFLICT (day, writer) DO UPDATE SET stamp = excluded.stamp`, question, s.name, rand.Text())
		return err
	})
}

// Changed implements daily.Sealer.
func (s sealer) Changed(ctx context.Context, before string) (days []string, err error) {
	rows, err := s.readers.QueryContext(ctx, `SELECT DISTINCT day FROM day_changes WHERE day < ? ORDER BY day`, before)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var day string
		if err := rows.Scan(&day); err != nil {
			return nil, err
		}
		days = append(days, day)
	}
	return days, rows.Err()
}

// Within implements daily.Sealer.
func (s sealer) Within(ctx context.Context, day string, read func(daily.Snapshot, []daily.Change) error) error {
	return s.within(ctx, func(one snapshot) error {
		changes, err := one.changes(ctx, day)
		if err != nil {
			return err
		}
		return read(one, changes)
	})
}

func (s snapshot) changes(ctx context.Context, day string) (out []daily.Change, err error) {
	rows, err := s.tx.QueryContext(ctx, `SELECT day, writer, stamp FROM day_changes WHERE day = ?`, day)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c daily.Change
		if err := rows.Scan(&c.Day, &c.Writer, &c.Stamp); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// Seal implements daily.Sealer.
func (s sealer) Seal(ctx context.Context, day string, changes []daily.Change, answers []daily.Answer) (bool, error) {
	err := s.write(ctx, func(conn *sql.Conn) error {
		for _, c := range changes {
			gone, err := conn.ExecContext(ctx, `DELETE FROM day_changes WHERE day = ? AND writer = ? AND stamp = ?`, c.Day, c.Writer, c.Stamp)
			if err != nil {
				return err
			}
			if n, err := gone.RowsAffected(); err != nil || n != 1 {
				return errors.Join(errChanged, err)
			}
		}
		if _, err := conn.ExecContext(ctx, `DELETE FROM day_counts WHERE day = ?`, day); err != nil {
			return err
		}
		for _, a := range answers {
			_, err := conn.ExecContext(ctx, `INSERT INTO day_counts (question, scope, day, content) VALUES (?, ?, ?, ?)`,
				a.Question, a.Scope, a.Day, append([]byte{}, a.Content...))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errChanged) {
		return false, nil
	}
	return err == nil, err
}

var errChanged = errors.New("the day has changed meanwhile")

// change says that there are rows of some days.
func change(ctx context.Context, conn *sql.Conn, writer, stamp string, days []time.Time) error {
	for _, d := range days {
		_, err := conn.ExecContext(ctx, `INSERT INTO day_changes (day, writer, stamp) VALUES (?, ?, ?)
			ON CONFLICT (day, writer) DO UPDATE SET stamp = excluded.stamp`, daily.Name(d), writer, stamp)
		if err != nil {
			return fmt.Errorf("noting that a day changes: %w", err)
		}
	}
	return nil
}
