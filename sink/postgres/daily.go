package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// snapshot is a daily.Snapshot: a transaction that sees one state of the database.
type snapshot struct{ tx pgx.Tx }

// within reads one state of the database. Counting gets more memory than the server gives by default, which is too
// little to tell a day's requests apart without files.
func (s *Store) within(ctx context.Context, read func(snapshot) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL work_mem = '64MB'`); err != nil {
			return err
		}
		return read(snapshot{tx})
	})
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
		query, args := `SELECT day, content FROM vapshadow.v_day_counts WHERE question = $1 AND day >= $2 AND day < $3`, []any{question, from, until}
		if scope != daily.AnyScope {
			query, args = query+` AND scope = $4`, append(args, scope)
		}
		rows, err := s.tx.Query(ctx, query, args...)
		if err == nil {
			// What the callers ask in between needs the connection.
			var all []daily.Answer
			_, err = pgx.ForEachRow(rows, []any{&a.Day, &a.Content}, func() error {
				all = append(all, a)
				a.Content = nil
				return nil
			})
			for _, one := range all {
				if !yield(one, nil) {
					return
				}
			}
		}
		if err != nil {
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
	err := s.retry(ctx, func(tx pgx.Tx) error {
		for _, table := range []string{"day_changes", "day_counts"} {
			if _, err := tx.Exec(ctx, `DELETE FROM vapshadow.`+table+` WHERE day < $1`, daily.Name(before)); err != nil {
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
	_, err := s.pool.Exec(ctx, `INSERT INTO vapshadow.day_changes (day, writer, stamp)
		SELECT DISTINCT day, $2, $3 FROM vapshadow.day_counts WHERE day NOT IN (SELECT day FROM vapshadow.day_counts WHERE question = $1)
		ORDER BY day ON CONFLICT (day, writer) DO UPDATE SET stamp = excluded.stamp`, question, s.writer, rand.Text())
	return err
}

// Changed implements daily.Sealer.
func (s sealer) Changed(ctx context.Context, before string) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT DISTINCT day FROM vapshadow.day_changes WHERE day < $1 ORDER BY day`, before)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Within implements daily.Sealer.
func (s sealer) Within(ctx context.Context, day string, read func(daily.Snapshot, []daily.Change) error) error {
	return s.within(ctx, func(one snapshot) error {
		rows, err := one.tx.Query(ctx, `SELECT day, writer, stamp FROM vapshadow.day_changes WHERE day = $1`, day)
		if err != nil {
			return err
		}
		changes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[daily.Change])
		if err != nil {
			return err
		}
		return read(one, changes)
	})
}

// Seal implements daily.Sealer.
func (s sealer) Seal(ctx context.Context, day string, changes []daily.Change, answers []daily.Answer) (bool, error) {
	err := s.retry(ctx, func(tx pgx.Tx) error {
		for _, c := range changes {
			gone, err := tx.Exec(ctx, `DELETE FROM vapshadow.day_changes WHERE day = $1 AND writer = $2 AND stamp = $3`, c.Day, c.Writer, c.Stamp)
			if err != nil {
				return err
			}
			if gone.RowsAffected() != 1 {
				return errChanged
			}
		}
		if _, err := tx.Exec(ctx, `DELETE FROM vapshadow.day_counts WHERE day = $1`, day); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"vapshadow", "day_counts"}, []string{"question", "scope", "day", "content"},
			pgx.CopyFromSlice(len(answers), func(i int) ([]any, error) {
				a := answers[i]
				return []any{a.Question, a.Scope, a.Day, append([]byte{}, a.Content...)}, nil
			}))
		return err
	})
	if errors.Is(err, errChanged) {
		return false, nil
	}
	return err == nil, err
}

var errChanged = errors.New("the day has changed meanwhile")

// queueChanges queues the changes of days, in the order that all writers take their locks in.
func queueChanges(out *pgx.Batch, writer, stamp string, days []time.Time) {
	if len(days) == 0 {
		return
	}
	names := make([]string, len(days))
	for i, d := range days {
		names[i] = daily.Name(d)
	}
	slices.Sort(names)
	out.Queue(`INSERT INTO vapshadow.day_changes (day, writer, stamp) SELECT d, $2, $3 FROM unnest($1::text[]) AS d
		ON CONFLICT (day, writer) DO UPDATE SET stamp = excluded.stamp`, names, writer, stamp)
}
