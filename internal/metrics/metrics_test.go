package metrics_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/webhook"
	"github.com/vapshadow/vapshadow/internal/metrics"
	"github.com/vapshadow/vapshadow/sink"
)

func TestCommit(t *testing.T) {
	m := metrics.New("v1")
	b := &sink.Batch{
		Failures: make([]sink.Failure, 2),
		Ledger: []sink.LedgerLine{
			{Source: "s", Cluster: "c", Outcome: sink.Ingested, Count: 5},
			{Source: "s", Cluster: "c", Outcome: sink.DeadLettered, Reason: "CutLine", Count: -1},
		},
		Rollups: []sink.Rollup{
			{Cluster: "c", Policy: "p", Binding: "b", Result: "Fail", BlocksAnyway: true, Count: 3},
			{Cluster: "c", Policy: "p", Binding: "b", Result: "Unknown", Because: "NoHistory", Count: 2},
		},
		DeadLetters: []sink.DeadLetter{{Source: "s", Reason: "InvalidJSON"}},
	}
	m.Commit(b, time.Second, nil)
	m.Commit(b, time.Second, errors.New("the store is away"))
	expect(t, m, `
# HELP vapshadow_blocks_anyway_total Evaluations that reject the request whatever validationActions say.
# TYPE vapshadow_blocks_anyway_total counter
vapshadow_blocks_anyway_total{binding="b",cluster="c",policy="p"} 3
# HELP vapshadow_commit_errors_total Transactions that failed; each is tried again.
# TYPE vapshadow_commit_errors_total counter
vapshadow_commit_errors_total 1
# HELP vapshadow_dead_letters_total Pieces of input that may have been events and could not be used.
# TYPE vapshadow_dead_letters_total counter
vapshadow_dead_letters_total{reason="InvalidJSON",source="s"} 1
# HELP vapshadow_evaluations_total Evaluations of a policy and binding on a request that were stored, by result.
# TYPE vapshadow_evaluations_total counter
vapshadow_evaluations_total{binding="b",cluster="c",policy="p",result="Fail"} 3
vapshadow_evaluations_total{binding="b",cluster="c",policy="p",result="Unknown"} 2
# HELP vapshadow_evaluations_unknown_total Evaluations that could not be decided, by the reason.
# TYPE vapshadow_evaluations_unknown_total counter
vapshadow_evaluations_unknown_total{binding="b",cluster="c",policy="p",reason="NoHistory"} 2
# HELP vapshadow_events_total Events and pieces of input that were stored, by what became of them.
# TYPE vapshadow_events_total counter
vapshadow_events_total{cluster="c",outcome="Ingested",reason="",source="s"} 5
`, "vapshadow_blocks_anyway_total", "vapshadow_commit_errors_total", "vapshadow_dead_letters_total", "vapshadow_evaluations_total",
		"vapshadow_evaluations_unknown_total", "vapshadow_events_total")
}

func TestSources(t *testing.T) {
	m := metrics.New("v1")
	m.Partition(ingest.Partition{Source: "s", Name: "audit/0"}, true, 7, time.Unix(100, 0))
	m.Partition(ingest.Partition{Source: "s", Name: "audit/1"}, false, -1, time.Time{})
	m.Webhook("hook", func() webhook.Stats { return webhook.Stats{Requests: map[int]int64{200: 4, 429: 1}, InFlightBytes: 9} })
	expect(t, m, `
# HELP vapshadow_source_behind What a partition holds that is not read yet: messages of a topic, bytes of a file.
# TYPE vapshadow_source_behind gauge
vapshadow_source_behind{partition="audit/0",source="s"} 7
# HELP vapshadow_source_event_time_seconds The stageTimestamp of the latest event that was read from a partition.
# TYPE vapshadow_source_event_time_seconds gauge
vapshadow_source_event_time_seconds{partition="audit/0",source="s"} 100
# HELP vapshadow_source_owned 1 for a partition that this process evaluates, 0 for one that it only observes.
# TYPE vapshadow_source_owned gauge
vapshadow_source_owned{partition="audit/0",source="s"} 1
vapshadow_source_owned{partition="audit/1",source="s"} 0
# HELP vapshadow_webhook_requests_total Requests of apiservers that were answered, by HTTP status.
# TYPE vapshadow_webhook_requests_total counter
vapshadow_webhook_requests_total{code="200",source="hook"} 4
vapshadow_webhook_requests_total{code="429",source="hook"} 1
# HELP vapshadow_webhook_waiting_bytes Bodies of requests that are being read, or not yet stored.
# TYPE vapshadow_webhook_waiting_bytes gauge
vapshadow_webhook_waiting_bytes{source="hook"} 9
`, "vapshadow_source_behind", "vapshadow_source_event_time_seconds", "vapshadow_source_owned", "vapshadow_webhook_requests_total", "vapshadow_webhook_waiting_bytes")
}

func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(metrics.New("v1").Registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "vapshadow_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func expect(t *testing.T, m *metrics.Metrics, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(m.Registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}
