package postgres_test

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
	"github.com/vapshadow/vapshadow/sink/sinktest"
)

// TestTeamsAndRepeatsComeLater: rows that were stored before there were teams and repeats stay, without either, and who
// could read them still can.
func TestTeamsAndRepeatsComeLater(t *testing.T) {
	address := migrated(t)
	b := sinktest.Sample("audit/0", 0, 20)
	if err := open(t, address).Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*connect(t, address).Config())
	defer db.Close()
	down(t, db, 4)
	reader := databaseOf(address) + "_reader"
	execute(t, address, "CREATE ROLE "+reader+" LOGIN; SELECT vapshadow.grant_reader('"+reader+"')")

	if _, err := postgres.Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	for i := range b.Failures {
		b.Failures[i].Team, b.Failures[i].Repeats = "", false
	}
	for i := range b.Rollups {
		b.Rollups[i].Team = ""
	}
	expect(t, open(t, address), b)

	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(reader)
	conn := connect(t, u.String())
	for _, view := range []string{"v_failures", "v_rollups", "v_rollups_hourly", "v_rollups_daily"} {
		var n int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM vapshadow."+view+" WHERE team = ''").Scan(&n); err != nil || n == 0 {
			t.Errorf("%s has %d rows for the reader: %v", view, n, err)
		}
	}
	later := sinktest.Sample("audit/0", 20, 5)
	if err := open(t, address).Commit(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if got := sinktest.Read(t, open(t, address), sink.Filter{Team: "payments"}).Failures; len(got) != 5 {
		t.Errorf("%d failures of the team, want 5", len(got))
	}
}
