package sinktest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
)

// counted counts rows in memory, one after the other. Nothing of it is ever sealed.
type counted struct{ tables Tables }

// Count implements daily.Snapshot.
func (c counted) Count(_ context.Context, kind daily.Kind, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	groups := grouper{grouping: g, requests: map[*sink.Group]map[string]bool{}, workloads: map[*sink.Group]map[string]bool{}}
	if kind == daily.Rollups {
		for _, r := range c.tables.Rollups {
			if within(f, r.Minute, r.Cluster, r.Policy, r.Binding, r.Namespace) && (f.Because == "" || f.Because == r.Because) && (f.Team == "" || f.Team == r.Team) {
				groups.add(valuesOf(g, r), r.Minute, r.Count, "", "", "", false)
			}
		}
	} else {
		for _, row := range c.tables.Failures {
			if within(f, row.StageTimestamp, row.Cluster, row.Policy, row.Binding, row.Namespace) && (f.Because == "" || f.Because == row.Because) && (f.Team == "" || f.Team == row.Team) &&
				(!f.Stopping || stops(row)) && (len(f.Results) == 0 || slices.Contains(f.Results, row.Result)) {
				kind, name := workloadOf(row)
				groups.add(valuesOf(g, row), row.StageTimestamp, 1, placeOf(row), row.AuditID, fmt.Sprintf("%q", []string{row.Cluster, row.Namespace, kind, name}), row.Repeats)
			}
		}
	}
	return func(yield func(sink.Group, error) bool) {
		for _, one := range groups.ordered() {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// Answers implements daily.Snapshot.
func (counted) Answers(context.Context, string, string, string, string) iter.Seq2[daily.Answer, error] {
	return func(func(daily.Answer, error) bool) {}
}

// Policies implements readiness.Snapshot.
func (c counted) Policies(_ context.Context, f sink.Filter) iter.Seq2[sink.PolicyText, error] {
	return func(yield func(sink.PolicyText, error) bool) {
		for _, p := range c.tables.Policies {
			if (f.Cluster == "" || f.Cluster == p.Cluster) && !yield(p, nil) {
				return
			}
		}
	}
}

func within(f sink.Filter, at time.Time, cluster, policy, binding, namespace string) bool {
	for _, c := range [][2]string{{f.Cluster, cluster}, {f.Policy, policy}, {f.Binding, binding}, {f.Namespace, namespace}} {
		if c[0] != "" && c[0] != c[1] {
			return false
		}
	}
	return (f.Since.IsZero() || !at.Before(f.Since)) && (f.Until.IsZero() || at.Before(f.Until))
}

func stops(f sink.Failure) bool { return f.Result == "Fail" || f.Result == "Error" && !f.Ignored }

func workloadOf(f sink.Failure) (kind, name string) {
	if f.OwnerName == "" {
		return f.Kind, f.Name
	}
	return f.OwnerKind, f.OwnerName
}

// placeOf names a request.
func placeOf(f sink.Failure) string {
	return fmt.Sprintf("%q %q %d %v", f.Cluster, f.AuditID, f.Item, f.StageTimestamp)
}

// valuesOf are the values of a row that a grouping asks for.
func valuesOf(g sink.Grouping, row any) (out []string) {
	for _, name := range g.By {
		out = append(out, valueOf(name, row))
	}
	return out
}

func valueOf(name string, row any) string {
	switch r := row.(type) {
	case sink.Failure:
		kind, workload := workloadOf(r)
		return map[string]string{
			"cluster": r.Cluster, "policy": r.Policy, "binding": r.Binding, "namespace": r.Namespace, "username": r.Username, "result": r.Result,
			"message": r.Message, "because": r.Because, "api_group": r.Group, "resource": r.Resource, "sub_resource": r.SubResource,
			"expression_index": fmt.Sprint(r.ExpressionIndex), "blocks_anyway": fmt.Sprint(r.BlocksAnyway),
			"unknown_attributes": strings.Join(r.Unknown, ", "), "workload_kind": kind, "workload_name": workload,
			"team": r.Team, "repeats": fmt.Sprint(r.Repeats),
		}[name]
	case sink.Rollup:
		return map[string]string{
			"cluster": r.Cluster, "policy": r.Policy, "binding": r.Binding, "namespace": r.Namespace, "result": r.Result, "because": r.Because,
			"team": r.Team, "policy_hash": r.PolicyHash, "binding_hash": r.BindingHash, "evidence": r.Evidence, "blocks_anyway": fmt.Sprint(r.BlocksAnyway),
		}[name]
	default:
		panic(fmt.Sprintf("a %T is not counted", row))
	}
}

// grouper does in memory what a store is to do.
type grouper struct {
	grouping            sink.Grouping
	groups              []*sink.Group
	requests, workloads map[*sink.Group]map[string]bool // with what is new among them
}

func (g *grouper) add(values []string, at time.Time, n int64, request, sample, workload string, repeats bool) {
	var span time.Time
	if g.grouping.Every > 0 {
		second, width := at.Unix(), int64(g.grouping.Every/time.Second)
		span = time.Unix(second-((second%width)+width)%width, 0).UTC()
	}
	i := slices.IndexFunc(g.groups, func(o *sink.Group) bool { return slices.Equal(o.Values, values) && o.Span.Equal(span) })
	if i < 0 {
		i = len(g.groups)
		g.groups = append(g.groups, &sink.Group{Values: values, Span: span, First: at, Last: at, Sample: sample})
		g.requests[g.groups[i]], g.workloads[g.groups[i]] = map[string]bool{}, map[string]bool{}
	}
	group := g.groups[i]
	group.Count += n
	group.Sample = min(group.Sample, sample)
	if request != "" {
		g.requests[group][request] = g.requests[group][request] || !repeats
		g.workloads[group][workload] = g.workloads[group][workload] || !repeats
	}
	if at.Before(group.First) {
		group.First = at
	}
	if at.After(group.Last) {
		group.Last = at
	}
}

func (g *grouper) ordered() []sink.Group {
	var out []sink.Group
	for _, group := range g.groups {
		group.Requests = int64(len(g.requests[group]))
		for _, fresh := range g.requests[group] {
			if fresh && g.grouping.New {
				group.New++
			}
		}
		if g.grouping.Workloads {
			group.Requests, group.New, group.Workloads = 0, 0, int64(len(g.workloads[group]))
		}
		out = append(out, *group)
	}
	slices.SortFunc(out, func(a, b sink.Group) int {
		return cmp.Or(a.Span.Compare(b.Span), -cmp.Compare(a.Requests, b.Requests), -cmp.Compare(a.Count, b.Count), slices.Compare(a.Values, b.Values))
	})
	if n := g.grouping.Limit; n > 0 && len(out) > n {
		out = out[:n]
	}
	return out
}
