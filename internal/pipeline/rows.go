package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/sink"
)

// rows gathers what one partition's events came to: the one place where records become rows.
type rows struct {
	source, partition string
	failures          []sink.Failure
	annotations       []sink.Annotation
	rollups           map[sink.Rollup]int64 // by the Rollup without its Count
	ledger            map[sink.LedgerLine]int64
	deadLetters       []sink.DeadLetter
}

func newRows(p ingest.Partition) *rows {
	return &rows{source: p.Source, partition: p.Name, rollups: map[sink.Rollup]int64{}, ledger: map[sink.LedgerLine]int64{}}
}

// size is about how many rows there are.
func (r *rows) size() int {
	return len(r.failures) + len(r.annotations) + len(r.rollups) + len(r.ledger) + len(r.deadLetters)
}

// count adds to the ledger.
func (r *rows) count(cluster, outcome, reason string, n int64) {
	if n != 0 {
		r.ledger[sink.LedgerLine{Source: r.source, Partition: r.partition, Cluster: cluster, Outcome: outcome, Reason: reason}] += n
	}
}

// benign are the skips of what is known to be no audit event. All others may have been one.
var benign = []ingest.SkipReason{ingest.NotAnEvent, ingest.DuplicateFile, ingest.ControlMessage, ingest.OtherLog}

// skip counts a piece of input that was left out, and keeps where it is if it may have been an event.
func (r *rows) skip(cluster string, s ingest.Skip, letter sink.DeadLetter) {
	r.count(cluster, sink.Ingested, "", 1)
	if slices.Contains(benign, s.Reason) {
		r.count(cluster, sink.Skipped, string(s.Reason), 1)
		return
	}
	letter.Reason, letter.Detail = string(s.Reason), s.Detail
	r.bury(cluster, letter)
}

// bury keeps where a piece of input is that could not be used.
func (r *rows) bury(cluster string, letter sink.DeadLetter) {
	letter.Source, letter.Partition, letter.Cluster = r.source, r.partition, cluster
	r.count(cluster, sink.DeadLettered, letter.Reason, 1)
	r.deadLetters = append(r.deadLetters, letter)
}

// told counts an event that is no admission request.
func (r *rows) told(cluster string, t told) {
	r.count(cluster, sink.Ingested, "", 1)
	r.count(cluster, sink.NotAdmission, string(t.because), 1)
}

// event counts an event and adds what it came to. leftOut is why it was not evaluated, where it was not and might have
// been.
func (r *rows) event(cluster string, d *replay.Decoded, leftOut string, of verdicts) {
	r.count(cluster, sink.Ingested, "", 1)
	switch {
	case d.Operation == "" && leftOut != reasonDuplicate:
		r.count(cluster, sink.NotAdmission, string(d.NotAdmission), 1)
	case leftOut != "":
		r.count(cluster, sink.Skipped, leftOut, 1)
	default:
		r.count(cluster, sink.Evaluated, "", 1)
		r.count(cluster, sink.Requests, "", of.requests())
		for item, rec := range of.records {
			r.record(rec, item)
		}
	}
}

// record adds what the policies came to on one admission request; item counts the requests of an event from 0.
func (r *rows) record(rec *sink.Record, item int) {
	place := sink.Place{Cluster: rec.Cluster, AuditID: rec.AuditID, Item: int32(item), StageTimestamp: rec.StageTimestamp}
	for i := range rec.Evaluations {
		e := &rec.Evaluations[i]
		r.rollups[rollup(rec, e)]++
		r.failures = append(r.failures, failureRows(place, rec, e)...)
	}
	for _, key := range slices.Sorted(maps.Keys(rec.Annotations)) {
		r.annotations = append(r.annotations, sink.Annotation{Place: place, Key: key, Value: rec.Annotations[key]})
	}
}

