package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/vapshadow/vapshadow/dashboards/report"
	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
)

// verify hands the work to internal/pipeline, keeps the first disagreements, and stores what it came to if asked.
func verify(ctx context.Context, o replayOptions, show int, s stdio) (_ *report.Agreement, err error) {
	out := &report.Agreement{KubernetesVersion: fmt.Sprintf("1.%d", o.Minor)}
	var store sink.Store
	if o.Store != "" {
		if store, err = openStore(ctx, o.Store, newLogger(config.Log{Level: "warn"}, s.err)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
	}
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
	if store != nil {
		if err := keep(ctx, store, o.ClusterName, out.KubernetesVersion, result); err != nil {
			return nil, err
		}
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

// keep stores the outcome. A log without events in the period proves nothing, and is not kept.
func keep(ctx context.Context, store sink.Store, cluster, kubernetesVersion string, a *pipeline.Agreement) error {
	if a.First.IsZero() {
		return nil
	}
	v := readVersion()
	run, rows, err := a.Rows(pipeline.Compared{
		Cluster: cluster, KubernetesVersion: kubernetesVersion, VapshadowVersion: v.Version, ApiserverVersion: v.Apiserver, CELVersion: v.CEL,
	})
	if err != nil {
		return err
	}
	return store.SaveAgreement(ctx, run, rows)
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
