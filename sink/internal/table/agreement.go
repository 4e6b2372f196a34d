package table

import (
	"slices"

	"github.com/vapshadow/vapshadow/sink"
)

// AgreementRuns is the table of sink.AgreementRun. It is not split into days: there are few.
var AgreementRuns = &Table[sink.AgreementRun]{
	Name: "agreement_runs", View: "v_agreement_runs", Time: "last_event",
	Order: []string{"last_event", "verified_at", "run"},
	Columns: []Column[sink.AgreementRun]{
		{Name: "run", Key: true, Indexed: true, Field: func(r *sink.AgreementRun) any { return &r.Run }},
		{Name: "cluster", Indexed: true, Field: func(r *sink.AgreementRun) any { return &r.Cluster }},
		{Name: "log", Indexed: true, Field: func(r *sink.AgreementRun) any { return &r.Log }},
		{Name: "first_event", Field: func(r *sink.AgreementRun) any { return &r.FirstEvent }},
		{Name: "last_event", Field: func(r *sink.AgreementRun) any { return &r.LastEvent }},
		{Name: "verified_at", Field: func(r *sink.AgreementRun) any { return &r.VerifiedAt }},
		{Name: "kubernetes_version", Field: func(r *sink.AgreementRun) any { return &r.KubernetesVersion }},
		{Name: "vapshadow_version", Field: func(r *sink.AgreementRun) any { return &r.VapshadowVersion }},
		{Name: "apiserver_version", Field: func(r *sink.AgreementRun) any { return &r.ApiserverVersion }},
		{Name: "cel_version", Field: func(r *sink.AgreementRun) any { return &r.CELVersion }},
		{Name: "ingested", Field: func(r *sink.AgreementRun) any { return &r.Ingested }},
		{Name: "evaluated", Field: func(r *sink.AgreementRun) any { return &r.Evaluated }},
		{Name: "not_admission", Field: func(r *sink.AgreementRun) any { return &r.NotAdmission }},
		{Name: "skipped", Field: func(r *sink.AgreementRun) any { return &r.Skipped }},
		{Name: "dead_lettered", Field: func(r *sink.AgreementRun) any { return &r.DeadLettered }},
		{Name: "recorded", Field: func(r *sink.AgreementRun) any { return &r.Recorded }},
		{Name: "unfinished", Field: func(r *sink.AgreementRun) any { return &r.Unfinished }},
	},
}

// Agreements is the table of sink.Agreement, as it is written.
var Agreements = &Table[sink.Agreement]{
	Name: "agreement", View: "v_agreement", Time: "last_event",
	Order: []string{"last_event", "cluster", "run", "policy", "binding", "annotation", "outcome", "reason"},
	Columns: []Column[sink.Agreement]{
		{Name: "run", Key: true, Indexed: true, Field: func(r *sink.Agreement) any { return &r.Run }},
		{Name: "cluster", Indexed: true, Field: func(r *sink.Agreement) any { return &r.Cluster }},
		{Name: "last_event", Field: func(r *sink.Agreement) any { return &r.LastEvent }},
		{Name: "policy", Key: true, Indexed: true, Field: func(r *sink.Agreement) any { return &r.Policy }},
		{Name: "binding", Key: true, Indexed: true, Field: func(r *sink.Agreement) any { return &r.Binding }},
		{Name: "annotation", Key: true, Field: func(r *sink.Agreement) any { return &r.Annotation }},
		{Name: "outcome", Key: true, Field: func(r *sink.Agreement) any { return &r.Outcome }},
		{Name: "reason", Key: true, Field: func(r *sink.Agreement) any { return &r.Reason }},
		{Name: "count", Field: func(r *sink.Agreement) any { return &r.Count }},
		{Name: "audit_ids", Field: func(r *sink.Agreement) any { return &r.AuditIDs }},
	},
}

// AgreementsRead is Agreements as it is read: with what the view takes from the runs.
var AgreementsRead = &Table[sink.Agreement]{
	Name: Agreements.Name, View: Agreements.View, Time: Agreements.Time, Order: Agreements.Order,
	Columns: append(slices.Clone(Agreements.Columns),
		Column[sink.Agreement]{Name: "log", Field: func(r *sink.Agreement) any { return &r.Log }},
		Column[sink.Agreement]{Name: "first_event", Field: func(r *sink.Agreement) any { return &r.FirstEvent }},
		Column[sink.Agreement]{Name: "latest", Field: func(r *sink.Agreement) any { return &r.Latest }}),
}

// CleanAgreement returns a run and its rows as stores hold them; see Clean. The rows get what they have of the run.
func CleanAgreement(run sink.AgreementRun, rows []sink.Agreement) ([]sink.AgreementRun, []sink.Agreement) {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Run, rows[i].Cluster, rows[i].LastEvent = run.Run, run.Cluster, run.LastEvent
	}
	return AgreementRuns.clean([]sink.AgreementRun{run}), Agreements.clean(rows)
}
