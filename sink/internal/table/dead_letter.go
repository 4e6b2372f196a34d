package table

import "github.com/vapshadow/vapshadow/sink"

// DeadLetters is the table of sink.DeadLetter. It is not split into days: they are few, and many have no time of their
// own.
var DeadLetters = &Table[sink.DeadLetter]{
	Name: "dead_letters", View: "v_dead_letters",
	Order: []string{"source", "partition", "mark_generation", "mark_offset", "n", "delivery", "cluster"},
	Columns: []Column[sink.DeadLetter]{
		{Name: "at", Field: func(r *sink.DeadLetter) any { return &r.At }},
		{Name: "cluster", Key: true, Indexed: true, Field: func(r *sink.DeadLetter) any { return &r.Cluster }},
		{Name: "source", Key: true, Field: func(r *sink.DeadLetter) any { return &r.Source }},
		{Name: "partition", Key: true, Field: func(r *sink.DeadLetter) any { return &r.Partition }},
		{Name: "mark_generation", Key: true, Field: func(r *sink.DeadLetter) any { return &r.Mark.Generation }},
		{Name: "mark_offset", Key: true, Field: func(r *sink.DeadLetter) any { return &r.Mark.Offset }},
		{Name: "mark_detail", Field: func(r *sink.DeadLetter) any { return &r.Mark.Detail }},
		{Name: "n", Key: true, Field: func(r *sink.DeadLetter) any { return &r.N }},
		{Name: "delivery", Key: true, Field: func(r *sink.DeadLetter) any { return &r.Delivery }},
		{Name: "reason", Field: func(r *sink.DeadLetter) any { return &r.Reason }},
		{Name: "detail", Field: func(r *sink.DeadLetter) any { return &r.Detail }},
	},
}
