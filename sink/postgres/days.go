package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// days remembers which days have partitions.
type days struct {
	mu   sync.Mutex
	have map[time.Time]bool
}

// missing are the days that are not known to have partitions.
func (d *days) missing(want []time.Time) []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(want), func(day time.Time) bool { return d.have[day] })
}

func (d *days) add(list []time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.have == nil {
		d.have = map[time.Time]bool{}
	}
	for _, day := range list {
		d.have[day] = true
	}
}

// forget: a day has been dropped.
func (d *days) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.have = nil
}

// ensureDays makes the partitions of days, in transactions of their own: a transaction that writes rows then never waits
// for one that changes tables while it holds locks on rows.
func (s *Store) ensureDays(ctx context.Context, want []time.Time) error {
	for some := range slices.Chunk(s.days.missing(want), maxDays) {
		if _, err := s.pool.Exec(ctx, `SELECT vapshadow.ensure_days($1::date[])`, some); err != nil {
			return fmt.Errorf("making the partitions of a day: %w", err)
		}
		s.days.add(some)
	}
	return nil
}

// maxDays is for how many days partitions are made in one transaction: each takes some locks of the server's.
const maxDays = 10

// Days ahead for which Maintain makes partitions, and how often and with what pause it tries to drop one that is in use.
const (
	daysAhead = 7
	dropTries = 10
	dropPause = 500 * time.Millisecond
)

var _ sink.Maintainer = (*Store)(nil)

// Maintain implements sink.Maintainer. It may run in several processes at a time.
func (s *Store) Maintain(ctx context.Context, retention time.Duration, now time.Time) error {
	if retention < 0 {
		return fmt.Errorf("the retention is %v; it has to be 0 (keep all) or more", retention)
	}
	today := table.Day(now)
	var ahead []time.Time
	for i := range daysAhead + 1 {
		ahead = append(ahead, today.AddDate(0, 0, i))
	}
	if err := s.ensureDays(ctx, ahead); err != nil {
		return err
	}
	if retention == 0 {
		return nil
	}
	firstKept := table.Day(now.Add(-retention))
	if err := s.unseal(ctx, firstKept); err != nil {
		return err
	}
	if err := s.dropDays(ctx, firstKept); err != nil {
		return err
	}
	for _, sql := range []string{
		`SELECT vapshadow.drop_outliers($1::date)`,
		`DELETE FROM vapshadow.dead_letters WHERE at < $1::date::timestamp AT TIME ZONE 'UTC'`,
		`DELETE FROM vapshadow.agreement WHERE last_event < $1::date::timestamp AT TIME ZONE 'UTC'`,
		`DELETE FROM vapshadow.agreement_runs WHERE last_event < $1::date::timestamp AT TIME ZONE 'UTC'`,
		`DELETE FROM vapshadow.deliveries WHERE stored_at < $1::date::timestamp AT TIME ZONE 'UTC'`,
	} {
		if _, err := s.pool.Exec(ctx, sql, firstKept); err != nil {
			return fmt.Errorf("deleting rows past the retention: %w", err)
		}
	}
	// Again: somebody may have sealed a day meanwhile, as it was before it was dropped.
	return s.unseal(ctx, firstKept)
}

func (s *Store) dropDays(ctx context.Context, firstKept time.Time) error {
	rows, err := s.pool.Query(ctx, `SELECT child FROM vapshadow.days_before($1::date)`, firstKept)
	if err != nil {
		return fmt.Errorf("listing the days past the retention: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("listing the days past the retention: %w", err)
	}
	for _, name := range tables {
		// Before and after: a day that another goroutine finds remembered in between is made again, see Commit.
		s.days.forget()
		if err := s.dropDay(ctx, firstKept, name); err != nil {
			return err
		}
	}
	s.days.forget()
	return nil
}

func (s *Store) dropDay(ctx context.Context, firstKept time.Time, name string) error {
	for try := 1; ; try++ {
		_, err := s.pool.Exec(ctx, `SELECT vapshadow.drop_day($1::date, $2)`, firstKept, name)
		if err == nil {
			return nil
		}
		if c := code(err); try == dropTries || c != lockNotAvailable && c != deadlockDetected {
			return fmt.Errorf("dropping the rows in %s, which are past the retention: %w", name, err)
		}
		select {
		case <-time.After(dropPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
