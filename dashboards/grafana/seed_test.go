package grafana_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/postgres"
)

// week is how long the rows of these tests span: 10,000 minutes, of 100 rollups each.
const week = 10_000 * time.Minute

// seeded is a database with a million rollups up to a time, and connections to it.
type seeded struct {
	owner, reader *pgx.Conn
	from, to      time.Time
}

func seed(t *testing.T) seeded {
	t.Helper()
	// It is thrown away: nothing has to outlast a crash.
	server := pgtest.Start(t, pgtest.Config{Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0", "max_wal_size": "'4GB'",
		"autovacuum": "off", "default_statistics_target": "20", "shared_buffers": "'512MB'",
	}})
	if err := server.Exec(t.Context(), "postgres", "CREATE ROLE vapshadow LOGIN; CREATE ROLE grafana LOGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(t.Context(), server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Grant(t.Context(), server.URL("postgres"), []string{"vapshadow"}, []string{"grafana"}); err != nil {
		t.Fatal(err)
	}
	s := seeded{owner: connect(t, server.URL("postgres")), reader: connect(t, server.URLAs("grafana", "postgres"))}
	s.to = time.Now().UTC().Truncate(time.Minute)
	s.from = s.to.Add(-week)
	s.exec(t, "SELECT vapshadow.ensure_days(array_agg(d::date)) FROM generate_series($1::timestamptz, $2, '1 day') AS d", s.from, s.to.Add(24*time.Hour))
	// Indexes are made faster of rows that are there already.
	indexes := s.dropIndexes(t)
	s.exec(t, rollups, s.from, s.to)
	s.exec(t, failures, s.from)
	for _, index := range indexes {
		s.exec(t, index)
	}
	commit(t, server.URLAs("vapshadow", "postgres"), s.to)
	s.exec(t, "ANALYZE vapshadow.rollups, vapshadow.failures")
	for table, rows := range map[string]int64{"rollups": 1_000_000, "failures": 200_000} {
		var bytes int64
		sql := "SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = $1::regclass"
		if err := s.owner.QueryRow(t.Context(), sql, "vapshadow."+table).Scan(&bytes); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes a row, with indexes", table, bytes/rows)
	}
	return s
}

func (s seeded) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	began := time.Now()
	if _, err := s.owner.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	t.Logf("%6.1f s  %.60s…", time.Since(began).Seconds(), sql)
}

