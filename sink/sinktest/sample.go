package sinktest

import (
	"fmt"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// noon is when the events of the tests happened. It is in the past: a log can be old.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 123456000, time.UTC)

const source = "audit"

// move moves a partition by offsets; 0 is the beginning.
func move(partition string, from, to int64) sink.Move {
	mark := func(offset int64) sink.Mark {
		if offset == 0 {
			return sink.Mark{}
		}
		return sink.Mark{Generation: 1, Offset: offset, Detail: "inode 7"}
	}
	return sink.Move{Source: source, Partition: partition, From: mark(from), To: mark(to), EventTime: noon.Add(time.Duration(to) * time.Second)}
}

// Sample is a batch of n events with rows of all kinds, of a partition that goes from mark from to mark from+n.
func Sample(partition string, from, n int64) *sink.Batch {
	b := &sink.Batch{Moves: []sink.Move{move(partition, from, from+n)}}
	for i := from; i < from+n; i++ {
		addEvent(b, partition, i)
	}
	return b
}

func addEvent(b *sink.Batch, partition string, i int64) {
	place := sink.Place{
		Cluster: "prod", AuditID: fmt.Sprintf("%s-%d", partition, i), StageTimestamp: noon.Add(time.Duration(i) * time.Millisecond),
	}
	b.Failures = append(b.Failures, failure(place))
	b.Annotations = append(b.Annotations, sink.Annotation{Place: place, Key: "replicas.example.com/asked", Value: "7"})
	b.Rollups = append(b.Rollups, rollup(place, "Fail"), rollup(place, "Pass"))
	line := sink.LedgerLine{Source: source, Partition: partition, Cluster: "prod", Count: 1}
	for _, outcome := range []string{sink.Ingested, sink.Evaluated, sink.Requests} {
		line.Outcome = outcome
		b.Ledger = append(b.Ledger, line)
	}
	if i%10 == 0 {
		b.DeadLetters = append(b.DeadLetters, sink.DeadLetter{
			Source: source, Partition: partition, Cluster: "prod", Mark: sink.Mark{Generation: 1, Offset: i + 1, Detail: "inode 7"},
			Reason: "InvalidJSON", Detail: "no JSON at byte 3", At: place.StageTimestamp,
		})
		b.Policies = append(b.Policies, sink.PolicyText{
			Cluster: "prod", Kind: "ValidatingAdmissionPolicy", Name: "replicas", Hash: "5f2c", Text: `{"metadata":{"name":"replicas"}}`,
		})
	}
}

func failure(place sink.Place) sink.Failure {
	return sink.Failure{
		Place: place, Operation: "UPDATE", Group: "apps", Version: "v1", Resource: "deployments", SubResource: "scale",
		Kind: "Scale", Namespace: "shop", Name: "web", OwnerKind: "Deployment", OwnerName: "web",
		Username: "jane", Groups: []string{"dev", "system:authenticated"}, UserAgent: "kubectl/v1.37.0", DryRun: true, Code: 200,
		Policy: "replicas", Binding: "replicas-everywhere", ParamsNamespace: "policy", ParamsName: "limits",
		PolicyHash: "5f2c", BindingHash: "91aa", ParamHash: "07d3", ValidationActions: []string{"Warn", "Audit"},
		ExpressionIndex: 2, Result: "Fail", Message: "at most 5 replicas", Reason: "Invalid", Ignored: true,
		Unknown: []string{"oldObject.spec.replicas"}, Because: "NoHistory", Evidence: "Presumed", Effect: "Warn+Audit",
		BlocksAnyway: true, Team: "payments", Repeats: true,
	}
}

func rollup(place sink.Place, result string) sink.Rollup {
	return sink.Rollup{
		Minute: place.StageTimestamp.Truncate(time.Minute), Cluster: place.Cluster, Policy: "replicas", Binding: "replicas-everywhere",
		PolicyHash: "5f2c", BindingHash: "91aa", Namespace: "shop", Group: "apps", Resource: "deployments", SubResource: "scale",
		Operation: "UPDATE", Result: result, Evidence: "Presumed", Because: "NoHistory", Effect: "Audit", BlocksAnyway: true, Team: "payments", Count: 1,
	}
}

// join is what several batches come to.
func join(batches ...*sink.Batch) *sink.Batch {
	out := &sink.Batch{}
	for _, b := range batches {
		out.Failures = append(out.Failures, b.Failures...)
		out.Annotations = append(out.Annotations, b.Annotations...)
		out.Rollups = append(out.Rollups, b.Rollups...)
		out.Ledger = append(out.Ledger, b.Ledger...)
		out.DeadLetters = append(out.DeadLetters, b.DeadLetters...)
		out.Policies = append(out.Policies, b.Policies...)
	}
	return out
}
