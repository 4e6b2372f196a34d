package document

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"
)

// columns of the CSV. A row of record "report" is about the document, "binding" about a binding, "workload" about one of
// the workloads that it would break, "exception" about an exception, "left_out" about what a policy or its binding leaves
// out. Columns are only added, at the end.
var columns = []string{
	"record", "cluster", "policy", "binding", "verdict", "sentence", "first", "last", "days", "silent_days", "matched", "decided_exact",
	"decided_presumed", "decided_otherwise", "unknown", "coverage", "would_fail", "workloads", "namespaces", "users", "failing_now",
	"healed", "blocks_anyway", "config_errors", "system_actors", "policy_hash", "binding_hash", "namespace", "kind", "name",
	"requests", "message", "audit_ids", "note", "exception", "until", "approved_by", "reason",
	"repeats", "new_workloads", "team",
}

func writeCSV(w io.Writer, d *Document) error {
	out := csv.NewWriter(w)
	_ = out.Write(columns) // errors are kept until Flush
	for _, note := range append([]string{d.versions(), d.Digest, d.period(), d.population(), d.criteria()}, append(d.gaps(), d.Agreement.lines()...)...) {
		_ = out.Write(row(map[string]any{"record": "report", "first": d.First, "last": d.Last, "note": note}))
	}
	for i := range d.Bindings {
		b := &d.Bindings[i]
		_ = out.Write(row(map[string]any{
			"record": "binding", "cluster": b.Cluster, "policy": b.Policy, "binding": b.Binding, "verdict": b.Verdict, "sentence": b.Sentence,
			"first": b.First, "last": b.Last, "days": fmt.Sprintf("%.1f", b.Days),
			"silent_days": b.SilentDays, "matched": b.Matched, "decided_exact": b.DecidedExact,
			"decided_presumed": b.DecidedPresumed, "decided_otherwise": b.DecidedOtherwise, "unknown": b.Unknown, "coverage": b.Coverage,
			"would_fail": b.WouldFail, "workloads": b.Workloads, "namespaces": b.Namespaces, "users": b.Users, "failing_now": b.FailingNow,
			"healed": b.Healed, "blocks_anyway": b.BlocksAnyway, "config_errors": b.ConfigErrors, "system_actors": b.SystemActors,
			"policy_hash": b.PolicyHash, "binding_hash": b.BindingHash, "note": strings.Join(b.unknown(), "; "),
			"repeats": b.Repeats, "new_workloads": b.NewWorkloads,
		}))
		for _, l := range b.Failing {
			e := exceptionCells(l.Exception)
			_ = out.Write(row(map[string]any{
				"exception": e[0], "until": e[1], "approved_by": e[2], "reason": e[3], "record": "workload", "cluster": b.Cluster, "policy": b.Policy, "binding": b.Binding, "verdict": l.Result, "last": l.Last,
				"namespace": l.Namespace, "kind": l.Kind, "name": l.Name, "requests": l.Requests, "message": l.Message,
				"audit_ids": strings.Join(l.AuditIDs, " "), "repeats": l.Repeats, "team": l.Team,
			}))
		}
	}
	d.writeCSVExceptions(out)
	out.Flush()
	return out.Error()
}

func (d *Document) writeCSVExceptions(out *csv.Writer) {
	for i := range d.Bindings {
		b := &d.Bindings[i]
		for j := range b.LeavesOut {
			_ = out.Write(row(map[string]any{
				"record": "left_out", "cluster": b.Cluster, "policy": b.Policy, "binding": b.Binding, "note": b.LeavesOut[j].line(),
			}))
		}
	}
	if d.Exceptions == nil {
		return
	}
	_ = out.Write(row(map[string]any{"record": "report", "note": d.Exceptions.sentence()}))
	for i := range d.Exceptions.List {
		g := &d.Exceptions.List[i]
		e := exceptionCells(&g.Accepted)
		_ = out.Write(row(map[string]any{
			"record": "exception", "cluster": g.Cluster, "policy": g.Policy, "binding": g.Binding, "namespace": g.Namespace, "kind": g.Kind,
			"name": g.Name, "workloads": g.Workloads, "exception": e[0], "until": e[1], "approved_by": e[2], "reason": e[3], "note": g.state(),
		}))
	}
}

// exceptionCells are the last columns, empty for no exception.
func exceptionCells(a *Accepted) (cells [4]string) {
	if a == nil {
		return cells
	}
	cells = [4]string{"in force", a.Until, a.ApprovedBy, a.Reason}
	if a.Expired {
		cells[0] = "expired"
	}
	return cells
}

func row(values map[string]any) []string {
	out := make([]string, len(columns))
	for i, name := range columns {
		switch v := values[name].(type) {
		case nil:
		case time.Time:
			if !v.IsZero() {
				out[i] = v.UTC().Format(time.RFC3339)
			}
		default:
			out[i] = cell(fmt.Sprint(v))
		}
	}
	return out
}

// cell keeps a spreadsheet from taking a text for a formula.
func cell(s string) string {
	s = plain(s)
	if s != "" && s != "-" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
