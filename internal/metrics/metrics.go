// Package metrics tells Prometheus what the service does. docs/operations.md lists the metrics.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/sink"
)

// Metrics are those of one process.
type Metrics struct {
	Registry *prometheus.Registry

	events       *prometheus.CounterVec
	evaluations  *prometheus.CounterVec
	unknown      *prometheus.CounterVec
	blocks       *prometheus.CounterVec
	deadLetters  *prometheus.CounterVec
	sourceErrors *prometheus.CounterVec
	behind       *prometheus.GaugeVec
	eventTime    *prometheus.GaugeVec
	own          *prometheus.GaugeVec
	forwarded    *prometheus.CounterVec
	notForwarded *prometheus.CounterVec
	commit       prometheus.Histogram
	commitErrors prometheus.Counter
	rows         *prometheus.CounterVec
	lastCommit   prometheus.Gauge
	queue        prometheus.Gauge
	checkpoint   prometheus.Gauge
	policies     policyMetrics
}

type policyMetrics struct {
	loaded, failed prometheus.Gauge
	count, cost    *prometheus.GaugeVec
}

// New makes the metrics, with those of the process and of Go beside them. version is that of the build.
func New(version string) *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry()}
	m.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauge("build_info", "Always 1; the label says which version this is.", "version").WithLabelValues(version).Set(1)
	m.events = m.counter("events_total", "Events and pieces of input that were stored, by what became of them.", "source", "cluster", "outcome", "reason")
	m.evaluations = m.counter("evaluations_total", "Evaluations of a policy and binding on a request that were stored, by result.", "cluster", "policy", "binding", "result")
	m.unknown = m.counter("evaluations_unknown_total", "Evaluations that could not be decided, by the reason.", "cluster", "policy", "binding", "reason")
	m.blocks = m.counter("blocks_anyway_total", "Evaluations that reject the request whatever validationActions say.", "cluster", "policy", "binding")
	m.deadLetters = m.counter("dead_letters_total", "Pieces of input that may have been events and could not be used.", "source", "reason")
	m.sourceErrors = m.counter("source_errors_total", "Failures of reading a source; each is tried again.", "source")
	m.behind = m.gauge("source_behind", "What a partition holds that is not read yet: messages of a topic, bytes of a file.", "source", "partition")
	m.eventTime = m.gauge("source_event_time_seconds", "The stageTimestamp of the latest event that was read from a partition.", "source", "partition")
	m.own = m.gauge("source_owned", "1 for a partition that this process evaluates, 0 for one that it only observes.", "source", "partition")
	m.forwarded = m.counter("forwarded_events_total", "Events that were written to the topic, and that the brokers have.", "source")
	m.notForwarded = m.counter("forward_skipped_total", "Pieces of input that were left out on the way to the topic.", "source", "reason")
	m.rows = m.counter("rows_total", "Rows that were stored.", "table")
	m.commit = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "commit_duration_seconds", Help: "How long a transaction took that stored a batch.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	})
	m.commitErrors = prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "commit_errors_total", Help: "Transactions that failed; each is tried again."})
	m.lastCommit = single("last_commit_timestamp_seconds", "When a batch was stored last.")
	m.queue = single("queue_bytes", "Input that is read and not yet stored.")
	m.checkpoint = single("checkpoint_timestamp_seconds", "When the state of the clusters was stored last by this process.")
	m.policies = policyMetrics{
		loaded: single("policies_loaded_timestamp_seconds", "When policies were loaded last without an error."),
		failed: single("policies_load_failed", "1 while the policies in the files cannot be loaded and the last good ones are used."),
		cost:   m.gauge("cel_cost_highest", "The most that the validations of one evaluation have cost since the policies were loaded; the apiserver gives up beyond 10,000,000.", "policy"),
		count:  m.gauge("policies", "Policies and bindings that are evaluated.", "kind"),
	}
	m.Registry.MustRegister(m.commit, m.commitErrors, m.lastCommit, m.queue, m.checkpoint, m.policies.loaded, m.policies.failed)
	return m
}

