package table

import "github.com/vapshadow/vapshadow/sink"

// Policies is the table of sink.PolicyText.
var Policies = &Table[sink.PolicyText]{
	Name: "policies", View: "v_policies",
	Order: []string{"cluster", "kind", "name", "hash"},
	Columns: []Column[sink.PolicyText]{
		{Name: "cluster", Key: true, Indexed: true, Field: func(r *sink.PolicyText) any { return &r.Cluster }},
		{Name: "kind", Key: true, Field: func(r *sink.PolicyText) any { return &r.Kind }},
		{Name: "name", Key: true, Field: func(r *sink.PolicyText) any { return &r.Name }},
		{Name: "hash", Key: true, Field: func(r *sink.PolicyText) any { return &r.Hash }},
		{Name: "text", Field: func(r *sink.PolicyText) any { return &r.Text }},
	},
}
