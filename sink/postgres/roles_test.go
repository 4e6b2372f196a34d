package postgres_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestRoles: the owner migrates, the writer does all that a store does, and the reader reads. None can do more.
func TestRoles(t *testing.T) {
	admin := pgtest.New(t)
	// Roles belong to the server, which other tests use too. They go with it.
	name := databaseOf(admin)
	owner, writer, reader := name+"_owner", name+"_writer", name+"_reader"
	for _, role := range []string{owner, writer, reader} {
		execute(t, admin, "CREATE ROLE "+role+" LOGIN NOSUPERUSER")
	}
	execute(t, admin, fmt.Sprintf("REVOKE ALL ON DATABASE %[1]s FROM PUBLIC; GRANT CONNECT ON DATABASE %[1]s TO %[2]s, %[3]s; "+
		"GRANT CONNECT, CREATE ON DATABASE %[1]s TO %[4]s", name, writer, reader, owner))
	as := func(role string) string {
		u, err := url.Parse(admin)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(role)
		return u.String()
	}
	if _, err := postgres.Migrate(t.Context(), as(owner)); err != nil {
		t.Fatalf("the owner cannot migrate: %v", err)
	}
	if _, err := postgres.Open(t.Context(), as(writer)); err == nil {
		t.Error("a role without rights opens the store")
	}
	if err := postgres.Grant(t.Context(), as(owner), []string{writer}, []string{reader}); err != nil {
		t.Fatal(err)
	}

	b := sinktest.Sample("audit/0", 0, 20)
	b.Deliveries = []sink.Delivery{{Source: "hook", Key: "a"}}
	w := open(t, as(writer))
	if err := w.Commit(t.Context(), b); err != nil {
		t.Fatalf("the writer cannot write: %v", err)
	}
	if err := w.Ping(t.Context()); err != nil {
		t.Errorf("the writer's Ping: %v", err)
	}
	for range 3 {
		if err := w.SaveCheckpoint(t.Context(), sink.Checkpoint{Name: "prod"}, strings.NewReader("state")); err != nil {
			t.Errorf("the writer cannot save a checkpoint: %v", err)
		}
	}
	run, rows := sinktest.Agreement("run", b.Failures[0].StageTimestamp)
	if err := w.SaveAgreement(t.Context(), run, rows); err != nil {
		t.Errorf("the writer cannot store an agreement: %v", err)
	}
	_, content, err := w.LoadCheckpoint(t.Context(), "prod")
	if err != nil {
		t.Fatalf("the writer cannot load a checkpoint: %v", err)
	}
	content.Close()
	r := open(t, as(reader))
	expect(t, r, b)
	expect(t, w, b)
	if sum, err := sink.SumAgreement(t.Context(), r, sink.Filter{}); err != nil || sum.Logs != 1 {
		t.Errorf("the reader reads an agreement on %v (%v), want that on 1 log", sum, err)
	}
	if err := r.SaveAgreement(t.Context(), run, rows); err == nil {
		t.Error("the reader stores an agreement")
	}
	if err := r.Ping(t.Context()); err == nil {
		t.Error("Ping says that the reader can write")
	}
	if err := r.Commit(t.Context(), sinktest.Sample("audit/1", 0, 1)); err == nil {
		t.Error("the reader writes")
	}
	forbidden(t, as(reader), "SELECT * FROM vapshadow.failures", "SELECT * FROM vapshadow.checkpoint_chunks", "SELECT * FROM vapshadow.positions",
		"SELECT * FROM vapshadow.agreement",
		"SELECT vapshadow.ensure_days('{2026-01-01}')", "SELECT vapshadow.drop_outliers('2026-01-01')",
		"SELECT vapshadow.grant_writer('"+reader+"')", "DELETE FROM vapshadow.v_failures", "CREATE TABLE vapshadow.x (x int)",
		"CREATE SCHEMA x")
	forbidden(t, as(writer), "CREATE TABLE vapshadow.x (x int)", "CREATE SCHEMA x", "DROP TABLE vapshadow.failures",
		"DROP TABLE vapshadow.failures_20260314", "DELETE FROM vapshadow.failures", "TRUNCATE vapshadow.failures",
		"UPDATE vapshadow.failures SET message = ''", "DELETE FROM vapshadow.failures_20260314", "DELETE FROM vapshadow.positions",
		"DELETE FROM vapshadow.ledger", "UPDATE vapshadow.schema_migrations SET version_id = 0", "DROP VIEW vapshadow.v_failures",
		"SELECT vapshadow.grant_reader('"+writer+"')")

	if err := w.Maintain(t.Context(), time.Hour, b.Failures[0].StageTimestamp.AddDate(0, 0, 9)); err != nil {
		t.Errorf("the writer cannot maintain: %v", err)
	}
	if got := sinktest.Read(t, r, sink.Filter{}).Failures; len(got) != 0 {
		t.Errorf("%d failures are left", len(got))
	}
	if sum, err := sink.SumAgreement(t.Context(), r, sink.Filter{}); err != nil || sum.Logs != 0 {
		t.Errorf("an agreement is left: %v (%v)", sum, err)
	}
}

// TestOwnSchema: a role that may not make schemas can be given one.
func TestOwnSchema(t *testing.T) {
	admin := pgtest.New(t)
	owner := databaseOf(admin) + "_owner"
	execute(t, admin, "CREATE ROLE "+owner+" LOGIN")
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(owner)
	if _, err := postgres.Migrate(t.Context(), u.String()); err == nil || !strings.Contains(err.Error(), "schema vapshadow") {
		t.Errorf("without the right to make the schema: %v", err)
	}
	execute(t, admin, "CREATE SCHEMA vapshadow AUTHORIZATION "+owner)
	if _, err := postgres.Migrate(t.Context(), u.String()); err != nil {
		t.Fatal(err)
	}
	open(t, u.String())
}

// forbidden runs statements that have to be refused for want of rights.
func forbidden(t *testing.T, address string, statements ...string) {
	t.Helper()
	conn := connect(t, address)
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v, want it to be refused", sql, err)
		}
	}
}