const namespace = "vapshadow"

func single(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.Registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.Registry.MustRegister(v)
	return v
}

// SourceError counts a failure of reading.
func (m *Metrics) SourceError(source string) { m.sourceErrors.WithLabelValues(source).Inc() }

// Partition says how far a partition is read.
func (m *Metrics) Partition(id ingest.Partition, own bool, behind int64, frontier time.Time) {
	if behind >= 0 {
		m.behind.WithLabelValues(id.Source, id.Name).Set(float64(behind))
	}
	if !frontier.IsZero() {
		m.eventTime.WithLabelValues(id.Source, id.Name).Set(float64(frontier.UnixMilli()) / 1000)
	}
	owned := 0.0
	if own {
		owned = 1
	}
	m.own.WithLabelValues(id.Source, id.Name).Set(owned)
}

// Forwarded counts what was written to the topic, and what was left out.
func (m *Metrics) Forwarded(source string, events int, skips []ingest.Skip) {
	m.forwarded.WithLabelValues(source).Add(float64(events))
	for _, s := range skips {
		m.notForwarded.WithLabelValues(source, string(s.Reason)).Inc()
	}
}

// Queue says how much input is under way.
func (m *Metrics) Queue(bytes int64) { m.queue.Set(float64(bytes)) }

// Checkpoint says that one was written.
func (m *Metrics) Checkpoint(at time.Time) { m.checkpoint.Set(float64(at.Unix())) }

// Policies says which policies are evaluated, and whether those in the files could be loaded.
func (m *Metrics) Policies(policies, bindings int, loaded time.Time, failed bool) {
	m.policies.count.WithLabelValues("ValidatingAdmissionPolicy").Set(float64(policies))
	m.policies.count.WithLabelValues("ValidatingAdmissionPolicyBinding").Set(float64(bindings))
	m.policies.loaded.Set(float64(loaded.Unix()))
	m.policies.failed.Set(0)
	if failed {
		m.policies.failed.Set(1)
	}
}

// HighestCosts says what policies have cost at most, by policy.
func (m *Metrics) HighestCosts(costs map[string]int64) {
	m.policies.cost.Reset()
	for policy, cost := range costs {
		m.policies.cost.WithLabelValues(policy).Set(float64(cost))
	}
}

// Commit counts what a transaction stored.
func (m *Metrics) Commit(b *sink.Batch, took time.Duration, err error) {
	m.commit.Observe(took.Seconds())
	if err != nil {
		m.commitErrors.Inc()
		return
	}
	m.lastCommit.SetToCurrentTime()
	for _, l := range b.Ledger {
		if l.Count < 0 {
			continue // A dead letter was retried, by another process than that which counted it.
		}
		m.events.WithLabelValues(l.Source, l.Cluster, l.Outcome, l.Reason).Add(float64(l.Count))
	}
	for _, r := range b.Rollups {
		m.evaluations.WithLabelValues(r.Cluster, r.Policy, r.Binding, r.Result).Add(float64(r.Count))
		if r.Result == "Unknown" {
			m.unknown.WithLabelValues(r.Cluster, r.Policy, r.Binding, r.Because).Add(float64(r.Count))
		}
		if r.BlocksAnyway {
			m.blocks.WithLabelValues(r.Cluster, r.Policy, r.Binding).Add(float64(r.Count))
		}
	}
	for _, d := range b.DeadLetters {
		m.deadLetters.WithLabelValues(d.Source, d.Reason).Inc()
	}
	m.rows.WithLabelValues("failures").Add(float64(len(b.Failures)))
	m.rows.WithLabelValues("annotations").Add(float64(len(b.Annotations)))
	m.rows.WithLabelValues("rollups").Add(float64(len(b.Rollups)))
}