// dropIndexes drops the indexes of the large tables, and returns how to make them again.
func (s seeded) dropIndexes(t *testing.T) (again []string) {
	t.Helper()
	rows, err := s.owner.Query(t.Context(), `SELECT indexdef, indexname FROM pg_indexes
WHERE schemaname = 'vapshadow' AND tablename IN ('rollups', 'failures') AND indexdef NOT LIKE 'CREATE UNIQUE%'`)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	var define, name string
	if _, err := pgx.ForEachRow(rows, []any{&define, &name}, func() error {
		// Those of the partitions with them.
		again, names = append(again, strings.Replace(define, " ON ONLY ", " ON ", 1)), append(names, "vapshadow."+name)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.exec(t, "DROP INDEX "+strings.Join(names, ", "))
	return again
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return conn
}

// A hundred rows a minute: 3 clusters, 20 policies whose text changes in the middle, 61 namespaces, of which one is none.
const rollups = `INSERT INTO vapshadow.rollups
SELECT m, decode(md5(m::text || k), 'hex'), (ARRAY['prod', 'staging', ''])[1 + k % 3], 'policy-' || k % 20, 'binding-' || k % 20,
  md5((k % 20)::text || (m > $1::timestamptz + interval '3 days')), md5((k % 20)::text),
  CASE WHEN x % 61 = 0 THEN '' ELSE 'team-' || x % 61 END, 'apps', 'deployments', '', (ARRAY['CREATE', 'UPDATE', 'DELETE'])[1 + x % 3],
  CASE WHEN x % 97 = 0 THEN 'Error' WHEN x % 10 = 0 THEN 'Fail' WHEN x % 11 = 0 THEN 'Unknown' WHEN x % 13 = 0 THEN 'Skipped' ELSE 'Pass' END,
  CASE WHEN x % 11 = 0 THEN 'Missing' ELSE 'Exact' END, CASE WHEN x % 11 = 0 THEN (ARRAY['NoHistory', 'MetadataLevel'])[1 + k % 2] ELSE '' END,
  'Audit', x % 97 = 0 AND k % 20 < 4, 1 + x % 5
FROM generate_series($1::timestamptz, $2::timestamptz - interval '1 minute', '1 minute') AS m,
  generate_series(0, 99) AS k,
  LATERAL (SELECT (abs(hashint8(extract(epoch FROM m)::bigint / 60 * 100 + k)::bigint) % 1000003)::int AS x) AS h`

// Two hundred thousand failures over the same time.
const failures = `INSERT INTO vapshadow.failures
SELECT $1::timestamptz + i * interval '3 seconds', decode(md5(i::text), 'hex'), (ARRAY['prod', 'staging', ''])[1 + i % 3],
  'audit-' || i, 0, (ARRAY['CREATE', 'UPDATE'])[1 + i % 2], '', 'v1', 'pods', '', 'Pod',
  CASE WHEN i % 61 = 0 THEN '' ELSE 'team-' || i % 61 END, 'pod-' || i % 5000, CASE WHEN i % 2 = 0 THEN 'ReplicaSet' ELSE '' END,
  CASE WHEN i % 2 = 0 THEN 'web-' || i % 400 ELSE '' END, 'user-' || i % 300, ARRAY['system:authenticated'], 'kubectl/v1.37.1 (linux/amd64)', false, 201,
  'policy-' || i % 20, 'binding-' || i % 20, '', '', md5((i % 20)::text), md5((i % 20)::text), '', ARRAY['Audit'], i % 4, 0,
  (ARRAY['Fail', 'Fail', 'Fail', 'Unknown', 'Error'])[1 + i / 20 % 5], 'replicas must be at most ' || i % 7, 'Invalid', false,
  CASE WHEN i / 20 % 5 = 3 THEN ARRAY['oldObject.spec.replicas'] ELSE ARRAY[]::text[] END, CASE WHEN i / 20 % 5 = 3 THEN 'NoHistory' ELSE '' END,
  'Exact', 'Audit', false
FROM generate_series(0, 199999) AS i`

// commit writes the other rows as the service does.
func commit(t *testing.T, url string, to time.Time) {
	t.Helper()
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const partition = "audit/0"
	b := &sink.Batch{Moves: []sink.Move{{Source: "kafka", Partition: partition, To: sink.Mark{Offset: 100}, EventTime: to}}}
	line := func(outcome, reason string, count int64) {
		b.Ledger = append(b.Ledger, sink.LedgerLine{Source: "kafka", Partition: partition, Cluster: "prod", Outcome: outcome, Reason: reason, Count: count})
	}
	line(sink.Ingested, "", 100)
	line(sink.Evaluated, "", 60)
	line(sink.Requests, "", 61)
	line(sink.NotAdmission, "NotMutating", 37)
	line(sink.DeadLettered, "InvalidJSON", 3)
	for i := range 100 {
		at := to.Add(-time.Duration(i) * time.Minute)
		b.DeadLetters = append(b.DeadLetters, sink.DeadLetter{
			Source: "kafka", Partition: partition, Cluster: "prod", Mark: sink.Mark{Offset: int64(i)}, Reason: "InvalidJSON", Detail: "not JSON", At: at,
		})
		b.Annotations = append(b.Annotations, sink.Annotation{
			Place: sink.Place{Cluster: "prod", AuditID: fmt.Sprint(i), StageTimestamp: at}, Key: fmt.Sprintf("policy-%d/replicas", i%5), Value: fmt.Sprint(i),
		})
	}
	for i := range 21 { // policy-20 matched nothing
		name := fmt.Sprintf("policy-%d", i)
		b.Policies = append(b.Policies, sink.PolicyText{Cluster: "prod", Kind: "ValidatingAdmissionPolicy", Name: name, Hash: name, Text: "{}"})
	}
	if err := store.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	compare(t, store, to)
}

// compare stores comparisons: of a log an hour, of three clusters, 20 policies and all outcomes, each made twice.
func compare(t *testing.T, store sink.Store, to time.Time) {
	t.Helper()
	for i := range 90 {
		run := sink.AgreementRun{
			Cluster: []string{"prod", "staging", ""}[i%3], Log: fmt.Sprint("log-", i), FirstEvent: to.Add(-time.Duration(i+1) * time.Hour),
			LastEvent: to.Add(-time.Duration(i) * time.Hour), KubernetesVersion: "1.37", VapshadowVersion: "v1", ApiserverVersion: "v0.37.1", CELVersion: "v0.28.0",
			Ingested: 100, Evaluated: 100, Recorded: 40,
		}
		var rows []sink.Agreement
		for n := range 20 {
			row := sink.Agreement{Policy: fmt.Sprintf("policy-%d", n), Binding: fmt.Sprintf("binding-%d", n)}
			if n == 3 {
				row.Binding = ""
			}
			for _, of := range []struct {
				outcome, reason string
				count           int64
				auditIDs        []string
			}{
				{sink.Agreed, sink.BothFail, 3, nil}, {sink.Agreed, sink.BothPass, 30, nil}, {sink.Agreed, sink.Reordered, 1, nil},
				{sink.Disagreed, "OtherMessage", 1, []string{"audit-1", "audit-2"}}, {sink.Undecided, "NoHistory", 4, nil},
				{sink.NotRecorded, "", 5, nil}, {sink.NotGiven, "", 6, nil},
			} {
				row.Outcome, row.Reason, row.Count, row.AuditIDs = of.outcome, of.reason, of.count, of.auditIDs
				rows = append(rows, row)
			}
			row = sink.Agreement{Policy: row.Policy, Annotation: "key", Outcome: sink.Disagreed, Reason: "OtherValue", Count: 2, AuditIDs: []string{"audit-3"}}
			rows = append(rows, row)
		}
		for _, run.Run = range []string{fmt.Sprint("first-", i), fmt.Sprint("again-", i)} {
			run.VerifiedAt = run.LastEvent
			if err := store.SaveAgreement(t.Context(), run, rows); err != nil {
				t.Fatal(err)
			}
		}
	}
}
