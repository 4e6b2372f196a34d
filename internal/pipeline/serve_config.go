package pipeline

import (
	"log/slog"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay/live"
	"github.com/vapshadow/vapshadow/sink"
)

// ServeConfig is what a service reads, how, and where its rows go.
type ServeConfig struct {
	// Name is that of the group of processes that share the work, and of their checkpoints.
	Name    string
	Sources []ServedSource
	Store   sink.Store
	// Policies are those to be evaluated. Without them, policies and bindings come from each cluster's snapshot and from
	// the log's own events.
	Policies *Policies
	// Clusters has the files of each cluster's snapshot, by its name.
	Clusters map[string][]string
	// Live says how to reach the clusters that are read while they run, by their names.
	Live map[string]LiveConfig
	// Minor is the apiserver to be: 37 for Kubernetes 1.37.
	Minor int
	// TeamLabel is the label of Namespaces that names the team that they belong to; empty is none.
	TeamLabel string
	// HistoryBytes bounds, approximately, the memory that earlier states of a cluster's objects take; 0 is no bound.
	HistoryBytes int64
	// QueueBytes bounds the input that is under way; 0 stands for 32 MiB.
	QueueBytes int64
	// Workers is how many events are decoded and evaluated at a time; 0 is one a core.
	Workers int
	// CheckpointEvery is how often the state of the clusters is stored; 0 is never.
	CheckpointEvery time.Duration
	// ShutdownTimeout is how long a batch that is being stored may take when the context ends.
	ShutdownTimeout time.Duration
	Metrics         ServeMetrics
	// Status is kept up to date; nil is allowed.
	Status *Status
	Log    *slog.Logger
}

// LiveConfig says how to reach a cluster that is read while it runs.
type LiveConfig = live.Config

// ServedSource is a source with what the configuration says of it.
type ServedSource struct {
	// Name is unique, and stays: the store knows how far the source's partitions are by it.
	Name   string
	Source ingest.Source
	// Cluster is the cluster of the events whose chunks name none.
	Cluster string
	// NoMarks: the source cannot be read again, and its chunks are deliveries.
	NoMarks bool
	// Messages: marks count messages, so that the one before a mark can be read by itself.
	Messages bool
	// Committed is told how far a partition is stored; nil is allowed.
	Committed func(partition string, mark ingest.Mark)
}

// ServeMetrics is told what happens. Its methods are called from several goroutines.
type ServeMetrics interface {
	// SourceError: reading a source failed.
	SourceError(source string)
	// Partition: a chunk of a partition was observed. behind is -1 where it is not known.
	Partition(id ingest.Partition, own bool, behind int64, frontier time.Time)
	// Commit: a batch was stored, or not.
	Commit(b *sink.Batch, took time.Duration, err error)
	// Queue is how much input is under way, in bytes.
	Queue(bytes int64)
	// Checkpoint: one was written.
	Checkpoint(at time.Time)
}

type noMetrics struct{}

func (noMetrics) Queue(int64)                                        {}
func (noMetrics) Checkpoint(time.Time)                               {}
func (noMetrics) SourceError(string)                                 {}
func (noMetrics) Partition(ingest.Partition, bool, int64, time.Time) {}
func (noMetrics) Commit(*sink.Batch, time.Duration, error)           {}
