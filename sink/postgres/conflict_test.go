package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestSerializationFailures: what fails for no reason but another transaction is tried again by Commit itself.
func TestSerializationFailures(t *testing.T) {
	for _, test := range []struct {
		name     string
		code     string
		times    int
		succeeds bool
	}{
		{"serialization failure", "40001", 3, true},
		{"deadlock", "40P01", 3, true},
		{"serialization failures without end", "40001", 1000, false},
		{"another error", "53200", 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := migrated(t)
			// A sequence counts the tries: it is not rolled back with them.
			execute(t, url, fmt.Sprintf(`CREATE SEQUENCE tries;
				CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					IF nextval('tries') <= %d THEN RAISE EXCEPTION 'made by the test' USING ERRCODE = '%s'; END IF;
					RETURN NEW;
				END $$;
				CREATE TRIGGER fail BEFORE INSERT ON vapshadow.dead_letters FOR EACH STATEMENT EXECUTE FUNCTION fail()`,
				test.times, test.code))
			s := open(t, url)
			b := sinktest.Sample("audit/0", 0, 5)
			err := s.Commit(t.Context(), b)
			if test.succeeds {
				if err != nil {
					t.Fatal(err)
				}
				expect(t, s, b)
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.code) {
				t.Fatalf("Commit: %v, want the server's error", err)
			}
			expect(t, s, &sink.Batch{})
		})
	}
}

// TestRealDeadlock has another session wait for Commit while Commit waits for it, in a way that the server resolves at
// the cost of Commit.
func TestRealDeadlock(t *testing.T) {
	url := migrated(t)
	execute(t, url, `ALTER DATABASE `+databaseOf(url)+` SET deadlock_timeout = '50ms'`)
	s := open(t, url)
	first := sinktest.Sample("audit/0", 0, 5)
	if err := s.Commit(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	other := connect(t, url)
	for _, sql := range []string{`SET deadlock_timeout = '10min'`, `BEGIN`, `UPDATE vapshadow.ledger SET count = count`} {
		if _, err := other.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	second := sinktest.Sample("audit/0", 5, 5)
	committed := make(chan error, 1)
	go func() { committed <- s.Commit(context.WithoutCancel(t.Context()), second) }()
	watcher := connect(t, url)
	await(t, func() bool {
		var waiting bool
		err := watcher.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'vapshadow' AND wait_event_type = 'Lock')`).Scan(&waiting)
		return err == nil && waiting
	})
	if _, err := other.Exec(t.Context(), `UPDATE vapshadow.positions SET detail = detail`); err != nil {
		t.Fatalf("the server chose the other session as the victim: %v", err)
	}
	if _, err := other.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	appendRows(first, second)
	expect(t, s, first)
	if got := deadlocks(t, url, s); got == 0 {
		t.Error("there was no deadlock: the test shows nothing")
	}
}

// deadlocks is how many the server has seen. A connection tells of its own at the latest when it ends, so the stores
// are closed first.
func deadlocks(t *testing.T, url string, stores ...*postgres.Store) (n int) {
	t.Helper()
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	conn := connect(t, url)
	await(t, func() bool {
		var open int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'vapshadow'`).Scan(&open)
		return err == nil && open == 0
	})
	if err := conn.QueryRow(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWritersDoNotDeadlock: the suite's writers of shared rows come through without the server having to choose a victim.
func TestWritersDoNotDeadlock(t *testing.T) {
	url := migrated(t)
	execute(t, url, `ALTER DATABASE `+databaseOf(url)+` SET deadlock_timeout = '10ms'`)
	done := make(chan error, 4)
	var stores []*postgres.Store
	for w := range 4 {
		s := open(t, url)
		stores = append(stores, s)
		go func() {
			for at := range int64(10) {
				b := sinktest.Sample("audit/shared", at*20, 20)
				for i := range b.Moves {
					b.Moves[i].Partition = fmt.Sprint("audit/", w)
				}
				if w%2 == 1 { // the other way round
					slices.Reverse(b.Failures)
					slices.Reverse(b.Rollups)
					slices.Reverse(b.Ledger)
				}
				if err := s.Commit(context.WithoutCancel(t.Context()), b); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got := deadlocks(t, url, stores...); got != 0 {
		t.Errorf("%d deadlocks", got)
	}
}

// TestDurableCommits: a server that is set to confirm commits early is not believed.
func TestDurableCommits(t *testing.T) {
	url := migrated(t)
	execute(t, url, `ALTER DATABASE `+databaseOf(url)+` SET synchronous_commit = 'off'`)
	execute(t, url, `CREATE TABLE seen (setting text);
		CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW;
		END $$;
		CREATE TRIGGER see AFTER INSERT ON vapshadow.ledger FOR EACH STATEMENT EXECUTE FUNCTION see()`)
	if err := open(t, url).Commit(t.Context(), sinktest.Sample("audit/0", 0, 1)); err != nil {
		t.Fatal(err)
	}
	var setting string
	if err := connect(t, url).QueryRow(t.Context(), `SELECT setting FROM seen`).Scan(&setting); err != nil {
		t.Fatal(err)
	}
	if setting != "on" {
		t.Errorf("a batch was committed with synchronous_commit = %s", setting)
	}
}

// TestReadOnly: Ping tells a server that takes no writes from one that does.
func TestReadOnly(t *testing.T) {
	url := migrated(t)
	if err := open(t, url).Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	execute(t, url, `ALTER DATABASE `+databaseOf(url)+` SET default_transaction_read_only = on`)
	if err := open(t, url).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("Ping of a server that takes no writes: %v", err)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	url := migrated(t)
	running := goleak.IgnoreCurrent()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), sinktest.Sample("audit/0", 0, 1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, running)
}

// TestDropWaitsForReaders: a reader that takes long neither fails Maintain at once nor holds up writers for good.
func TestDropWaitsForReaders(t *testing.T) {
	url := migrated(t)
	s := open(t, url)
	b := sinktest.Sample("audit/0", 0, 3)
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	reader := connect(t, url)
	for _, sql := range []string{`BEGIN`, `SELECT count(*) FROM vapshadow.v_failures`} {
		if _, err := reader.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	maintained := make(chan error, 1)
	go func() {
		maintained <- s.Maintain(context.WithoutCancel(t.Context()), time.Hour, b.Failures[0].StageTimestamp.AddDate(0, 0, 5))
	}()
	watcher := connect(t, url)
	await(t, func() bool {
		var waiting bool
		err := watcher.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'vapshadow' AND wait_event_type = 'Lock')`).Scan(&waiting)
		return err == nil && waiting
	})
	// While Maintain waits for the reader, and again and again in between, rows are written.
	if err := s.Commit(t.Context(), sinktest.Sample("audit/1", 0, 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-maintained; err != nil {
		t.Fatal(err)
	}
	if got := sinktest.Read(t, s, sink.Filter{}).Failures; len(got) != 0 {
		t.Errorf("%d failures are left", len(got))
	}
}

func databaseOf(url string) string {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		panic(err)
	}
	return cfg.Database
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func execute(t testing.TB, url, sql string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
