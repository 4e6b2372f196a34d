package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// hostileTexts are names and messages of who wants to run something, to pass for another, or to break the layout.
var hostileTexts = []string{
	`<script>document.title='owned'</script>`,
	`"><img src=x onerror="document.title='owned'">`,
	`'"--></style></textarea><svg onload="document.title='owned'">`,
	`javascript:document.title='owned'`,
	`{{.Site.Title}} ${7*7} %3Cscript%3E &lt;b&gt;`,
	"user\u202egnp.exe\u2066 \u200b\u0007\x1b[31mred",
	strings.Repeat("W", 600),
	strings.Repeat("長い名前", 40),
	"../../etc/passwd?x=1&y=2#z",
	"\xff\xfe no UTF-8 \x00",
}

// hostile is a database whose every text is hostile.
func hostile(t testing.TB) sink.Database {
	t.Helper()
	db := empty(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := &sink.Batch{}
	for i, s := range hostileTexts {
		place := sink.Place{Cluster: s, AuditID: s, StageTimestamp: at.Add(time.Duration(i) * time.Hour)}
		list := []string{s, "x", s}
		for n, result := range []string{"Fail", "Error", "Unknown", s} {
			b.Failures = append(b.Failures, sink.Failure{
				Place: place, Operation: s, Group: s, Version: s, Resource: s, SubResource: s, Kind: s, Namespace: s, Name: s,
				OwnerKind: s, OwnerName: s, Username: s, Groups: list, UserAgent: s, Policy: s, Binding: s, ParamsNamespace: s,
				ParamsName: s, PolicyHash: s, BindingHash: s, ParamHash: s, ValidationActions: list, Result: result, Message: s,
				Reason: s, Unknown: list, Because: s, Evidence: s, Effect: s, N: int32(n),
			})
			b.Rollups = append(b.Rollups, sink.Rollup{
				Minute: place.StageTimestamp, Cluster: s, Policy: s, Binding: s, PolicyHash: s, BindingHash: fmt.Sprint(s, n%2), Namespace: s, Group: s,
				Resource: s, SubResource: s, Operation: s, Result: result, Evidence: s, Because: s, Effect: s, Count: 1_000_000_000_000,
			})
		}
		b.Annotations = append(b.Annotations, sink.Annotation{Place: place, Key: s, Value: s})
		b.Ledger = append(b.Ledger,
			sink.LedgerLine{Source: s, Partition: s, Cluster: s, Outcome: sink.Ingested, Count: 123_456_789_012},
			sink.LedgerLine{Source: s, Partition: s, Cluster: s, Outcome: sink.Skipped, Reason: s, Count: 1})
		b.DeadLetters = append(b.DeadLetters, sink.DeadLetter{
			Source: s, Partition: s, Cluster: s, Mark: sink.Mark{Offset: 1 << 60, Detail: s}, Delivery: s, Reason: s, Detail: s, At: at,
		})
		b.Policies = append(b.Policies,
			sink.PolicyText{Cluster: s, Kind: "ValidatingAdmissionPolicy", Name: s, Hash: s, Text: fmt.Sprintf(`{"spec":{"validations":[{"expression":%q,"message":%q}]}}`, s, s)},
			sink.PolicyText{Cluster: s, Kind: "ValidatingAdmissionPolicyBinding", Name: s, Hash: s, Text: s})
	}
	commit(t, db, b)
	for i, s := range hostileTexts {
		end := at.Add(time.Duration(i) * time.Hour)
		run := sink.AgreementRun{
			Run: fmt.Sprint(i), Cluster: s, Log: s, FirstEvent: at, LastEvent: end, KubernetesVersion: s, VapshadowVersion: s,
			ApiserverVersion: s, CELVersion: s, Ingested: 123_456_789_012, Recorded: 1,
		}
		row := sink.Agreement{Policy: s, Binding: s, Reason: s, Count: 1_000_000_000_000, AuditIDs: []string{s, "x", s}}
		var rows []sink.Agreement
		for _, row.Outcome = range []string{sink.Agreed, sink.Disagreed, sink.Undecided, sink.NotRecorded, sink.NotGiven, s} {
			rows = append(rows, row)
		}
		row.Annotation, row.Outcome = s, sink.Disagreed
		fatal(t, db.SaveAgreement(t.Context(), run, append(rows, row)))
	}
	return db
}
