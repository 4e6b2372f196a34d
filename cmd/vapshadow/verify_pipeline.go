package main

import (
	"context"
	"fmt"

	"github.com/vapshadow/vapshadow/dashboards/report"
	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// verify hands the work to internal/pipeline and keeps the first disagreements.
func verify(ctx context.Context, o replayOptions, show int, s stdio) (*report.Agreement, error) {
	out := &report.Agreement{KubernetesVersion: fmt.Sprintf("1.%d", o.Minor)}
	cfg := pipeline.ReplayConfig{
		Policies: o.Policies, Cluster: o.Cluster, AuditLog: o.AuditLog, Stdin: s.in,
		Since: o.Since, Until: o.Until, Minor: o.Minor, Workers: o.Workers, History: o.History,
		Skips: newSkipLog(s.err).add,
	}
	if o.Progress != nil {
		cfg.Progress = func(p pipeline.Progress) { o.Progress(p.BytesRead, p.BytesTotal, p.Events) }
	}
	result, err := pipeline.Verify(ctx, cfg, func(d pipeline.Disagreement) {
		if len(out.Disagreements) == show {
			out.OtherDisagreements++
			return
		}
		out.Disagreements = append(out.Disagreements, disagreement(d))
	})
	if err != nil {
		return nil, err
	}
	out.Events, out.Recorded, out.Unfinished = result.Events, result.Recorded, result.Unfinished
	out.OneFailure = result.OneFailure
	if !result.Last.IsZero() {
		out.Period = &report.Period{First: result.First.UTC(), Last: result.Last.UTC()}
	}
	out.UndecidedBecause, out.Skipped = result.UndecidedBecause, result.Skipped
	out.Notes, out.Refused, out.Warnings = result.Notes, result.Refusals, result.Warnings
	for _, p := range result.Compared {
		out.Add(report.ComparedPolicy{Policy: p.Policy, Binding: p.Binding, BothFail: p.Failed, Compared: report.Compared{
			Agreed: p.Failed + p.Passed, Disagreed: p.Disagreed, Undecided: p.Undecided, NotRecorded: p.NotRecorded, Reordered: p.Reordered,
		}})
	}
	for _, c := range result.Annotations {
		out.AddAnnotation(report.ComparedAnnotation{Policy: c.Policy, Key: c.Key, Compared: report.Compared{
			Agreed: c.Agreed, Disagreed: c.Disagreed, Undecided: c.Undecided, NotRecorded: c.NotRecorded, Reordered: c.Reordered,
		}})
	}
	for _, n := range result.NotGiven {
		out.NotGiven = append(out.NotGiven, report.NotGiven(n))
	}
	return out, nil
}

func disagreement(d pipeline.Disagreement) report.Disagreement {
	return report.Disagreement{
		AuditID: d.AuditID, StageTimestamp: d.StageTimestamp, Operation: d.Operation,
		Group: d.Group, Resource: d.Resource, SubResource: d.SubResource, Namespace: d.Namespace, Name: d.Name,
		Policy: d.Policy, Binding: d.Binding, ExpressionIndex: d.ExpressionIndex, Annotation: d.Annotation,
		Apiserver: report.Side{Said: string(d.Apiserver), Message: d.ApiserverMessage, ValidationActions: d.ApiserverActions},
		Vapshadow: report.Side{Said: string(d.Vapshadow), Message: d.VapshadowMessage, ValidationActions: d.VapshadowActions},
	}
}
