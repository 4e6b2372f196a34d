package table

import "github.com/vapshadow/vapshadow/sink"

// Rollups is the table of sink.Rollup.
var Rollups = &Table[sink.Rollup]{
	Name: "rollups", View: "v_rollups", Time: "minute",
	Order: []string{"minute", "cluster", "policy", "binding", "policy_hash", "binding_hash", "namespace", "api_group", "resource",
		"sub_resource", "operation", "result", "evidence", "because", "effect", "blocks_anyway", "team"},
	Columns: []Column[sink.Rollup]{
		{Name: "minute", Key: true, Field: func(r *sink.Rollup) any { return &r.Minute }},
		{Name: "cluster", Key: true, Indexed: true, Field: func(r *sink.Rollup) any { return &r.Cluster }},
		{Name: "policy", Key: true, Indexed: true, Field: func(r *sink.Rollup) any { return &r.Policy }},
		{Name: "binding", Key: true, Indexed: true, Field: func(r *sink.Rollup) any { return &r.Binding }},
		{Name: "policy_hash", Key: true, Field: func(r *sink.Rollup) any { return &r.PolicyHash }},
		{Name: "binding_hash", Key: true, Field: func(r *sink.Rollup) any { return &r.BindingHash }},
		{Name: "namespace", Key: true, Indexed: true, Field: func(r *sink.Rollup) any { return &r.Namespace }},
		{Name: "api_group", Key: true, Field: func(r *sink.Rollup) any { return &r.Group }},
		{Name: "resource", Key: true, Field: func(r *sink.Rollup) any { return &r.Resource }},
		{Name: "sub_resource", Key: true, Field: func(r *sink.Rollup) any { return &r.SubResource }},
		{Name: "operation", Key: true, Field: func(r *sink.Rollup) any { return &r.Operation }},
		{Name: "result", Key: true, Field: func(r *sink.Rollup) any { return &r.Result }},
		{Name: "evidence", Key: true, Field: func(r *sink.Rollup) any { return &r.Evidence }},
		{Name: "because", Key: true, Field: func(r *sink.Rollup) any { return &r.Because }},
		{Name: "effect", Key: true, Field: func(r *sink.Rollup) any { return &r.Effect }},
		{Name: "blocks_anyway", Key: true, Field: func(r *sink.Rollup) any { return &r.BlocksAnyway }},
		{Name: "team", Key: true, Field: func(r *sink.Rollup) any { return &r.Team }},
		{Name: "count", Field: func(r *sink.Rollup) any { return &r.Count }},
	},
}