func rollup(rec *sink.Record, e *sink.Evaluation) sink.Rollup {
	because := e.Because
	if e.Result == string(engine.Unknown) {
		for _, v := range e.Verdicts {
			because = cmp.Or(because, v.Because)
		}
	}
	return sink.Rollup{
		Minute: rec.StageTimestamp.UTC().Truncate(time.Minute), Cluster: rec.Cluster,
		Policy: e.Policy, Binding: e.Binding, PolicyHash: e.PolicyHash, BindingHash: e.BindingHash,
		Namespace: rec.Namespace, Group: rec.Resource.Group, Resource: rec.Resource.Resource, SubResource: rec.SubResource,
		Operation: rec.Operation, Result: e.Result, Evidence: e.Evidence, Because: because,
		Effect: e.Effect, BlocksAnyway: e.BlocksAnyway, Team: rec.Team,
	}
}

// failureRows are the rows of an evaluation: one for each validation that did not pass, and one for what concerns the
// evaluation as a whole.
func failureRows(place sink.Place, rec *sink.Record, e *sink.Evaluation) []sink.Failure {
	decided := e.ConfigError == "" && e.AnnotationError == "" && e.Result != string(engine.Unknown)
	if decided && len(e.Verdicts) == 0 {
		return nil
	}
	whole := failureRow(place, rec, e)
	var out []sink.Failure
	switch {
	case e.ConfigError != "" || e.AnnotationError != "":
		f := whole
		f.Result, f.Message = string(engine.Error), cmp.Or(e.ConfigError, e.AnnotationError)
		f.Ignored = e.ConfigError != "" && !e.BlocksAnyway
		out = append(out, f)
	case e.Result == string(engine.Unknown) && len(e.Verdicts) == 0:
		f := whole
		f.Result, f.Unknown, f.Because = string(engine.Unknown), e.Unknown, e.Because
		out = append(out, f)
	}
	for _, v := range e.Verdicts {
		f := whole
		f.ExpressionIndex, f.Result, f.Message, f.Reason = int32(v.ExpressionIndex), v.Result, v.Message, v.Reason
		f.Ignored, f.Unknown, f.Because = v.Ignored, v.Unknown, v.Because
		f.Repeats = v.Repeats
		out = append(out, f)
	}
	return numbered(out)
}

// numbered tells the rows of one evaluation apart that have the same index: errors of several validations have 0.
func numbered(rows []sink.Failure) []sink.Failure {
	next := map[int32]int32{}
	for i := range rows {
		index := rows[i].ExpressionIndex
		rows[i].N = next[index]
		next[index]++
	}
	return rows
}

func failureRow(place sink.Place, rec *sink.Record, e *sink.Evaluation) sink.Failure {
	f := sink.Failure{
		Place: place, Operation: rec.Operation,
		Group: rec.Resource.Group, Version: rec.Resource.Version, Resource: rec.Resource.Resource,
		SubResource: rec.SubResource, Kind: rec.Kind.Kind, Namespace: rec.Namespace, Name: rec.Name,
		Username: rec.User.Username, Groups: rec.User.Groups, UserAgent: rec.UserAgent, DryRun: rec.DryRun, Code: rec.Code,
		Policy: e.Policy, Binding: e.Binding,
		PolicyHash: e.PolicyHash, BindingHash: e.BindingHash, ParamHash: e.ParamsHash,
		ValidationActions: e.ValidationActions, ExpressionIndex: -1,
		Evidence: e.Evidence, Effect: e.Effect, BlocksAnyway: e.BlocksAnyway, Team: rec.Team,
	}
	if rec.Owner != nil {
		f.OwnerKind, f.OwnerName = rec.Owner.Kind, rec.Owner.Name
	}
	if e.Params != nil {
		f.ParamsNamespace, f.ParamsName = e.Params.Namespace, e.Params.Name
	}
	return f
}

// addTo adds the rows to what one transaction writes.
func (r *rows) addTo(b *sink.Batch) {
	b.Failures = append(b.Failures, r.failures...)
	b.Annotations = append(b.Annotations, r.annotations...)
	b.DeadLetters = append(b.DeadLetters, r.deadLetters...)
	for roll, n := range r.rollups {
		roll.Count = n
		b.Rollups = append(b.Rollups, roll)
	}
	for line, n := range r.ledger {
		if line.Count = n; n != 0 {
			b.Ledger = append(b.Ledger, line)
		}
	}
}
