package table

import "github.com/vapshadow/vapshadow/sink"

// Annotations is the table of sink.Annotation.
var Annotations = &Table[sink.Annotation]{
	Name: "annotations", View: "v_annotations", Time: "stage_timestamp",
	Order: []string{"stage_timestamp", "cluster", "audit_id", "item", "annotation_key"},
	Columns: []Column[sink.Annotation]{
		{Name: "stage_timestamp", Key: true, Field: func(r *sink.Annotation) any { return &r.StageTimestamp }},
		{Name: "cluster", Key: true, Indexed: true, Field: func(r *sink.Annotation) any { return &r.Cluster }},
		{Name: "audit_id", Key: true, Indexed: true, Field: func(r *sink.Annotation) any { return &r.AuditID }},
		{Name: "item", Key: true, Field: func(r *sink.Annotation) any { return &r.Item }},
		{Name: "annotation_key", Key: true, Field: func(r *sink.Annotation) any { return &r.Key }},
		{Name: "annotation_value", Field: func(r *sink.Annotation) any { return &r.Value }},
	},
}
