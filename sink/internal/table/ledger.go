package table

import "github.com/vapshadow/vapshadow/sink"

// Ledger is the table of sink.LedgerLine.
var Ledger = &Table[sink.LedgerLine]{
	Name: "ledger", View: "v_ledger_lines",
	Order: []string{"source", "partition", "cluster", "outcome", "reason"},
	Columns: []Column[sink.LedgerLine]{
		{Name: "source", Key: true, Field: func(r *sink.LedgerLine) any { return &r.Source }},
		{Name: "partition", Key: true, Field: func(r *sink.LedgerLine) any { return &r.Partition }},
		{Name: "cluster", Key: true, Indexed: true, Field: func(r *sink.LedgerLine) any { return &r.Cluster }},
		{Name: "outcome", Key: true, Field: func(r *sink.LedgerLine) any { return &r.Outcome }},
		{Name: "reason", Key: true, Field: func(r *sink.LedgerLine) any { return &r.Reason }},
		{Name: "count", Field: func(r *sink.LedgerLine) any { return &r.Count }},
	},
}
